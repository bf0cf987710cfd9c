package postgres

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"reprise/abi"
	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/modules"
)

// older makes the schema of an older program, with a module.
func (b *testbed) older(t *testing.T, version int64) modules.Digest {
	t.Helper()
	cc, err := pgx.ParseConfig(b.cfg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cc)
	defer db.Close()
	steps, _, err := migrations(defaultSchema)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeSchema(t.Context(), db, defaultSchema); err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithGoMigrations(steps...),
		goose.WithTableName(defaultSchema+"."+versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	digest := modules.DigestOf([]byte("wasm"))
	b.exec(t, `INSERT INTO reprise.modules (tenant, digest, size, shape, manifest, imports, created_at) VALUES ($1, $2, 4, 'command', '{}', '[]', now())`, string(acme), string(digest))
	b.exec(t, `INSERT INTO reprise.module_bytes (tenant, digest, bytes) VALUES ($1, $2, 'wasm')`, string(acme), string(digest))
	return digest
}

// olderRun writes a run as programs did up to version 4 of the schema.
func (b *testbed) olderRun(t *testing.T, digest modules.Digest, input, output []byte) journal.RunID {
	t.Helper()
	id := journal.NewRunID()
	state, finished := "waiting", "NULL"
	if output != nil {
		state, finished = "completed", "now()"
	}
	b.exec(t, `INSERT INTO reprise.runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, created_at, updated_at, finished_at, token, next_seq, inbox_pos, input, output)
		VALUES ($1, $2, '', '', 'w', $3, '', '`+state+`', now(), now(), `+finished+`, 1, 1, 2, $4, $5)`, string(acme), uuidOf(id), string(digest), input, output)
	return id
}

func (b *testbed) olderArrival(t *testing.T, id journal.RunID, pos int, arrival string, content []byte, open bool) {
	t.Helper()
	b.exec(t, `INSERT INTO reprise.inbox (tenant, run, id, pos, at, op, open, kind, name, payload)
		SELECT tenant, no, $2, $3, now(), -1, $4, 'signal', 'paid', $5 FROM reprise.runs WHERE id = $1`, uuidOf(id), []byte("signal:"+arrival), pos, open, content)
}

// TestQueuedBytesOfAnOlderSchema: a schema without the column gets it with what waits in its inboxes.
func TestQueuedBytesOfAnOlderSchema(t *testing.T) {
	b := newTestbed(t)
	digest := b.older(t, 1)
	run, empty := b.olderRun(t, digest, nil, nil), b.olderRun(t, digest, nil, nil)
	for i, size := range []int{100, 20, 3} {
		b.olderArrival(t, run, i+1, fmt.Sprint(i), make([]byte, size), i != 1)
	}
	f := newFixtureOn(t, b)
	for id, want := range map[journal.RunID]int64{run: 103, empty: 0} {
		var got int64
		f.must(f.conn.QueryRow(t.Context(), `SELECT queued_bytes FROM reprise.runs WHERE id = $1`, uuidOf(id)).Scan(&got))
		if got != want {
			t.Errorf("run %s: got %d queued bytes, want %d", id, got, want)
		}
	}
}

// TestPayloadsOfAnOlderSchema: large payloads that stand in their rows are read, and repeats of them are known.
func TestPayloadsOfAnOlderSchema(t *testing.T) {
	b := newTestbed(t)
	digest := b.older(t, 4)
	large := func(c string) []byte { return bytes.Repeat([]byte(c), payload.Inline+1) }
	open, ended := b.olderRun(t, digest, large("i"), nil), b.olderRun(t, digest, []byte("small"), large("o"))
	b.exec(t, `INSERT INTO reprise.entries (tenant, run, seq, trail, token, at, op, issued, status, kind, name, request, options, payload)
		SELECT tenant, no, 0, 0, 1, '2030-01-01', 1, 1, 1, 'effect', 'e', $2, NULL, $3 FROM reprise.runs WHERE id = $1`, uuidOf(open), large("q"), large("p"))
	b.exec(t, `INSERT INTO reprise.published (tenant, run, at, key, value) SELECT tenant, no, now(), 'k', $2 FROM reprise.runs WHERE id = $1`, uuidOf(open), large("v"))
	b.olderArrival(t, open, 1, "s1", large("s"), true)
	b.olderArrival(t, open, 2, "s2", []byte("small"), true)

	f := newFixtureOn(t, b)
	r, err := f.s.Run(t.Context(), acme, open)
	f.must(err)
	same(t, "input", r.Input, large("i"))
	r, err = f.s.Run(t.Context(), acme, ended)
	f.must(err)
	same(t, "output", r.Output, large("o"))
	es := f.entries(open)
	want := journal.Entry{Kind: journal.KindEffect, Op: 1, Name: "e", Request: large("q"), Status: abi.OK, Payload: large("p"), Issued: 1, At: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	if len(es) != 1 || es[0].Name != want.Name {
		t.Fatalf("entries: got %d", len(es))
	}
	same(t, "request", es[0].Request, want.Request)
	same(t, "payload", es[0].Payload, want.Payload)
	ps, err := f.s.Published(t.Context(), acme, open)
	f.must(err)
	same(t, "published", ps[0].Value, large("v"))
	for _, c := range []struct {
		id        string
		payload   []byte
		duplicate bool
		want      error
	}{
		{"s1", large("s"), true, nil}, {"s1", large("x"), false, journal.ErrConflict}, {"s1", []byte("small"), false, journal.ErrConflict},
		{"s2", []byte("small"), true, nil}, {"s2", large("s"), false, journal.ErrConflict}, {"s3", large("s"), false, nil},
	} {
		dup, err := f.s.Signal(t.Context(), acme, open, c.id, "paid", c.payload)
		if dup != c.duplicate || !isErr(err, c.want) {
			t.Errorf("signal %s of %d bytes: got duplicate %v, %v; want %v, %v", c.id, len(c.payload), dup, err, c.duplicate, c.want)
		}
	}
	as, err := f.s.Arrivals(t.Context(), acme, open, 0)
	f.must(err)
	if len(as) != 3 {
		t.Fatalf("arrivals: got %d, want 3", len(as))
	}
	same(t, "older signal", as[0].Payload, large("s"))
	same(t, "newer signal", as[2].Payload, large("s"))
	f.b.advance(t, time.Hour)
	got, err := f.s.Prune(t.Context(), journal.Retention{Completed: time.Minute}, 10)
	if err != nil || got.Runs != 1 {
		t.Errorf("prune: got %+v, %v, want the run that ended", got, err)
	}
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes, %.10q, want %d, %.10q", what, len(got), got, len(want), want)
	}
}
