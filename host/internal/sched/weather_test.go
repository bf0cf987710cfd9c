package sched

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"reprise/internal/faultnet"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/modules"
)

// field is where two nodes take the same runs from one Postgres. It notes when a turn begins before another has ended.
type field struct {
	mu     sync.Mutex
	owners map[journal.RunID]string        // whose turn is under way
	leases map[journal.RunID]journal.Lease // of the first node
	broken []string
}

// turnOf is a turn that goes on until its node may not.
type turnOf struct {
	f    *field
	node string
	run  journal.RunID
}

func (u turnOf) Run(ctx context.Context) {
	u.f.mu.Lock()
	if other := u.f.owners[u.run]; other != "" {
		u.f.broken = append(u.f.broken, fmt.Sprintf("run %s: %s begins while %s has not ended", u.run, u.node, other))
	}
	u.f.owners[u.run] = u.node
	u.f.mu.Unlock()
	<-ctx.Done()
	u.f.mu.Lock()
	defer u.f.mu.Unlock()
	if u.f.owners[u.run] == u.node {
		u.f.owners[u.run] = ""
	}
}

func (turnOf) Mail(int64) {}
func (turnOf) Drain()     {}

// owned counts the runs whose turns are under way on a node.
func (f *field) owned(node string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, owner := range f.owners {
		if owner == node {
			n++
		}
	}
	return n
}

func (f *field) start(t *testing.T, s *postgres.Store, name string) *Dispatcher {
	t.Helper()
	d := New(Config{Store: s, Name: name, LeaseTTL: 3 * time.Second, Poll: 50 * time.Millisecond, MaxRunning: 100, MaxPerTenant: 100,
		DrainTimeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler), Clock: &Clock{}, Open: func(c journal.Claim) Turn {
			if name == "first" {
				f.mu.Lock()
				f.leases[c.Lease.Run] = c.Lease
				f.mu.Unlock()
			}
			return turnOf{f, name, c.Lease.Run}
		}})
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Errorf("stop of %s: %v", name, err)
		}
	})
	return d
}

// TestBlackHoleBetweenANodeAndPostgres: a node's way to Postgres swallows everything, for longer than its lease. It
// stops each of its runs before the other node begins it; none of its leases holds when the way is open again, and it
// gets a new registration by itself.
func TestBlackHoleBetweenANodeAndPostgres(t *testing.T) {
	const runs = 10
	dsn := pgtest.Database(t)
	p, through := faultnet.Before(t, dsn)
	open := func(dsn string) *postgres.Store {
		s, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, AllowNoFsync: true, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	direct, far := open(dsn), open(through)
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	digest := modules.DigestOf(wasm)
	if _, err := direct.PutModule(t.Context(), modules.Module{Tenant: "acme", Digest: digest, Size: 8, Shape: modules.Command}, wasm); err != nil {
		t.Fatal(err)
	}
	for range runs {
		if _, _, err := direct.Create(t.Context(), journal.Run{Tenant: "acme", ID: journal.NewRunID(), Workflow: "w", Digest: digest}); err != nil {
			t.Fatal(err)
		}
	}
	f := &field{owners: map[journal.RunID]string{}, leases: map[journal.RunID]journal.Lease{}}
	first := f.start(t, far, "first")
	until(t, "the first node to have every run", func() bool { return f.owned("first") == runs })
	boot := first.Node()
	f.start(t, direct, "second")
	p.Hold(faultnet.Client, faultnet.Server)
	until(t, "the second node to have every run", func() bool { return f.owned("second") == runs })
	if first.Ready() == nil {
		t.Error("the first node says that it is ready")
	}
	f.mu.Lock()
	for _, what := range f.broken {
		t.Error(what)
	}
	f.mu.Unlock()
	p.Release()
	until(t, "the first node to be ready again", func() bool { return first.Ready() == nil && first.Node() != boot })
	for _, l := range f.leases {
		for name, s := range map[string]*postgres.Store{"the first node's": far, "the second node's": direct} {
			if _, err := s.Commit(t.Context(), l, journal.Batch{}); !errors.Is(err, journal.ErrFenced) {
				t.Errorf("commit under a lease of before, by %s store: got %v, want %v", name, err, journal.ErrFenced)
			}
		}
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}
