package host

import (
	"sync"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// broadcast tells those who wait in this process that a run has ended. It is a hint: who waits also
// looks at the store from time to time, because a run may end on another node.
type broadcast struct {
	mu      sync.Mutex
	waiters map[journal.RunID]map[chan journal.Run]tenant.ID
	// begun are the runs that were started here last and are not known to have ended, so that who waits for one from its
	// start on need not look first.
	begun map[journal.RunID]begun
	order []journal.RunID // of begun, a ring; the oldest is at next
	next  int
}

type begun struct {
	owner tenant.ID
	at    time.Time
}

// maxBegun bounds begun: several times the runs that a node owns at once.
const maxBegun = 4096

func newBroadcast() *broadcast {
	return &broadcast{waiters: map[journal.RunID]map[chan journal.Run]tenant.ID{}, begun: map[journal.RunID]begun{}}
}

// begin says that a run was made here.
func (b *broadcast) begin(t tenant.ID, id journal.RunID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun[id] = begun{t, time.Now()}
	if len(b.order) < maxBegun {
		b.order = append(b.order, id)
		return
	}
	delete(b.begun, b.order[b.next])
	b.order[b.next] = id
	b.next = (b.next + 1) % maxBegun
}

// listen returns a channel that gets the run when it ends here, or is closed when how it ended is for the store to say, and a
// function that forgets it. open is true
// for a run of the tenant that began here less than recent ago and has not ended here; an older one may long
// have ended on another node.
func (b *broadcast) listen(t tenant.ID, id journal.RunID, recent time.Duration) (ended <-chan journal.Run, forget func(), open bool) {
	ch := make(chan journal.Run, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters[id] == nil {
		b.waiters[id] = map[chan journal.Run]tenant.ID{}
	}
	b.waiters[id][ch] = t
	run, open := b.begun[id]
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiters[id], ch)
		if len(b.waiters[id]) == 0 {
			delete(b.waiters, id)
		}
	}, open && run.owner == t && time.Since(run.at) < recent
}

// tell says that a run has ended, or will not end here. Only its own tenant learns how.
func (b *broadcast) tell(id journal.RunID, end *journal.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch, t := range b.waiters[id] {
		if end != nil && end.Tenant == t {
			ch <- *end // nobody else sends, and it has room
		}
		close(ch)
	}
	delete(b.waiters, id)
	delete(b.begun, id)
}
