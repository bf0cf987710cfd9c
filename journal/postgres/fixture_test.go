package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

const (
	acme tenant.ID = "acme"
	ttl            = time.Hour // a test that wants a lease to lapse advances the clock
)

// fixture is an open store with one module, and a connection beside it.
type fixture struct {
	*testing.T
	b      *testbed
	s      *Store
	conn   *pgx.Conn
	digest modules.Digest
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, newTestbed(t))
}

func newFixtureOn(t *testing.T, b *testbed) *fixture {
	t.Helper()
	f := &fixture{T: t, b: b, s: b.open(t)}
	var err error
	if f.conn, err = pgx.Connect(t.Context(), b.own()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.conn.Close(context.Background()) })
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	f.digest = modules.DigestOf(wasm)
	_, err = f.s.PutModule(t.Context(), modules.Module{Tenant: acme, Digest: f.digest, Size: 8, Shape: modules.Command}, wasm)
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) queryRow(sql string, into ...any) {
	f.Helper()
	if err := f.conn.QueryRow(f.Context(), sql).Scan(into...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

func (f *fixture) create() journal.Run {
	f.Helper()
	r, _, err := f.s.Create(f.Context(), journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest})
	f.must(err)
	return r
}

func (f *fixture) register(name string) string {
	f.Helper()
	n, err := f.s.Register(f.Context(), name, ttl)
	f.must(err)
	return n.ID
}

// ownedMany has a node claim n new runs.
func (f *fixture) ownedMany(n int) []journal.Lease {
	f.Helper()
	for range n {
		f.create()
	}
	cs, err := f.s.Claim(f.Context(), f.register("n1"), journal.Want{Limit: n})
	f.must(err)
	if len(cs.Claims) != n {
		f.Fatalf("claims: got %d, want %d", len(cs.Claims), n)
	}
	ls := make([]journal.Lease, n)
	for i, c := range cs.Claims {
		ls[i] = c.Lease
	}
	return ls
}

func (f *fixture) owned() journal.Lease {
	f.Helper()
	return f.ownedMany(1)[0]
}

func (f *fixture) entries(run journal.RunID) []journal.Entry {
	f.Helper()
	es, err := f.s.Entries(f.Context(), acme, run, 0, 1000)
	f.must(err)
	return es
}

func entries(from int64, n int) []journal.Entry {
	es := make([]journal.Entry, n)
	for i := range es {
		seq := from + int64(i)
		es[i] = journal.Entry{Seq: seq, Kind: journal.KindEffect, Op: int32(seq), Name: "e", Status: abi.OK,
			Payload: fmt.Appendf(nil, "payload %d", seq), At: time.Unix(1_900_000_000+seq, 0)}
	}
	return es
}

// lock is another transaction that holds a run's row.
type lock struct {
	f  *fixture
	tx pgx.Tx
}

func (f *fixture) lockRun(id journal.RunID) lock {
	f.Helper()
	tx, err := f.conn.Begin(f.Context())
	f.must(err)
	l := lock{f, tx}
	l.exec(`SELECT FROM reprise.runs WHERE id = $1 FOR UPDATE`, uuidOf(id))
	return l
}

func (l lock) exec(sql string, args ...any) {
	l.f.Helper()
	if _, err := l.tx.Exec(l.f.Context(), sql, args...); err != nil {
		l.f.Fatalf("%s: %v", sql, err)
	}
}

func (l lock) commit()   { l.f.Helper(); l.f.must(l.tx.Commit(l.f.Context())) }
func (l lock) rollback() { l.f.Helper(); l.f.must(l.tx.Rollback(l.f.Context())) }

// waitBlocked waits until n statements wait for a lock.
func (f *fixture) waitBlocked(n int) {
	f.Helper()
	conn := f.observer()
	f.waitFor(fmt.Sprintf("%d statements to wait for a lock", n), func() bool {
		var blocked int
		if err := conn.QueryRow(f.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&blocked); err != nil {
			f.Fatal(err)
		}
		return blocked >= n
	})
}

// observer is a connection outside any transaction, inside which statistics stand still.
func (f *fixture) observer() *pgx.Conn {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.b.own())
	f.must(err)
	f.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// waitFor looks until something is so that nobody announces.
func (f *fixture) waitFor(what string, ok func() bool) {
	f.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			f.Fatalf("gave up waiting for %s", what)
		}
	}
}

func isErr(err, want error) bool {
	return want == nil && err == nil || want != nil && errors.Is(err, want)
}
