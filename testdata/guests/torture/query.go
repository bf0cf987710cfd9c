package main

import (
	"sync"
	"time"

	"reprise/guest-sdk/go"
)

// queries has copies of the run tell what it has said, and try what a query may not do.
func (t *torture) queries() {
	reprise.HandleQuery("said", func(more []string) (int, error) {
		t.seen = append(t.seen, more...) // in the copy only
		return len(t.seen), nil
	})
	reprise.HandleQuery("goroutines", func(n int) (int, error) {
		sums, sum := make(chan int, n), 0
		for i := range n {
			go func() { sums <- i }()
		}
		for range n {
			sum += <-sums
		}
		return sum, nil
	})
	reprise.HandleQuery("fails", func(struct{}) (int, error) { return 0, reprise.Failf("not_now", "ask later") })
	reprise.HandleQuery("panics", func(struct{}) (int, error) { panic("no") })
	reprise.HandleQuery("effect", func(struct{}) (string, error) {
		return reprise.Effect[string](t.ctx, "test.ask", "x", reprise.EffectOptions{})
	})
	reprise.HandleQuery("sleeps", func(struct{}) (int, error) { time.Sleep(time.Hour); return 1, nil })
	reprise.HandleQuery("waits", func(struct{}) (int, error) { var wg sync.WaitGroup; wg.Add(1); wg.Wait(); return 1, nil })
	reprise.HandleQuery("spins", func(struct{}) (int, error) {
		for {
		}
	})
}
