package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"reprise/internal/pgtest"
	"reprise/journal"
)

// pair is a primary, a standby that follows it asynchronously, and a store whose DSN names both.
type pair struct {
	*fixture
	primary, standby *pgtest.Cluster
	claimed          map[string]journal.Lease // by node and run
}

func newPair(t *testing.T) *pair {
	primary := pgtest.Start(t, pgtest.Options{})
	standby := primary.Standby(t)
	both := pgtest.DSNOfBoth(t, "postgres", primary, standby) + "&connect_timeout=2"
	return &pair{newFixtureOn(t, &testbed{direct: primary.DSN("postgres"), cfg: Config{DSN: both, AllowNoFsync: true}}), primary, standby, map[string]journal.Lease{}}
}

// on is the port of the server that the store works on.
func (p *pair) on(s *Store) string {
	p.Helper()
	var port string
	p.must(p.patiently(func(ctx context.Context) error {
		return s.retry(ctx, true, func(ctx context.Context) error {
			return s.pool.QueryRow(ctx, `SELECT current_setting('port')`).Scan(&port)
		})
	}))
	return ":" + port + "/"
}

// TestFailoverLosesTheLastCommits: the primary dies, and the standby that is promoted lacks its last commits, which
// were acknowledged. No lease of before is accepted, though its token is given out a second time; what is left goes on
// to its end under new ones.
func TestFailoverLosesTheLastCommits(t *testing.T) {
	p := newPair(t)
	node := p.register("n1")
	kept := p.claimOne(node, p.create())
	_, err := p.s.Commit(t.Context(), kept, journal.Batch{Entries: entries(0, 5)})
	p.must(err)
	unclaimed := p.create()
	p.primary.CutOff(t, p.standby)
	// Acknowledged, and lost:
	_, err = p.s.Commit(t.Context(), kept, journal.Batch{Entries: entries(5, 4)})
	p.must(err)
	stale := p.claimOne(node, unclaimed)
	_, err = p.s.Commit(t.Context(), stale, journal.Batch{Entries: entries(0, 2)})
	p.must(err)
	gone := p.create()

	p.primary.Stop(t, pgtest.Immediate)
	p.standby.Promote(t)
	err = p.patiently(func(ctx context.Context) error { _, err := p.s.Heartbeat(ctx, node, ttl); return err })
	if !errors.Is(err, journal.ErrNodeLapsed) {
		t.Fatalf("heartbeat of the registration of before: got %v, want %v", err, journal.ErrNodeLapsed)
	}
	if _, err := p.s.Run(t.Context(), acme, gone.ID); !errors.Is(err, journal.ErrNotFound) {
		t.Fatalf("the run that the standby lacks: got %v, want %v; nothing was lost, so nothing is tested", err, journal.ErrNotFound)
	}
	leases := map[journal.Lease][]journal.Batch{
		kept:  {{Entries: entries(9, 1)}, {Entries: entries(5, 1)}, {Next: &journal.Transition{State: journal.Completed}}},
		stale: {{Entries: entries(2, 1)}, {Entries: entries(0, 1)}, {Next: &journal.Transition{State: journal.Ready}}},
	}
	fenced := func(old journal.Lease, when string) {
		for i, b := range leases[old] {
			if _, err := p.s.Commit(t.Context(), old, b); !errors.Is(err, journal.ErrFenced) {
				t.Errorf("run %s, batch %d under the lease of before, %s: got %v, want %v", old.Run, i, when, err, journal.ErrFenced)
			}
		}
	}
	fenced(kept, "before anybody has registered")
	fenced(stale, "before anybody has registered")
	again := p.register("n1")
	for old := range leases {
		fenced(old, "before anybody has claimed it")
		l := p.claimOne(again, journal.Run{ID: old.Run})
		if old == stale && l.Token != old.Token {
			t.Errorf("token: got %d, want %d, the one that was given before: else nothing is tested", l.Token, old.Token)
		}
		fenced(old, "while another lease holds")
		seq := int64(len(p.entries(old.Run)))
		_, err := p.s.Commit(t.Context(), l, journal.Batch{Entries: entries(seq, int(7-seq)), Next: &journal.Transition{State: journal.Completed}})
		p.must(err)
		fenced(old, "after the end")
		if got := p.entries(old.Run); len(got) != 7 || !sameAll(got, entries(0, 7)) {
			t.Errorf("run %s: got %d entries, want the 7 right ones", old.Run, len(got))
		}
	}
}

