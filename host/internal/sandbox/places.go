package sandbox

import (
	"container/list"
	"context"
	"runtime"
	"sync"
)

// places are where guests compute, one a processor: compiled code holds the processor that it runs on. When more
// guests want to compute than there are places, tenants take turns, however many guests each has, so that a guest
// waits for at most one slice for each place and each other tenant that waits, and for those of its own tenant.
//
// Within a tenant there are two queues, first come first served. A guest that arrives has just seen something and
// often computes for a moment only until it waits again; it goes before one that used up a slice and wants the
// next. After maxAhead of them one of the others has its turn all the same.
type places struct {
	mu    sync.Mutex
	size  int
	free  int              // more than 0 only while nobody waits: a place that is left goes to who is next, not to who is quick
	lines map[string]*line // by tenant, while somebody of it waits
	turns list.List        // of *line; the front is next
}

// maxAhead bounds how often in a row arriving guests of a tenant go before its others. A turn of a run takes a tenth
// of a slice or less, so that the others keep half of the tenant's processor time.
const maxAhead = 8

// The queues of a line.
const (
	arrived   = iota // has something new to look at
	preempted        // used up its slice
)

// line is who waits of one tenant.
type line struct {
	tenant string
	at     *list.Element // in places.turns
	queues [2]list.List  // of *waiter
	ahead  int           // arrived ones that went before a preempted one, in a row
}

// waiter is one guest that waits for a place.
type waiter struct {
	turn  chan struct{} // gets a value when the guest has a place; never blocks the giver
	line  *line
	queue int
	at    *list.Element // in its queue; nil when it has a place
}

func newPlaces(n int) *places {
	return &places{size: n, free: n, lines: map[string]*line{}}
}

// enter takes a place for a guest of a tenant that arrives, or waits for one until ctx is done, and then
// returns its error.
func (p *places) enter(ctx context.Context, tenant string) error {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	w := p.join(tenant, arrived)
	p.mu.Unlock()
	return p.await(ctx, w)
}

// yield gives up a place to who is next and waits for the guest's own next turn; when nobody waits it is at once.
// The guest has no place after an error, which is that of ctx.
//
// With every place taken, compiled code holds every processor, and the host's own goroutines and timers get theirs here.
// With a place free, a processor serves them already: giving way then would wake a thread for nothing, which took a
// third of a slice.
func (p *places) yield(ctx context.Context, tenant string) error {
	if p.full() {
		runtime.Gosched()
	}
	p.mu.Lock()
	if p.turns.Len() == 0 {
		p.mu.Unlock()
		return nil
	}
	w := p.join(tenant, preempted) // before the place goes on, so that its tenant keeps its turn in the round
	p.pass()
	p.mu.Unlock()
	return p.await(ctx, w)
}

func (p *places) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free == 0
}

// leave gives up a place.
func (p *places) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass()
}

// taken is how many places are in use.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size - p.free
}

func (p *places) await(ctx context.Context, w *waiter) error {
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.at == nil {
		p.pass() // its turn came at the same moment
	} else {
		p.remove(w)
	}
	return ctx.Err()
}

// join, pass and remove are called with mu held.

// join puts a guest at the end of its queue, and its tenant at the end of the round if it was not there.
func (p *places) join(tenant string, queue int) *waiter {
	l := p.lines[tenant]
	if l == nil {
		l = &line{tenant: tenant}
		l.at = p.turns.PushBack(l)
		p.lines[tenant] = l
	}
	w := &waiter{turn: make(chan struct{}, 1), line: l, queue: queue}
	w.at = l.queues[queue].PushBack(w)
	return w
}

// pass gives a place that somebody has to the next guest of the next tenant, or to nobody.
func (p *places) pass() {
	front := p.turns.Front()
	if front == nil {
		p.free++
		return
	}
	p.turns.MoveToBack(front)
	w := front.Value.(*line).next()
	p.remove(w)
	w.turn <- struct{}{}
}

// remove takes a guest out of its queue, and its tenant out of the round when it was the last.
func (p *places) remove(w *waiter) {
	l := w.line
	l.queues[w.queue].Remove(w.at)
	w.at = nil
	if l.queues[arrived].Len()+l.queues[preempted].Len() == 0 {
		p.turns.Remove(l.at)
		delete(p.lines, l.tenant)
	}
}

// next is whose turn it is in a line that is not empty.
func (l *line) next() *waiter {
	first, other := l.queues[arrived].Front(), l.queues[preempted].Front()
	if first == nil || other != nil && l.ahead == maxAhead {
		l.ahead = 0
		return other.Value.(*waiter)
	}
	if other != nil {
		l.ahead++
	}
	return first.Value.(*waiter)
}
