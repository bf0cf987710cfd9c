package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/modules"
)

// olderFile is a file as a program of an older version left it, with a module.
type olderFile struct {
	*testing.T
	path   string
	db     *sql.DB
	digest modules.Digest
}

func newOlder(t *testing.T, version int64) *olderFile {
	t.Helper()
	o := &olderFile{T: t, path: filepath.Join(t.TempDir(), "journal.db"), digest: modules.DigestOf([]byte("wasm"))}
	connector, err := sqlite3.NewConnector(fileDSN(o.path))
	if err != nil {
		t.Fatal(err)
	}
	o.db = sql.OpenDB(connector)
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, o.db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	o.exec(`INSERT INTO modules (tenant, digest, size, shape, manifest, imports, created_at) VALUES (?, ?, 4, 'command', x'7b7d', x'5b5d', 1)`, owner, o.digest)
	o.exec(`INSERT INTO module_bytes (module, bytes) VALUES (1, x'00')`)
	return o
}

func (o *olderFile) exec(text string, args ...any) {
	o.Helper()
	if _, err := o.db.Exec(text, args...); err != nil {
		o.Fatalf("%s: %v", text, err)
	}
}

// run writes run number n.
func (o *olderFile) run(n int, input, output []byte) journal.RunID {
	o.Helper()
	id := journal.NewRunID()
	o.exec(`INSERT INTO runs (n, tenant, id, key, idempotency_key, workflow, digest, entry, state, token, next_seq, inbox_pos, queued, created_at, updated_at)
		VALUES (?, ?, ?, '', '', 'w', ?, '', 'waiting', 1, 1, 3, 2, 1, 1)`, n, owner, id[:], o.digest)
	o.exec(`INSERT INTO inputs (run, bytes) VALUES (?, ?)`, n, input)
	if output != nil {
		o.exec(`UPDATE runs SET state = 'completed', finished_at = 1 WHERE n = ?`, n)
		o.exec(`INSERT INTO results (run, output, failure) VALUES (?, ?, x'')`, n, output)
	}
	return id
}

func (o *olderFile) signal(n, pos int, id string, content []byte, open bool) {
	o.Helper()
	a := journal.Arrival{ID: "signal:" + id, Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "paid", Payload: content}
	o.exec(`INSERT INTO inbox (run, id, pos, open, kind, op, name, status, payload, digest, attempt, retry_at, at)
		VALUES (?, ?, ?, ?, 'signal', -1, 'paid', 0, ?, ?, 0, 0, 1)`, n, a.ID, pos, open, content, arrivalDigest(a))
}

func (o *olderFile) open() *Store {
	o.Helper()
	if err := o.db.Close(); err != nil {
		o.Fatal(err)
	}
	return open(o.T, Config{Path: o.path})
}

// TestQueuedBytesOfAnOlderSchema: a file without the column gets it with what waits in its inboxes.
func TestQueuedBytesOfAnOlderSchema(t *testing.T) {
	o := newOlder(t, 1)
	run, empty := o.run(1, []byte{}, []byte{}), o.run(2, []byte{}, []byte{})
	o.signal(1, 1, "a", make([]byte, 100), true)
	o.signal(1, 2, "b", make([]byte, 20), false)
	o.signal(1, 3, "c", make([]byte, 3), true)
	s := o.open()
	for id, want := range map[journal.RunID]int64{run: 103, empty: 0} {
		r, err := s.conns[0].runByID(owner, id)
		if err != nil || r.queued.bytes != want {
			t.Errorf("run %s: got %d queued bytes, %v, want %d", id, r.queued.bytes, err, want)
		}
	}
}

// TestPayloadsOfAnOlderSchema: large payloads that stand in their rows are read, and repeats of them are known.
func TestPayloadsOfAnOlderSchema(t *testing.T) {
	o := newOlder(t, 3)
	large := func(c string) []byte { return bytes.Repeat([]byte(c), payload.Inline+1) }
	waits, ended := o.run(1, large("i"), nil), o.run(2, []byte("small"), large("o"))
	o.exec(`INSERT INTO entries (run, seq, kind, op, name, request, options, status, payload, issued, trail, token, at)
		VALUES (1, 0, 'effect', 1, 'e', ?, x'', 1, ?, 1, 0, 1, 1)`, large("q"), large("p"))
	o.exec(`INSERT INTO published (run, key, value, at) VALUES (1, 'k', ?, 1)`, large("v"))
	o.signal(1, 1, "s1", large("s"), true)
	o.signal(1, 2, "s2", []byte("small"), true)

	s := o.open()
	ctx := t.Context()
	one, err1 := s.Run(ctx, owner, waits)
	two, err2 := s.Run(ctx, owner, ended)
	es, err3 := s.Entries(ctx, owner, waits, 0, 10)
	ps, err4 := s.Published(ctx, owner, waits)
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(es) != 1 || len(ps) != 1 {
		t.Fatalf("read: got %d entries, %d values, %v; want one of each", len(es), len(ps), err)
	}
	for _, c := range []struct {
		what      string
		got, want []byte
	}{
		{"input", one.Input, large("i")}, {"output", two.Output, large("o")}, {"request", es[0].Request, large("q")},
		{"payload", es[0].Payload, large("p")}, {"published", ps[0].Value, large("v")},
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("%s: got %d bytes, want %d", c.what, len(c.got), len(c.want))
		}
	}
	for _, c := range []struct {
		id        string
		payload   []byte
		duplicate bool
		want      error
	}{
		{"s1", large("s"), true, nil}, {"s1", large("x"), false, journal.ErrConflict}, {"s2", large("s"), false, journal.ErrConflict},
		{"s2", []byte("small"), true, nil},
	} {
		dup, err := s.Signal(ctx, owner, waits, c.id, "paid", c.payload)
		if dup != c.duplicate || !errors.Is(err, c.want) {
			t.Errorf("signal %s of %d bytes: got duplicate %v, %v; want %v, %v", c.id, len(c.payload), dup, err, c.duplicate, c.want)
		}
	}
	got, err := s.Prune(ctx, journal.Retention{Completed: time.Minute}, 10)
	if err != nil || got.Runs != 1 {
		t.Errorf("prune: got %+v, %v, want the run that ended", got, err)
	}
}
