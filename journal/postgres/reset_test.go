package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"reprise/internal/faultnet"
	"reprise/internal/pgtest"
	"reprise/journal"
)

// proxied is a fixture whose store has one connection, through a proxy; the fixture's own leads past it.
func proxied(t *testing.T, settings string) (*fixture, *faultnet.Proxy) {
	dsn := pgtest.Database(t)
	p, through := faultnet.Before(t, dsn)
	b := &testbed{direct: dsn, cfg: Config{DSN: through + settings, ListenDSN: dsn, MaxConns: 1, AllowNoFsync: true}}
	return newFixtureOn(t, b), p
}

// written is a call that writes, and what must be so afterwards, however often it was interrupted.
type written struct {
	name  string
	begin string // is in its statement, and in no other's
	do    func(t *testing.T, f *fixture)
}

// patiently repeats a call whose fate is not known, as a host does.
func (f *fixture) patiently(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	return persist(ctx, func() error { return call(ctx) })
}

var writes = []written{
	{"commit", "INSERT INTO reprise.entries", func(t *testing.T, f *fixture) {
		l := f.owned()
		f.must(f.patiently(func(ctx context.Context) error {
			_, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(0, 3), Next: &journal.Transition{State: journal.Completed}})
			return err
		}))
		f.whole(l, 3)
		if _, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(3, 1)}); !errors.Is(err, journal.ErrFenced) {
			t.Errorf("commit after the end: got %v, want %v", err, journal.ErrFenced)
		}
	}},
	{"claim", "WITH RECURSIVE clock", func(t *testing.T, f *fixture) {
		r := f.create()
		node := f.register(fmt.Sprint("n", time.Now().UnixNano()))
		var got journal.Claims
		f.must(f.patiently(func(ctx context.Context) (err error) {
			got, err = f.s.Claim(ctx, node, journal.Want{Limit: 10})
			return err
		}))
		if len(got.Claims) != 1 || got.Claims[0].Run.ID != r.ID || got.Claims[0].Lease.Token != 1 || got.Claims[0].Run.Attempts != 1 {
			t.Fatalf("claim: got %+v, want run %s once, under its first token", got.Claims, r.ID)
		}
		_, err := f.s.Commit(t.Context(), got.Claims[0].Lease, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
		f.must(err)
	}},
	{"create", "INSERT INTO reprise.runs", func(t *testing.T, f *fixture) {
		want := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, IdempotencyKey: fmt.Sprint(time.Now().UnixNano())}
		f.must(f.patiently(func(ctx context.Context) error { _, _, err := f.s.Create(ctx, want); return err }))
		r, created, err := f.s.Create(t.Context(), journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, IdempotencyKey: want.IdempotencyKey})
		f.must(err)
		if created || r.ID != want.ID {
			t.Errorf("create again: got run %s, created %v, want %s", r.ID, created, want.ID)
		}
		_, err = f.s.RequestCancel(t.Context(), acme, want.ID, "out of the way") // of the next claim
		f.must(err)
	}},
	{"signal", "INSERT INTO reprise.inbox", func(t *testing.T, f *fixture) {
		l := f.owned()
		f.must(f.patiently(func(ctx context.Context) error { _, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", nil); return err }))
		as, err := f.s.Arrivals(t.Context(), acme, l.Run, 0)
		f.must(err)
		if len(as) != 1 || as[0].Pos != 1 {
			t.Errorf("arrivals: got %+v, want one, the first", as)
		}
		_, err = f.s.Commit(t.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
		f.must(err)
	}},
}

// modes are ways to send a statement: at once, or prepared in an exchange before.
var modes = []struct {
	name, settings string
	exchanges      int
}{
	{"at once", "&default_query_exec_mode=exec", 1},
	{"prepared", "", 2},
}

// TestResetAtEveryMessage ends the connection at each message of each write, of either side, until the exchange has
// no more messages. What comes out is the same as without.
func TestResetAtEveryMessage(t *testing.T) {
	for _, mode := range modes {
		f, p := proxied(t, mode.settings)
		for _, w := range writes {
			for _, side := range []faultnet.Side{faultnet.Client, faultnet.Server} {
				fired := 0
				for at := 1; ; at++ {
					f.s.pool.Reset() // a statement is prepared once a connection
					p.Arm(faultnet.Fault{Begin: w.begin, Exchanges: mode.exchanges, From: side, At: at})
					w.do(t, f)
					if !p.Fired() {
						break
					}
					fired++
				}
				if fired < 4 {
					t.Errorf("%s, %s, messages of the %s: got %d resets, want one at each of at least 4 messages", w.name, mode.name, side, fired)
				}
			}
		}
	}
}

// TestLostAnswers carries each write out and loses its answer.
func TestLostAnswers(t *testing.T) {
	for _, mode := range modes {
		f, p := proxied(t, mode.settings)
		for _, w := range writes {
			f.s.pool.Reset()
			p.Arm(faultnet.Fault{Begin: w.begin, Exchanges: mode.exchanges, Eat: true})
			w.do(t, f)
			if !p.Fired() {
				t.Errorf("%s, %s: no answer was lost", w.name, mode.name)
			}
		}
	}
}