// claimOne claims runs until it has the one.
func (p *pair) claimOne(node string, r journal.Run) journal.Lease {
	p.Helper()
	got, err := p.s.Claim(p.Context(), node, journal.Want{Limit: 100})
	p.must(err)
	for _, c := range got.Claims {
		p.claimed[node+c.Run.ID.String()] = c.Lease
	}
	l, ok := p.claimed[node+r.ID.String()]
	if !ok {
		p.Fatalf("claim: got %d runs, none of them %s", len(got.Claims), r.ID)
	}
	return l
}

func sameAll(a, b []journal.Entry) bool {
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestTwoPrimaries: a standby is promoted while the primary still takes writes. Those who still write to it lose that; as
// soon as it takes no writes any more they go to the new one, where no lease of before holds, and never come back.
func TestTwoPrimaries(t *testing.T) {
	p := newPair(t)
	node := p.register("n1")
	l := p.claimOne(node, p.create())
	_, err := p.s.Commit(t.Context(), l, journal.Batch{Entries: entries(0, 3)})
	p.must(err)
	p.primary.CutOff(t, p.standby)
	p.standby.Promote(t)

	second := (&testbed{cfg: Config{DSN: p.standby.DSN("postgres"), AllowNoFsync: true}}).open(t)
	n2, err := second.Register(t.Context(), "n2", ttl)
	p.must(err)
	got, err := second.Claim(t.Context(), n2.ID, journal.Want{Limit: 10})
	p.must(err)
	if len(got.Claims) != 1 || got.Claims[0].StolenFrom != node {
		t.Fatalf("claim on the new primary: got %+v, want the run of %s, whose lease ended with the promotion", got.Claims, node)
	}
	if _, err := p.s.Commit(t.Context(), l, journal.Batch{Entries: entries(3, 1)}); err != nil {
		t.Errorf("commit on the old primary: got %v; nobody there can know", err)
	}
	old, fresh := p.on(p.s), p.on(second)
	if old == fresh {
		t.Fatalf("both stores work on %s", old)
	}
	// An operator, or what manages the servers, stops writes there.
	p.primary.Exec(t, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	seq := int64(4)
	err = p.patiently(func(ctx context.Context) error {
		for ; ; seq++ { // the reload takes a moment
			if _, err := p.s.Commit(ctx, l, journal.Batch{Entries: entries(seq, 1)}); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, journal.ErrFenced) {
		t.Errorf("commit after the old primary is read-only: got %v, want %v", err, journal.ErrFenced)
	}
	if at := p.on(p.s); at != fresh {
		t.Errorf("the store works on %s, want the new primary at %s", at, fresh)
	}
	p.must(p.allowWrites(p.primary))
	for range 5 {
		p.s.pool.Reset()
		if at := p.on(p.s); at != fresh {
			t.Errorf("with both taking writes again the store works on %s, want %s: it has seen the new timeline", at, fresh)
		}
	}
	if n := len(p.entriesOn(second, l.Run)); n != 3 {
		t.Errorf("entries on the new primary: got %d, want 3: what was written to the old one is lost", n)
	}
}

func (p *pair) entriesOn(s *Store, run journal.RunID) []journal.Entry {
	p.Helper()
	es, err := s.Entries(p.Context(), acme, run, 0, 100)
	p.must(err)
	return es
}

// allowWrites undoes what made a server read-only.
func (p *pair) allowWrites(c *pgtest.Cluster) error {
	conn, err := pgx.Connect(p.Context(), c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{`SET default_transaction_read_only = off`, `ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`} {
		if _, err := conn.Exec(p.Context(), sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
