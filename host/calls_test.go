package host_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

// counted is a store that counts what a run costs it.
type counted struct {
	journal.Store
	mu    sync.Mutex
	calls map[string]int
}

func (c *counted) count(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[call]++
}

// of returns the calls that do makes.
func (c *counted) of(do func()) map[string]int {
	c.mu.Lock()
	clear(c.calls)
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

func (c *counted) Create(ctx context.Context, r journal.Run) (journal.Run, bool, error) {
	c.count("create")
	return c.Store.Create(ctx, r)
}

func (c *counted) Begin(ctx context.Context, r journal.Run, node string, first journal.Entry) (journal.Run, bool, error) {
	c.count("begin")
	return c.Store.Begin(ctx, r, node, first)
}

func (c *counted) Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error) {
	c.count("claim")
	return c.Store.Claim(ctx, node, w)
}

func (c *counted) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	c.count("commit")
	return c.Store.Commit(ctx, l, b)
}

func (c *counted) Run(ctx context.Context, t tenant.ID, id journal.RunID) (journal.Run, error) {
	c.count("run")
	return c.Store.Run(ctx, t, id)
}

func (c *counted) Entries(ctx context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	c.count("entries")
	return c.Store.Entries(ctx, t, id, from, limit)
}

func (c *counted) Arrivals(ctx context.Context, t tenant.ID, id journal.RunID, after int64) ([]journal.Arrival, error) {
	c.count("arrivals")
	return c.Store.Arrivals(ctx, t, id, after)
}

func (c *counted) Module(ctx context.Context, t tenant.ID, d modules.Digest) (modules.Module, error) {
	c.count("module")
	return c.Store.Module(ctx, t, d)
}

func (c *counted) ModuleBytes(ctx context.Context, t tenant.ID, d modules.Digest) ([]byte, error) {
	c.count("module bytes")
	return c.Store.ModuleBytes(ctx, t, d)
}

func (c *counted) Alias(ctx context.Context, t tenant.ID, name string) (modules.Alias, error) {
	c.count("alias")
	return c.Store.Alias(ctx, t, name)
}

// TestCallsOfARun: a run of ten steps, on a node that has room, is eleven writes and no read: its begin, which is its claim, too;
// what was seen before each step but the first leaves; and its end, which tells how it ended.
func TestCallsOfARun(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &counted{Store: store, calls: map[string]int{}}
	step := effect.Effect{Handler: effect.HandlerFunc(func(context.Context, effect.Request) ([]byte, error) { return []byte("x"), nil })}
	h, err := host.New(host.Config{Store: c, Effects: effect.Registry{"test.step": step}, Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.Stop(context.Background())
	if _, err := h.PushModule(t.Context(), tenant.Default, "steps", fixture(t, "steps"), ""); err != nil {
		t.Fatal(err)
	}
	run := func() {
		r, _, err := h.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "steps", Input: []byte("10")})
		if err != nil {
			t.Fatal(err)
		}
		if r, err = h.Result(t.Context(), tenant.Default, r.ID, patience); err != nil || r.State != journal.Completed {
			t.Fatalf("got %s, error %v", r.State, err)
		}
	}
	run() // the first learns the module and its name, and may come before the node's first claim
	got := c.of(run)
	if d := cmp.Diff(map[string]int{"begin": 1, "commit": 10}, got); d != "" {
		t.Errorf("calls of a run (-want +got):\n%s", d)
	}
}
