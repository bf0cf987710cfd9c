package sandbox

import (
	"fmt"
	"testing"

	"reprise/abi"
)

// parked is an hourglass whose guest waits until it may go on, or is asked to be frozen.
type parked struct {
	*hourglass
	waits chan struct{} // gets a value at each wait
	goes  chan struct{}
	asked chan struct{} // to be frozen
}

func (p *parked) Evict() { p.asked <- struct{}{} }

func (p *parked) Poll(q Poll) (completion, timedOut bool, err error) {
	p.waits <- struct{}{}
	select {
	case <-p.goes:
		return p.hourglass.Poll(q)
	case <-p.asked:
		return false, false, fmt.Errorf("parked: %w", ErrFreeze)
	}
}

// TestMemoryOfThoseThatWait has two guests wait, which take all the memory that there is. A third gets that of the one that
// waits the longest; that one goes on later.
func TestMemoryOfThoseThatWait(t *testing.T) {
	e := newEngine(t, Config{})
	file, err := guestFile("go")
	if err != nil {
		t.Fatal(err)
	}
	m, err := begin(t.Context(), e, file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	world := func(tenant string) *hourglass {
		w := newHourglass(Entry{Tenant: tenant, Name: "steps", Input: []byte("5"), Limits: abi.DefaultLimits()}, neverFreeze)
		w.echoes = true
		return w
	}
	short := e.forRuns.short
	b := newBudget(2*m.charge() + m.charge()/2)
	b.short = func(tenant string, need int64) { e.folder.evict(b, tenant, need) }
	if short == nil {
		t.Fatal("the engine's budget asks nobody")
	}
	e.forRuns = b
	ends := map[string]chan Ending{}
	guests := map[string]*parked{}
	for _, name := range []string{"first", "second"} {
		p := &parked{world(name), make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)}
		guests[name], ends[name] = p, make(chan Ending, 1)
		go func() { ends[name] <- m.Run(t.Context(), p, "") }()
		<-p.waits
	}
	if end := m.Run(t.Context(), world("third"), ""); end.Failure != nil || end.Cause != nil {
		t.Fatalf("third: got %v, %v", end.Cause, end.Failure)
	}
	first := <-ends["first"]
	if first.Frozen == nil {
		t.Fatalf("first: got %v, want an instance that was frozen", first.Cause)
	}
	for _, name := range []string{"second", "first"} {
		p := guests[name]
		if name == "first" {
			go func() { ends[name] <- m.Thaw(t.Context(), p, first.Frozen) }()
			<-p.waits
		}
		go func() {
			for range p.waits {
				p.goes <- struct{}{}
			}
		}()
		p.goes <- struct{}{}
		end := <-ends[name]
		close(p.waits)
		if end.Cause != nil || end.Failure != nil || string(end.Output) != "10" {
			t.Errorf("%s: got %v, %v, %s, want 0 to 4 added up", name, end.Cause, end.Failure, end.Output)
		}
	}
}
