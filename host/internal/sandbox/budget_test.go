package sandbox

import (
	"context"
	"errors"
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
			n, err := b.admit(t.Context(), need)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := got(60)
		if b.grow(41) || !b.grow(40) || b.grow(1) {
			t.Error("growth is not what is left, to the byte")
		}
		order := make(chan int64, 3)
		for _, need := range []int64{70, 10, 20} {
			go func() { order <- got(need) }()
			synctest.Wait()
		}
		b.release(first) // 60 are free: too few for the first, and the others stand behind it
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%d were admitted before the one that came first", <-order)
		}
		b.release(40)
		synctest.Wait()
		if len(order) != 3 || b.bytes != 0 {
			t.Errorf("got %d admitted and %d bytes free, want all 3 and none", len(order), b.bytes)
		}
		for range 3 {
			b.release(<-order)
		}
		if n := got(1000); n != 100 || b.bytes != 0 {
			t.Errorf("got %d, want all there is for one that needs more", n)
		}
		// One that gives up does not stay in the way.
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { _, err := b.admit(ctx, 100); gone <- err }()
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
				got, err := b.admit(ctx, r.Int64N(total))
				if err == nil {
					if more := r.Int64N(total); b.grow(more) {
						got += more
					}
					b.release(got)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if b.bytes != total || b.places != maxInstances || b.waiters.Len() != 0 {
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
