package exec

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"reprise/abi"
	"reprise/internal/failpoint"
	"reprise/journal"
)

var (
	fpRecorded  = failpoint.New("exec.recorded")  // an entry is visible, not durable
	fpFlushed   = failpoint.New("exec.flushed")   // entries are durable, the effects after them have not left
	fpSuspended = failpoint.New("exec.suspended") // the suspension is durable, the instance still exists
	fpEnded     = failpoint.New("exec.ended")     // the terminal entry is durable, nobody has been told
)

// arrived is something that a wait may make visible.
type arrived struct {
	journal.Arrival
	kept bool // the inbox has it as it is
}

// unkept says that it is an outcome which the inbox does not have.
func (a arrived) unkept() bool { return a.Kind == journal.ArrivalDone && !a.kept }

// flight is an attempt that has left.
type flight struct{ cancel context.CancelFunc }

// recorder is the live source: it collects what arrives, makes it visible one at a time as entries, and
// writes them: before an effect leaves, before it blocks, and at the end of the turn. Without a lease (an activity) it
// writes nothing and never suspends.
type recorder struct {
	t     *Turner
	x     *execution
	lease *journal.Lease
	ctx   context.Context // done when the node may not go on
	drain <-chan struct{} // closed when the node wants its runs back

	// Used by the guest's goroutine only.
	seq       int64 // of the next entry
	written   int64 // bytes of all entries so far
	buffer    []journal.Entry
	size      int // bytes of the buffer
	observed  []string
	stash     []journal.Arrival
	published map[string][]byte
	children  []journal.Run   // that the next commit makes
	cancels   []journal.RunID // that the next commit asks to end
	started   map[int32]bool  // children that an earlier turn started, by handle
	arrivals  []arrived
	known     int64                     // bytes of the outcomes among arrivals
	retries   map[int32]journal.Arrival // progress that an earlier turn left, by handle
	seen      int64                     // newest inbox position that was read
	unsure    *journal.Batch            // a commit whose answer is not known; nothing is added to it
	durable   int64                     // entries that the store is known to have

	freezable  bool                // the run's instance can be frozen
	last       int64               // seq of the newest checkpoint
	leaving    *journal.Transition // how the turn ends when the instance is frozen
	resting    waitSet             // what the guest was evicted in
	evict      atomic.Bool         // it is to be evicted
	checkpoint *journal.Checkpoint // that the turn ends with

	mu      sync.Mutex // guards what attempts and the scheduler touch
	posted  []journal.Arrival
	waiting int64 // bytes of posted
	flights map[int32]flight
	mail    int64 // newest inbox position known to exist
	wake    chan struct{}
}

func newRecorder(ctx context.Context, t *Turner, lease *journal.Lease, drain <-chan struct{}) *recorder {
	return &recorder{t: t, ctx: ctx, lease: lease, drain: drain, published: map[string][]byte{},
		retries: map[int32]journal.Arrival{}, flights: map[int32]flight{}, wake: make(chan struct{}, 1)}
}

// record makes an entry of what the guest sees next. The guest's time becomes the clock's, or notBefore
// when the clock lags behind a due time.
func (r *recorder) record(e journal.Entry, notBefore time.Time) journal.Entry {
	at := r.t.cfg.Clock.Now().UTC().Truncate(time.Microsecond)
	if at.Before(notBefore) {
		at = notBefore
	}
	if at.Before(r.x.m.now) {
		at = r.x.m.now
	}
	e.Seq, e.Issued, e.Trail, e.At = r.seq, r.x.m.issued, r.x.m.trail, at
	r.seq++
	r.written += entrySize(e)
	if r.lease != nil {
		r.buffer = append(r.buffer, e)
		r.size += len(e.Request) + len(e.Options) + len(e.Payload)
	}
	fpRecorded.Hit()
	return e
}

// entrySize is what counts of an entry against the limit of its journal, in bytes.
func entrySize(e journal.Entry) int64 {
	return int64(len(e.Name)) + int64(len(e.Request)) + int64(len(e.Options)) + int64(len(e.Payload))
}

// room returns a *fullError when the journal has no room for an entry that is not its last. The last one
// always has: a run that can end is not kept from it.
func (r *recorder) room(e journal.Entry) error {
	l := r.x.m.limits
	switch {
	case r.lease == nil:
	case r.seq >= l.Entries:
		return &fullError{fmt.Sprintf("the journal has %d entries, the limit", r.seq)}
	case r.written+entrySize(e) > l.JournalBytes:
		return &fullError{fmt.Sprintf("an entry of %d bytes is next, and the journal has %d bytes of at most %d", entrySize(e), r.written, l.JournalBytes)}
	}
	return nil
}

