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
// module have needed lately; what it needs beyond that it gets when there is some, or it must go. A tenant has at most
// three quarters, so that there is always something for another.
type budget struct {
	mu      sync.Mutex
	bytes   int64 // free
	places  int   // free
	total   int64
	share   int64            // of one tenant
	held    map[string]int64 // by tenant that has any
	waiters list.List        // of *applicant, first come first served
	// short is told when somebody has to wait, or gets nothing: for how much, and whose guests alone can help.
	short func(tenant string, need int64)
}

// maxInstances bounds the instances that live at once: each takes two mappings, and Linux gives a process 65,530.
const maxInstances = 30_000

type applicant struct {
	tenant   string
	need     int64
	admitted chan struct{}
}

func newBudget(total int64) *budget {
	return &budget{bytes: total, total: total, share: total / 4 * 3, places: maxInstances, held: map[string]int64{}}
}

// admit waits until there is room for need bytes, or ctx is done. Who needs more than a tenant may have is
// admitted when the tenant has nothing else.
func (b *budget) admit(ctx context.Context, tenant string, need int64) (got int64, err error) {
	need = min(need, b.total)
	a := &applicant{tenant: tenant, need: need, admitted: make(chan struct{})}
	b.mu.Lock()
	at := b.waiters.PushBack(a)
	b.next()
	b.mu.Unlock()
	select {
	case <-a.admitted:
		return need, nil
	default:
		b.missing(tenant, need)
	}
	select {
	case <-a.admitted:
		return need, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-a.admitted: // at the same moment
		b.put(tenant, need)
	default:
		b.waiters.Remove(at)
		b.next() // it may have stood in the way of a smaller one
	}
	return 0, ctx.Err()
}

// missing tells that a tenant needs more than there is for it.
func (b *budget) missing(tenant string, need int64) {
	if b.short == nil {
		return
	}
	b.mu.Lock()
	if b.mayHave(tenant, need) {
		tenant = ""
	}
	b.mu.Unlock()
	b.short(tenant, need)
}

// wanting is what the first in line waits for.
func (b *budget) wanting() (tenant string, need int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := b.waiters.Front()
	if first == nil {
		return "", 0
	}
	a := first.Value.(*applicant)
	if b.mayHave(a.tenant, a.need) {
		return "", max(1, a.need-b.bytes)
	}
	return a.tenant, a.need
}

// mayHave says whether a tenant may have so much more.
func (b *budget) mayHave(tenant string, more int64) bool {
	held := b.held[tenant]
	return held == 0 || held+more <= b.share
}

func (b *budget) take(tenant string, bytes int64) {
	b.bytes -= bytes
	if b.held[tenant] += bytes; b.held[tenant] == 0 {
		delete(b.held, tenant)
	}
}

func (b *budget) put(tenant string, got int64) {
	b.take(tenant, -got)
	b.places++
	b.next()
}

// next admits those for whom there is room, in their order. Who waits for memory has it kept for it; who waits for its
// tenant's own keeps nobody else.
func (b *budget) next() {
	for at := b.waiters.Front(); at != nil; {
		a, following := at.Value.(*applicant), at.Next()
		if b.mayHave(a.tenant, a.need) {
			if a.need > b.bytes || b.places == 0 {
				return
			}
			b.waiters.Remove(at)
			b.take(a.tenant, a.need)
			b.places--
			close(a.admitted)
		}
		at = following
	}
}

// grow takes more for one that is admitted; false when there is none.
func (b *budget) grow(tenant string, more int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more > b.bytes || !b.mayHave(tenant, more) {
		return false
	}
	b.take(tenant, more)
	return true
}

// release gives back all that an instance got.
func (b *budget) release(tenant string, got int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(tenant, got)
}
