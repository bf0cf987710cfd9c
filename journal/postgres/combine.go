package postgres

import (
	"context"
	"sync"
	"time"
)

// combiner makes one statement of reads that are asked for at the same moment. A read that is alone waits for nothing; while
// as many statements as may be are under way, the reads that come gather for the next. So every read begins after it was
// asked for, and sees what was committed before.
type combiner[K comparable, V any] struct {
	ctx     context.Context // of the store: who asks may go away, and others wait for the same statement
	timeout time.Duration
	load    func(ctx context.Context, keys []K) (map[K]V, error)

	mu      sync.Mutex
	flights int
	next    *flight[K, V] // gathers
}

// Bounds of the statements of one combiner.
const (
	maxFlights = 2
	maxKeys    = 256
)

// flight is one statement.
type flight[K comparable, V any] struct {
	keys []K
	in   map[K]bool
	done chan struct{} // closed when got or errs is set
	got  map[K]V
	errs map[K]error
}

func newCombiner[K comparable, V any](ctx context.Context, timeout time.Duration, load func(context.Context, []K) (map[K]V, error)) *combiner[K, V] {
	return &combiner[K, V]{ctx: ctx, timeout: timeout, load: load}
}

// get reads one value; found is false when the statement did not yield it.
func (c *combiner[K, V]) get(ctx context.Context, key K) (v V, found bool, err error) {
	f := c.join(key)
	select {
	case <-f.done:
	case <-ctx.Done():
		return v, false, ctx.Err()
	}
	v, found = f.got[key]
	return v, found, f.errs[key]
}

// join puts a key on the next flight, and lets it go when there is room.
func (c *combiner[K, V]) join(key K) *flight[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil || len(c.next.keys) == maxKeys && !c.next.in[key] {
		c.next = &flight[K, V]{in: map[K]bool{}, done: make(chan struct{})}
	}
	f := c.next
	if !f.in[key] {
		f.in[key] = true
		f.keys = append(f.keys, key)
	}
	switch {
	case c.flights < maxFlights:
		c.leave()
	case len(f.keys) == maxKeys: // a full one goes at once: more would only be more waiting
		c.leave()
	}
	return f
}

// leave sends the flight that gathers on its way.
func (c *combiner[K, V]) leave() {
	f := c.next
	c.next = nil
	c.flights++
	go func() {
		c.fly(f)
		close(f.done)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.flights--
		if c.next != nil {
			c.leave()
		}
	}()
}

// fly runs the statement. When the database refuses it, each key has one of its own, so that none can take the others
// down.
func (c *combiner[K, V]) fly(f *flight[K, V]) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	var err error
	if f.got, err = c.load(ctx, f.keys); err == nil {
		return
	}
	f.errs = make(map[K]error, len(f.keys))
	if len(f.keys) == 1 || fateOf(err) != refused {
		for _, key := range f.keys {
			f.errs[key] = err
		}
		return
	}
	f.got = make(map[K]V, len(f.keys))
	for _, key := range f.keys {
		got, err := c.load(ctx, []K{key})
		if v, found := got[key]; found {
			f.got[key] = v
		}
		if err != nil {
			f.errs[key] = err
		}
	}
}
