package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/host"
	"reprise/host/effect"
	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; only a hang meets it.
const patience = 2 * time.Minute

// site is an empty journal that hosts share.
type site struct {
	t *testing.T
	// open returns a store for one host.
	open func() journal.Store
	// set moves the database's clock to so far from the real one.
	set func(ahead time.Duration)
	dsn string // of Postgres
}

// onEach runs a test on both journals.
func onEach(t *testing.T, f func(t *testing.T, s *site)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); f(t, onSQLite(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, onPostgres(t)) })
}

func onSQLite(t *testing.T) *site {
	var ahead atomic.Int64
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "reprise.db"),
		Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &site{t: t, open: func() journal.Store { return store }, set: func(d time.Duration) { ahead.Store(int64(d)) }}
}

func onPostgres(t *testing.T) *site {
	dsn := pgtest.Database(t)
	open := func() journal.Store {
		store, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, AllowNoFsync: true, MaxConns: 6})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	return &site{t: t, open: open, dsn: dsn, set: func(d time.Duration) {
		pgtest.Exec(t, dsn, fmt.Sprintf(`CREATE OR REPLACE FUNCTION reprise.reprise_now() RETURNS timestamptz LANGUAGE sql VOLATILE
			AS $$ SELECT clock_timestamp() + interval '%d microseconds' $$`, d.Microseconds()))
	}}
}

// node is one host of a fleet.
type node struct {
	*host.Host
	t     *testing.T
	store journal.Store
	stop  func()
}

// boot starts a host; change may be nil.
func (s *site) boot(name string, store journal.Store, change func(*host.Config)) *node {
	s.t.Helper()
	cfg := host.Config{Store: store, Name: name, Poll: 50 * time.Millisecond, HoldFor: 20 * time.Millisecond, LeaseTTL: 3 * time.Second, Effects: steps()}
	if os.Getenv("REPRISE_TEST_LOG") != "" {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("host", name)
	}
	if change != nil {
		change(&cfg)
	}
	h, err := host.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := h.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	n := &node{Host: h, t: s.t, store: store}
	n.stop = func() { // again it gives the first answer
		if err := h.Stop(context.WithoutCancel(s.t.Context())); err != nil {
			s.t.Errorf("stop %s: %v", name, err)
		}
	}
	s.t.Cleanup(n.stop)
	return n
}

// steps answers each effect with its input in brackets, after a moment.
func steps() effect.Registry {
	e := effect.Effect{Handler: effect.HandlerFunc(func(ctx context.Context, r effect.Request) ([]byte, error) {
		select {
		case <-time.After(5 * time.Millisecond):
			return fmt.Appendf(nil, "[%s]", r.Input), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}
	return effect.Registry{"test.step": e, "test.a": e, "test.b": e, "test.cleanup": e}
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// push publishes fixtures under their names.
func (n *node) push(names ...string) {
	n.t.Helper()
	for _, name := range names {
		if _, err := n.PushModule(n.t.Context(), tenant.Default, name, fixture(n.t, name), ""); err != nil {
			n.t.Fatal(err)
		}
	}
}

func (n *node) start(workflow, input string) journal.RunID {
	n.t.Helper()
	run, _, err := n.StartRun(n.t.Context(), tenant.Default, host.StartRun{Workflow: workflow, Input: []byte(input)})
	if err != nil {
		n.t.Fatal(err)
	}
	return run.ID
}

func (n *node) signal(id journal.RunID, name, payload string) {
	n.t.Helper()
	if _, err := n.Signal(n.t.Context(), tenant.Default, id, name, name, []byte(payload)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) row(id journal.RunID) journal.Run {
	n.t.Helper()
	r, err := n.store.Run(n.t.Context(), tenant.Default, id)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// ends waits for the end of a run, which must be this one.
func (n *node) ends(id journal.RunID, state journal.State, output string) {
	n.t.Helper()
	r, err := n.Result(n.t.Context(), tenant.Default, id, patience)
	if err != nil || r.State != state || state == journal.Completed && string(r.Output) != output {
		n.t.Fatalf("run of %s: got %s %q (%s), %v; want %s %q", r.Workflow, r.State, r.Output, r.Reason, err, state, output)
	}
}

// until waits for something that nobody announces.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

func (n *node) until(id journal.RunID, s journal.State) {
	n.t.Helper()
	until(n.t, "a run to be "+string(s), func() bool { return n.row(id).State == s })
}

// checkJournal checks that a journal is dense, and that nobody wrote after who came after him.
func (n *node) checkJournal(id journal.RunID) {
	n.t.Helper()
	es, err := n.store.Entries(n.t.Context(), tenant.Default, id, 0, 1000)
	if err != nil {
		n.t.Fatal(err)
	}
	for i, e := range es {
		if e.Seq != int64(i) || i > 0 && (e.Token < es[i-1].Token || e.At.Before(es[i-1].At)) {
			n.t.Errorf("run %s: got entry %d at %d, written under token %d at %s", id, e.Seq, i, e.Token, e.At)
		}
	}
}

var errSevered = errors.New("the network is gone")

// hanging answers nothing; held is closed when the first effect has left.
func hanging(held chan struct{}) effect.Registry {
	var once sync.Once
	return effect.Registry{"test.step": {Handler: effect.HandlerFunc(func(ctx context.Context, _ effect.Request) ([]byte, error) {
		once.Do(func() { close(held) })
		<-ctx.Done()
		return nil, ctx.Err()
	})}}
}

func (n *node) nodes() []journal.Node {
	n.t.Helper()
	ns, err := n.store.ListNodes(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return ns
}