// next waits for what the set may see next and records it.
func (r *recorder) next(w waitSet) (journal.Entry, error) {
	for {
		if err := r.room(journal.Entry{}); err != nil {
			return journal.Entry{}, err // before anything leaves whose outcome could not be recorded
		}
		if err := r.keepSmall(); err != nil {
			return journal.Entry{}, err
		}
		if err := r.collect(); err != nil {
			return journal.Entry{}, err
		}
		if e, ok, err := r.take(w); err != nil || ok {
			r.evict.Store(false)
			return e, err
		}
		launched, err := r.launch()
		if err != nil {
			return journal.Entry{}, err
		}
		if launched {
			continue
		}
		if w.look {
			return r.record(journal.Entry{Kind: journal.KindLook, Op: journal.NoOp, Status: abi.OK}, time.Time{}), nil
		}
		if err := r.block(w); err != nil {
			return journal.Entry{}, err
		}
	}
}

// Bounds of what is not durable. A guest that looks again and again never blocks, and must not fill memory.
const (
	maxBuffered = 1000
	maxSize     = 4 << 20
)

// keepSmall stops a guest whose node may not go on, and writes a buffer that has grown large.
func (r *recorder) keepSmall() error {
	if r.ctx.Err() != nil {
		return errAborted
	}
	if len(r.buffer) < maxBuffered && r.size < maxSize {
		return nil
	}
	return r.flush(nil)
}

// take finds what came first among arrivals and timers that the set may see.
func (r *recorder) take(w waitSet) (e journal.Entry, ok bool, err error) {
	i, o, err := r.firstArrival(w)
	if err != nil {
		return e, false, err
	}
	timer, at, timed := w.nextTimer(r.x.m)
	if timed && !at.After(r.t.cfg.Clock.Now()) && (i < 0 || at.Before(r.arrivals[i].At)) {
		e = journal.Entry{Kind: journal.KindSleep, Op: journal.NoOp, Request: dueText(at), Status: abi.OK}
		if timer != nil {
			e = journal.Entry{Kind: timer.kind, Op: timer.handle, Request: timer.request, Status: abi.OK}
		}
		if err := r.room(e); err != nil {
			return e, false, err
		}
		return r.record(e, at), true, nil
	}
	if i < 0 {
		return e, false, nil
	}
	e, stays := r.entryOf(r.arrivals[i], o)
	if err := r.room(e); err != nil {
		return e, false, err
	}
	if !stays {
		a := r.remove(i)
		if a.kept || o != nil && o.stashed {
			r.observed = append(r.observed, a.ID)
		}
	}
	return r.record(e, time.Time{}), true, nil
}

// entryOf is the entry that makes an arrival visible. A signal that the handles have no room for stays in the
// inbox, for a later request: its handle fails.
func (r *recorder) entryOf(a arrived, o *op) (e journal.Entry, stays bool) {
	if a.Kind == journal.ArrivalCancel {
		return journal.Entry{Kind: journal.KindCancel, Op: abi.CancelHandle, Status: abi.OK, Payload: a.Payload}, false
	}
	e = journal.Entry{Kind: o.kind, Op: o.handle, Name: o.name, Request: o.request, Options: o.options, Status: a.Status, Payload: a.Payload}
	if a.Kind != journal.ArrivalSignal {
		return e, false
	}
	e.Status = abi.OK
	if stays = !r.x.m.fits(o, a.Payload, 0); stays {
		e.Status, e.Payload = abi.Failed, noRoom(r.x.m).Encode()
	}
	return e, stays
}

// add takes in an arrival, remove takes one out; both count the outcomes' bytes.
func (r *recorder) add(a arrived) {
	if a.Kind == journal.ArrivalDone {
		r.known += int64(len(a.Payload))
	}
	r.arrivals = append(r.arrivals, a)
}

func (r *recorder) remove(i int) arrived {
	a := r.arrivals[i]
	if a.Kind == journal.ArrivalDone {
		r.known -= int64(len(a.Payload))
	}
	r.arrivals = append(r.arrivals[:i], r.arrivals[i+1:]...)
	return a
}

// firstArrival returns the index of the first arrival that the set may see, -1 for none, and its op.
// A guest that does not know of cancellation is ended by it here.
func (r *recorder) firstArrival(w waitSet) (int, *op, error) {
	for _, a := range r.arrivals {
		if a.Kind == journal.ArrivalCancel && !r.x.m.cancelAware {
			f := abi.NewFailure(abi.CodeCancelled, "the run was cancelled: %s", a.Payload)
			if len(a.Payload) == 0 {
				f.Message = "the run was cancelled"
			}
			return -1, nil, &endError{kind: journal.KindCancelled, payload: f.Encode()}
		}
	}
	for i, a := range r.arrivals {
		switch a.Kind {
		case journal.ArrivalDone:
			if o := r.x.m.get(a.Op); w.has(o) {
				return i, o, nil
			}
		case journal.ArrivalSignal:
			var found *op
			w.pending(r.x.m, func(o *op) bool {
				if o.kind == journal.KindSignal && o.name == a.Name {
					found = o
				}
				return found == nil
			})
			if found != nil {
				return i, found, nil
			}
		case journal.ArrivalCancel:
			if w.cancel && !r.x.m.cancelled {
				return i, nil, nil
			}
		}
	}
	return -1, nil, nil
}

