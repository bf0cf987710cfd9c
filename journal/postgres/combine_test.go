package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestCombiner: a read that is alone begins at once; those that come while two are under way share the next.
func TestCombiner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var flights [][]int
		land := make(chan struct{})
		c := newCombiner(t.Context(), time.Hour, func(_ context.Context, keys []int) (map[int]string, error) {
			mu.Lock()
			flights = append(flights, slices.Clone(keys))
			mu.Unlock()
			<-land
			got := map[int]string{}
			for _, k := range keys {
				if k != 404 {
					got[k] = fmt.Sprint(k)
				}
			}
			return got, nil
		})
		var asked sync.WaitGroup
		ask := func(key int) {
			asked.Go(func() {
				v, found, err := c.get(t.Context(), key)
				if err != nil || found != (key != 404) || found && v != fmt.Sprint(key) {
					t.Errorf("key %d: got %q, %v, %v", key, v, found, err)
				}
			})
			synctest.Wait()
		}
		for _, key := range []int{1, 2, 3, 4, 3, 404} {
			ask(key)
		}
		saw := func(want ...[]int) {
			mu.Lock()
			defer mu.Unlock()
			if !slices.EqualFunc(flights, want, slices.Equal) {
				t.Errorf("got the statements %v, want %v", flights, want)
			}
		}
		saw([]int{1}, []int{2})
		land <- struct{}{}
		synctest.Wait()
		saw([]int{1}, []int{2}, []int{3, 4, 404})
		ask(1) // what was read before is not an answer to what is asked now
		close(land)
		asked.Wait()
		synctest.Wait()
		saw([]int{1}, []int{2}, []int{3, 4, 404}, []int{1})
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.flights != 0 || c.next != nil {
			t.Errorf("%d statements are under way in the end", c.flights)
		}
	})
}

// TestCombinerFails: what the database refuses is refused to who asked for it and to nobody else; that it is away everybody
// hears. Who gives up does not take the others along.
func TestCombinerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var tries atomic.Int64
		gates := make(chan chan struct{}, 1) // holds the one that is shut
		gates <- make(chan struct{})
		shut := func() chan struct{} { g := <-gates; gates <- g; return g }
		c := newCombiner(t.Context(), time.Hour, func(_ context.Context, keys []int) (map[int]int, error) {
			<-shut()
			tries.Add(1)
			switch {
			case away.Load():
				return nil, &pgconn.PgError{Code: "57P03"}
			case slices.Contains(keys, 13):
				return nil, &pgconn.PgError{Code: "22021"}
			}
			got := map[int]int{}
			for _, k := range keys {
				got[k] = k
			}
			return got, nil
		})
		errs := make([]error, 6)
		gone, giveUp := context.WithCancel(t.Context())
		var asked sync.WaitGroup
		for i, key := range []int{1, 2, 3, 13, 4, 5} {
			ctx := t.Context()
			if key == 4 {
				ctx = gone
			}
			asked.Go(func() { _, _, errs[i] = c.get(ctx, key) })
			synctest.Wait()
		}
		giveUp()
		synctest.Wait()
		close(shut())
		asked.Wait()
		for i, err := range errs {
			var pg *pgconn.PgError
			if (i == 3) != errors.As(err, &pg) || (i == 4) != errors.Is(err, context.Canceled) || err != nil && i != 3 && i != 4 {
				t.Errorf("asked as number %d: got %v", i+1, err)
			}
		}
		away.Store(true)
		tries.Store(0)
		<-gates
		gates <- make(chan struct{})
		for range 6 {
			asked.Go(func() {
				if _, _, err := c.get(t.Context(), 1); err == nil {
					t.Error("got no error of a database that is away")
				}
			})
		}
		synctest.Wait()
		close(shut())
		asked.Wait()
		if n := tries.Load(); n > 3 {
			t.Errorf("a database that is away was asked %d times, want no more than once a statement", n)
		}
	})
}
