package host

import (
	"sync"

	"reprise/journal"
)

// broadcast tells those who wait in this process that a run has ended. It is a hint: who waits also
// looks at the store from time to time, because a run may end on another node.
type broadcast struct {
	mu      sync.Mutex
	waiters map[journal.RunID]map[chan struct{}]bool
}

func newBroadcast() *broadcast {
	return &broadcast{waiters: map[journal.RunID]map[chan struct{}]bool{}}
}

// listen returns a channel that is closed when the run ends here, and a function that forgets it.
func (b *broadcast) listen(id journal.RunID) (<-chan struct{}, func()) {
	ch := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiters[id] == nil {
		b.waiters[id] = map[chan struct{}]bool{}
	}
	b.waiters[id][ch] = true
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiters[id], ch)
		if len(b.waiters[id]) == 0 {
			delete(b.waiters, id)
		}
	}
}

func (b *broadcast) tell(id journal.RunID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.waiters[id] {
		close(ch)
	}
	delete(b.waiters, id)
}