// live says that the guest has got to the journal's end, so that what it asks is new.
func (r *recorder) live() bool { return r.x != nil && !r.x.cur.more() }

// receive takes in what attempts have posted, and gives the newest inbox position known to exist.
func (r *recorder) receive() (mail int64) {
	r.mu.Lock()
	posted, mail := r.posted, r.mail
	r.posted, r.waiting = nil, 0
	r.mu.Unlock()
	for _, a := range posted {
		r.arrive(a, false)
	}
	return mail
}

// collect takes in what attempts have posted and what the inbox has that was not read.
func (r *recorder) collect() error {
	mail := r.receive()
	if mail <= r.seen || r.lease == nil {
		return nil
	}
	var inbox []journal.Arrival
	err := r.persist(func(ctx context.Context) (err error) {
		inbox, err = r.t.cfg.Store.Arrivals(ctx, r.lease.Tenant, r.lease.Run, r.seen)
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range inbox {
		r.arrive(a, true)
	}
	r.seen = max(r.seen, mail)
	return nil
}

// arrive sorts one arrival in.
func (r *recorder) arrive(a journal.Arrival, kept bool) {
	r.seen = max(r.seen, a.Pos)
	o := r.x.m.get(a.Op)
	switch {
	case a.Kind == journal.ArrivalChild:
		r.arriveChild(a, o)
	case a.Kind == journal.ArrivalRetry && kept:
		if o == nil || !o.stashed { // what this turn has stashed itself is older than what the op knows
			r.retries[a.Op] = a
		}
	case a.Kind == journal.ArrivalRetry:
		if o != nil && o.pending() {
			o.launched, o.attempts, o.retryAt, o.stashed = false, a.Attempt, a.RetryAt, true
			r.stash = append(r.stash, a)
		}
	case a.Kind == journal.ArrivalDone && kept && o != nil && (o.done || !o.pending()):
		// what this turn has stashed itself
	case a.Kind == journal.ArrivalDone && !kept:
		if o == nil || !o.pending() { // given up meanwhile
			return
		}
		o.done = true
		if !r.x.m.fits(o, a.Payload, r.known) {
			a = crowded(a, r.x.m)
		}
		r.add(arrived{Arrival: a})
	default:
		if o != nil && o.kind == journal.KindChild && !r.x.m.fits(o, a.Payload, r.known) {
			a = crowded(a, r.x.m)
		}
		r.add(arrived{Arrival: a, kept: kept})
	}
}

// crowded is what becomes of an outcome that there is no room for.
func crowded(a journal.Arrival, m *machine) journal.Arrival {
	if f := noRoom(m).Encode(); a.Kind == journal.ArrivalDone && len(a.Payload) > len(f) {
		a.Status, a.Payload = abi.Failed, f
	}
	return a
}

// giveUp forgets an op that the guest cancelled. live says that the journal has nothing behind this: what has was written with
// what became of the op.
func (r *recorder) giveUp(o *op, live bool) {
	if o.kind == journal.KindChild && live {
		r.endChild(o)
	}
	r.mu.Lock()
	f, ok := r.flights[o.handle]
	delete(r.flights, o.handle)
	r.mu.Unlock()
	if ok {
		f.cancel()
	}
	for i, a := range r.arrivals {
		if a.Kind == journal.ArrivalDone && a.Op == o.handle {
			r.remove(i)
			o.stashed = o.stashed || a.kept
			break
		}
	}
	if _, ok := r.retries[o.handle]; ok || o.stashed || r.started[o.handle] {
		r.observed = append(r.observed, opID(o.handle))
	}
}

func (r *recorder) publish(key string, value []byte) { r.published[key] = value }

// post hands over what an attempt brought, from any goroutine.
func (r *recorder) post(a journal.Arrival) {
	r.mu.Lock()
	if _, ok := r.flights[a.Op]; ok {
		delete(r.flights, a.Op)
		if m := r.x.m; r.waiting+int64(len(a.Payload)) > m.limits.PendingBytes {
			a = crowded(a, m)
		}
		r.waiting += int64(len(a.Payload))
		r.posted = append(r.posted, a)
	}
	r.mu.Unlock()
	r.nudge()
}

// Mail tells the recorder that the run's inbox has something up to a position.
func (r *recorder) Mail(pos int64) {
	r.mu.Lock()
	r.mail = max(r.mail, pos)
	r.mu.Unlock()
	r.nudge()
}

func (r *recorder) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// pendingWork is how many attempts are in flight, and whether something has come that was not collected.
func (r *recorder) pendingWork() (inFlight int, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.flights), len(r.posted) > 0 || r.lease != nil && r.mail > r.seen
}
