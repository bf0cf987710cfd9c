package postgres

import (
	"context"
	"testing"
	"time"

	"reprise/internal/faultnet"
	"reprise/internal/pgtest"
	"reprise/journal"
)

// stuck is a bound far beyond what anything takes that is not stuck.
const stuck = 30 * time.Second

// TestBlackHole: the network swallows what is sent, in one direction or both, with the connections open. No call is held,
// though its caller would wait for ever, and everything works when the network is back.
func TestBlackHole(t *testing.T) {
	dsn := pgtest.Database(t)
	p, through := faultnet.Before(t, dsn)
	b := &testbed{direct: dsn, cfg: Config{DSN: through + "&connect_timeout=1", ListenDSN: dsn, MaxConns: 4, Timeout: 300 * time.Millisecond, AllowNoFsync: true}}
	f := newFixtureOn(t, b)
	for _, sides := range [][]faultnet.Side{{faultnet.Client}, {faultnet.Server}, {faultnet.Client, faultnet.Server}} {
		ls := f.ownedMany(2)
		p.Hold(sides...)
		ctx := context.Background()
		calls := map[string]func() error{
			"commit":    func() error { _, err := f.s.Commit(ctx, ls[0], journal.Batch{Entries: entries(0, 1)}); return err },
			"claim":     func() error { _, err := f.s.Claim(ctx, ls[0].Node, journal.Want{Limit: 1}); return err },
			"mail":      func() error { _, err := f.s.Mail(ctx, ls[0].Node, nil); return err },
			"heartbeat": func() error { _, err := f.s.Heartbeat(ctx, ls[0].Node, ttl); return err },
			"signal":    func() error { _, err := f.s.Signal(ctx, acme, ls[1].Run, "s", "paid", nil); return err },
			"cancel":    func() error { _, err := f.s.RequestCancel(ctx, acme, ls[1].Run, "stop"); return err },
			"create": func() error {
				_, _, err := f.s.Create(ctx, journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest})
				return err
			},
			"run":     func() error { _, err := f.s.Run(ctx, acme, ls[0].Run); return err },
			"modules": func() error { _, err := f.s.Modules(ctx, acme); return err },
			"nodes":   func() error { _, err := f.s.ListNodes(ctx); return err },
		}
		type answer struct {
			name string
			err  error
		}
		answers := make(chan answer, len(calls))
		for name, call := range calls {
			go func() { answers <- answer{name, call()} }()
		}
		limit := time.After(stuck)
		for range calls {
			select {
			case a := <-answers:
				if a.err == nil || fateOf(a.err) == refused {
					t.Errorf("%v held: %s: got %v, want that nothing is known", sides, a.name, a.err)
				}
			case <-limit:
				t.Fatalf("%v held: a call is stuck", sides)
			}
		}
		p.Release()
		p.Reset() // what was sent into the hole may or may not arrive
		f.must(f.patiently(func(ctx context.Context) error {
			_, err := f.s.Commit(ctx, ls[0], journal.Batch{Entries: entries(0, 1)})
			return err
		}))
		if n := len(f.entries(ls[0].Run)); n != 1 {
			t.Errorf("%v held: got %d entries, want 1", sides, n)
		}
		f.must(f.patiently(func(ctx context.Context) error {
			_, err := f.s.Commit(ctx, ls[0], journal.Batch{Next: &journal.Transition{State: journal.Completed}})
			return err
		}))
	}
}

// TestTheServerEndsWhatItsAuthorCannot: the statement of a caller that was cut off does not keep its locks.
func TestTheServerEndsWhatItsAuthorCannot(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Timeout = 1234 * time.Millisecond
	s := b.open(t)
	for _, name := range timeoutNames {
		var got string
		if err := s.pool.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != "1234ms" {
			t.Errorf("%s: got %s, %v, want 1234ms", name, got, err)
		}
	}
	b.cfg.DSN += "&statement_timeout=77&options=-cidle_in_transaction_session_timeout%3D78"
	s = b.open(t)
	for i, want := range []string{"77ms", "78ms"} {
		var got string
		if err := s.pool.QueryRow(t.Context(), "SHOW "+timeoutNames[i]).Scan(&got); err != nil || got != want {
			t.Errorf("%s that the DSN sets: got %s, %v, want %s", timeoutNames[i], got, err, want)
		}
	}
}

// TestListenerIsLost: the connection that listens is ended twice, and at last for good. Hints come again after
// the first two; after the last, work is found by asking.
func TestListenerIsLost(t *testing.T) {
	dsn := pgtest.Database(t)
	p, through := faultnet.Before(t, dsn)
	b := &testbed{direct: dsn, cfg: Config{DSN: dsn, ListenDSN: through, AllowNoFsync: true}}
	f := newFixtureOn(t, &testbed{cfg: Config{DSN: dsn, AllowNoFsync: true}})
	far := b.open(t)
	n, err := far.Register(t.Context(), "far", ttl)
	f.must(err)
	for n := 1; n <= 3; n++ {
		f.waitFor("the far store to listen", func() bool { return p.Served() == n })
		f.hears(far)
		if n < 3 {
			p.Reset()
		}
	}
	p.Refuse(true)
	p.Reset()
	f.waitFor("the connection to go", func() bool { return p.Connections() == 0 })
	f.create()
	got, err := far.Claim(t.Context(), n.ID, journal.Want{Limit: 100})
	f.must(err)
	if len(got.Claims) != 4 { // three that hears made, and this one
		t.Errorf("claims: got %d, want 4: every run", len(got.Claims))
	}
}
