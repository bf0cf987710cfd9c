package sandbox

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrPressure says that a guest asked for memory that the host does not have at the moment. It is nobody's failure:
// the same execution is tried again, and waits for its room before it begins.
var ErrPressure = errors.New("the host has no memory for the guest at the moment")

// budget shares out the memory that guests may take, by bytes. An instance is admitted with what instances of its
// module have needed lately; what it needs beyond that it gets when there is some, or it must go.
type budget struct {
	mu      sync.Mutex
	bytes   int64 // free
	places  int   // free
	total   int64
	waiters list.List // of *applicant, first come first served
}

// maxInstances bounds the instances that live at once: each takes two mappings, and Linux gives a process 65,530.
const maxInstances = 30_000

type applicant struct {
	need     int64
	admitted chan struct{}
}

func newBudget(total int64) *budget {
	return &budget{bytes: total, total: total, places: maxInstances}
}

// admit waits until there is room for need bytes, or ctx is done. Who needs more than there is in all is
// admitted when nobody else is.
func (b *budget) admit(ctx context.Context, need int64) (got int64, err error) {
	need = min(need, b.total)
	b.mu.Lock()
	if b.waiters.Len() == 0 && b.fits(need) {
		b.take(need)
		b.mu.Unlock()
		return need, nil
	}
	a := &applicant{need: need, admitted: make(chan struct{})}
	at := b.waiters.PushBack(a)
	b.mu.Unlock()
	select {
	case <-a.admitted:
		return need, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-a.admitted: // at the same moment
		b.put(need)
	default:
		b.waiters.Remove(at)
		b.next() // it may have stood in the way of a smaller one
	}
	return 0, ctx.Err()
}

func (b *budget) fits(need int64) bool { return need <= b.bytes && b.places > 0 }

func (b *budget) take(need int64) { b.bytes, b.places = b.bytes-need, b.places-1 }

func (b *budget) put(got int64) {
	b.bytes, b.places = b.bytes+got, b.places+1
	b.next()
}

// next admits who is first as long as there is room.
func (b *budget) next() {
	for {
		front := b.waiters.Front()
		if front == nil || !b.fits(front.Value.(*applicant).need) {
			return
		}
		a := b.waiters.Remove(front).(*applicant)
		b.take(a.need)
		close(a.admitted)
	}
}

// grow takes more for one that is admitted; false when there is none.
func (b *budget) grow(more int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more > b.bytes {
		return false
	}
	b.bytes -= more
	return true
}

// release gives back all that an instance got.
func (b *budget) release(got int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(got)
}
