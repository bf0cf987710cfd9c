package host_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"reprise/tenant"
)

// TestTheSameBytesAtOnce: a hundred uploads of one module succeed, one of them stores it, one moves the name.
func TestTheSameBytesAtOnce(t *testing.T) {
	n := newNode(t, nil)
	wasm := fixture(t, "echo")
	var wg sync.WaitGroup
	var created, moved atomic.Int64
	for range 100 {
		wg.Go(func() {
			p, err := n.PushModule(t.Context(), tenant.Default, "echo", wasm, "")
			if err != nil {
				t.Errorf("got %v, want it taken", err)
			}
			if p.Created {
				created.Add(1)
			}
			if p.Moved {
				moved.Add(1)
			}
			if p.Alias.Version != 1 {
				t.Errorf("got version %d, want 1", p.Alias.Version)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 || moved.Load() != 1 {
		t.Errorf("got created %d and moved %d times, want once each", created.Load(), moved.Load())
	}
	if mods, err := n.Modules(t.Context(), tenant.Default); err != nil || len(mods) != 1 {
		t.Errorf("got modules %v, %v; want one", mods, err)
	}
}
