package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"reprise/abi"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		got := func(need int64) int64 {
			n, err := b.admit(t.Context(), fmt.Sprint(need), need)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := got(60)
		if b.grow("60", 16) || !b.grow("60", 15) || !b.grow("other", 25) || b.grow("other", 1) {
			t.Error("growth is not what is left, to the byte")
		}
		order := make(chan int64, 3)
		for _, need := range []int64{70, 10, 20} {
			go func() { order <- got(need) }()
			synctest.Wait()
		}
		b.release("60", first) // 60 are free: too few for the first, and the others stand behind it
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%d were admitted before the one that came first", <-order)
		}
		b.release("60", 15)
		b.release("other", 25)
		synctest.Wait()
		if len(order) != 3 || b.bytes != 0 {
			t.Errorf("got %d admitted and %d bytes free, want all 3 and none", len(order), b.bytes)
		}
		for range 3 {
			n := <-order
			b.release(fmt.Sprint(n), n)
		}
		if n := got(1000); n != 100 || b.bytes != 0 {
			t.Errorf("got %d, want all there is for one that needs more", n)
		}
		// One that gives up does not stay in the way.
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := b.admit(ctx, "big", 100); gone <- err }()
		synctest.Wait()
		go func() { order <- got(0) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		synctest.Wait()
		if len(order) != 1 {
			t.Error("who stood behind one that gave up is not admitted")
		}
	})
}

// TestBudgetOfATenant: a tenant that has its share waits, and keeps nobody else waiting.
func TestBudgetOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		admitted := make(chan string, 8)
		admit := func(tenant string, need int64) {
			go func() {
				if _, err := b.admit(t.Context(), tenant, need); err == nil {
					admitted <- tenant
				}
			}()
			synctest.Wait()
		}
		for range 4 {
			admit("a", 25)
		}
		admit("b", 25)
		if got := len(admitted); got != 4 || b.held["a"] != 75 || b.held["b"] != 25 {
			t.Errorf("got %d admitted, a holds %d and b %d, want 75 and 25", got, b.held["a"], b.held["b"])
		}
		b.release("b", 25)
		synctest.Wait()
		if b.held["a"] != 75 || b.bytes != 25 {
			t.Errorf("a holds %d, want no more than its share", b.held["a"])
		}
		b.release("a", 25)
		synctest.Wait()
		if b.held["a"] != 75 || len(admitted) != 5 {
			t.Errorf("a holds %d with %d admitted, want the one that waited in place of the one that left", b.held["a"], len(admitted))
		}
		for range 3 {
			b.release("a", 25)
		}
		admit("a", 90) // more than a share, alone
		if b.held["a"] != 90 {
			t.Errorf("a holds %d, want 90", b.held["a"])
		}
		b.release("a", 90)
	})
}

// TestBudgetHammer: whatever comes and goes, nothing is lost and nothing is given twice.
func TestBudgetHammer(t *testing.T) {
	const total = 1000
	b := newBudget(total)
	var wg sync.WaitGroup
	for seed := range uint64(16) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(4) == 0 {
					go cancel()
				}
				tenant := fmt.Sprint(seed % 3)
				got, err := b.admit(ctx, tenant, r.Int64N(total))
				if err == nil {
					if more := r.Int64N(total); b.grow(tenant, more) {
						got += more
					}
					b.release(tenant, got)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if b.bytes != total || b.places != maxInstances || b.waiters.Len() != 0 || len(b.held) != 0 {
		t.Errorf("got %d bytes, %d places and %d waiters in the end, want %d, %d and none", b.bytes, b.places, b.waiters.Len(), total, maxInstances)
	}
}

// TestPressure: a guest that asks for memory that is not there is stopped by the host, and its next try waits for room.
func TestPressure(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, prepared(t, "warm")) // takes two pages beyond its image
	at := m.charge()
	e.forRuns = newBudget(at + 2*pageBytes - 1)
	if end := m.Run(t.Context(), &fakeWorld{}, ""); !errors.Is(end.Cause, ErrPressure) || end.Failure != nil {
		t.Errorf("got %+v, want %v", end, ErrPressure)
	}
	if e.forRuns.bytes != e.forRuns.total {
		t.Errorf("got %d bytes free of %d after the end", e.forRuns.bytes, e.forRuns.total)
	}
	if now := m.charge(); now <= at {
		t.Errorf("got %d bytes for the next try, want more than %d", now, at)
	}
	// An activity of the same module has room of its own.
	checkWarm(t, m.Run(t.Context(), &fakeWorld{mono: monotonicStart, entry: Entry{Kind: abi.EntryActivity}}, ""))
	e.forRuns = newBudget(1 << 30)
	checkWarm(t, m.Run(t.Context(), &fakeWorld{mono: monotonicStart}, ""))
	for range 200 { // what was thought at first is forgotten
		m.Run(t.Context(), &fakeWorld{mono: monotonicStart}, "")
	}
	if now := m.charge(); now > at+4*pageBytes {
		t.Errorf("got %d bytes after many executions, want what they need, about %d", now, at)
	}
}
