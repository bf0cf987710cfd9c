package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand"
	randv2 "math/rand/v2"
	"sync"
	"time"

	"reprise/guest-sdk/go"
)

func init() {
	reprise.Workflow("sequential", Sequential)
	reprise.Workflow("parallel", Parallel)
	reprise.Workflow("race", Race)
	reprise.Workflow("locks", Locks)
	reprise.Workflow("group", Group)
	reprise.Workflow("order", Order)
	reprise.Workflow("draws", Draws)
}

// Sequential makes n requests, each with the outcome of the one before.
func Sequential(ctx context.Context, n int) (sum int, err error) {
	for range n {
		if sum, err = echo(ctx, sum+1); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// Parallel makes n requests at once from goroutines, and returns the outcomes by position.
func Parallel(ctx context.Context, n int) ([]int, error) {
	out, errs := make([]int, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { out[i], errs[i] = echo(ctx, i*i) })
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// Race lets a request that never ends lose against time.After, gives it up, and goes on.
func Race(ctx context.Context, _ struct{}) (string, error) {
	slow := startHang(ctx)
	select {
	case <-slow.Done():
		return "the request won", nil
	case <-time.After(30 * time.Millisecond):
	}
	slow.Cancel()
	slow.Cancel() // twice does no harm
	_, err := slow.Get(ctx)
	if !errors.Is(err, reprise.ErrCancelled) {
		return "", fmt.Errorf("after Cancel: %w", err)
	}
	quick := startEcho(ctx, "the request won")
	select {
	case <-quick.Done():
		quick.Cancel() // too late: the outcome stays
		return quick.Get(ctx)
	case <-time.After(time.Hour):
		return "time.After won", nil
	}
}

// Locks has goroutines that wait for requests while they hold a mutex, a channel as semaphore, and a
// condition.
func Locks(ctx context.Context, n int) (int, error) {
	var mu sync.Mutex
	slots, ready := make(chan struct{}, 2), sync.NewCond(&mu)
	total, finished := 0, 0
	for i := range n {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			mu.Lock()
			defer mu.Unlock()
			v, err := echo(ctx, i)
			if err == nil {
				total += v
			}
			finished++
			ready.Signal()
		}()
	}
	mu.Lock()
	defer mu.Unlock()
	for finished < n {
		ready.Wait()
	}
	return total, nil
}

// Group is the pattern of errgroup: the first error cancels the context of the others.
func Group(ctx context.Context, _ struct{}) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	given := make([]error, 3)
	for i := range given {
		wg.Go(func() { _, given[i] = startHang(ctx).Get(ctx) })
	}
	wg.Go(func() {
		_, err := reprise.Effect[string](ctx, "test.fail", reprise.Failf("broken", "on purpose"), reprise.EffectOptions{})
		cancel(err)
	})
	wg.Wait()
	for _, err := range given {
		if err != context.Canceled {
			return "", fmt.Errorf("a request that was given up ended with %w", err)
		}
	}
	return context.Cause(ctx).Error(), nil
}

// Order shows everything that is random in an ordinary program: map order, select, math/rand, and
// the order in which goroutines run.
func Order(ctx context.Context, _ struct{}) (string, error) {
	m := map[string]int{}
	for i := range 20 {
		m[fmt.Sprint("k", i)] = i
	}
	var trace []any
	for k := range m {
		trace = append(trace, k)
	}
	a, b := make(chan int, 20), make(chan int, 20)
	for i := range 20 {
		a <- i
		b <- -i
	}
	for range 20 {
		select {
		case v := <-a:
			trace = append(trace, v)
		case v := <-b:
			trace = append(trace, v)
		}
	}
	trace = append(trace, rand.Int63(), rand.Perm(5), reprise.Now().Equal(time.Now()))
	random := make([]byte, 8)
	reprise.Random(random)
	trace = append(trace, random)
	done := make(chan int)
	for i := range 5 {
		go func() { echo(ctx, i); done <- i }()
	}
	for range 5 {
		trace = append(trace, <-done)
	}
	return echo(ctx, fmt.Sprint(trace...))
}

// Draws takes from each source of randomness that a program has.
func Draws(context.Context, struct{}) (map[string]string, error) {
	secret := make([]byte, 8)
	if _, err := crand.Read(secret); err != nil {
		return nil, err
	}
	seed := maphash.MakeSeed()
	return map[string]string{
		"math/rand":    fmt.Sprint(rand.Int63()),
		"math/rand/v2": fmt.Sprint(randv2.Uint64()),
		"crypto/rand":  fmt.Sprintf("%x", secret),
		"hash/maphash": fmt.Sprint(maphash.String(seed, "text")),
	}, nil
}
