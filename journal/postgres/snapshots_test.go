package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/internal/pgtest"
	"reprise/journal"
)

// lines is a log that a test reads.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// with are the lines that have a text in them.
func (l *lines) with(t *testing.T, text string) (found []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(strings.TrimSpace(l.b.String()), "\n") {
		if !strings.Contains(line, text) {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		found = append(found, m)
	}
	return found
}

// watched is a store that tells of transactions that are a microsecond old, and of tables of which 10 rows are dead.
func watched(t *testing.T, dsn string) (*fixture, *lines) {
	log := &lines{}
	return newFixtureOn(t, &testbed{cfg: Config{DSN: dsn, AllowNoFsync: true, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		OldTransaction: time.Microsecond, deadRows: 10}}), log
}

// look has the store look now, whenever it has looked last.
func (f *fixture) look() {
	f.Helper()
	f.s.snapshots.looked = time.Time{}
	_, err := f.s.Prune(f.Context(), journal.Retention{}, 10)
	f.must(err)
}

const (
	longOpen   = "a transaction is open for long"
	mostlyDead = "a table is mostly dead rows"
)

// TestLongSnapshot: while somebody keeps a snapshot open and forgets it, runs begin, are claimed, suspended, woken and end, and the log
// names who it is, and what helps.
func TestLongSnapshot(t *testing.T) {
	f, log := watched(t, pgtest.Database(t))
	f.look()
	if got := log.with(t, longOpen); len(got) != 0 {
		t.Fatalf("got %v with nobody there, want no warning", got)
	}
	holder := f.connectAs("report of the month")
	var pid uint32
	f.must(holder.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	_, err := holder.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	f.must(err)
	seen := func() (n int) {
		t.Helper()
		f.must(holder.QueryRow(t.Context(), `SELECT count(*) FROM reprise.runs`).Scan(&n))
		return n
	}
	before := seen()
	const runs = 60
	f.liveOf(runs)
	if n := seen(); n != before {
		t.Fatalf("the old snapshot sees %d runs, want %d: it is none", n, before)
	}
	f.look()
	f.look()
	got := log.with(t, longOpen)
	if len(got) != 1 {
		t.Fatalf("got warnings %v, want one", got)
	}
	for key, want := range map[string]any{"pid": float64(pid), "application_name": "report of the month", "role": "postgres", "state": "idle in transaction"} {
		if got[0][key] != want {
			t.Errorf("%s: got %v, want %v", key, got[0][key], want)
		}
	}
	if fix, _ := got[0]["fix"].(string); !strings.Contains(fix, fmt.Sprintf("pg_terminate_backend(%d)", pid)) {
		t.Errorf("fix: got %q, want how to end it", fix)
	}
	if _, err := time.ParseDuration(got[0]["age"].(string)); err != nil {
		t.Errorf("age: %v", err)
	}
	// Looking is not what each call does.
	f.s.snapshots.warned = nil
	_, err = f.s.Prune(t.Context(), journal.Retention{}, 10)
	f.must(err)
	if n := len(log.with(t, longOpen)); n != 1 {
		t.Errorf("got %d warnings within a minute, want 1", n)
	}
	_, err = holder.Exec(t.Context(), `COMMIT`)
	f.must(err)
	f.look()
	if n := len(log.with(t, longOpen)); n != 1 {
		t.Errorf("got %d warnings when it is over, want no more", n)
	}
	sum := 0
	for more := true; more; {
		p, err := f.s.Prune(t.Context(), journal.Retention{Completed: time.Microsecond}, 100)
		f.must(err)
		sum, more = sum+p.Runs, p.More
	}
	if sum != runs {
		t.Errorf("pruned: got %d runs, want %d", sum, runs)
	}
}

// connectAs is a connection of another program.
func (f *fixture) connectAs(name string) *pgx.Conn {
	f.Helper()
	cc, err := pgx.ParseConfig(f.b.own())
	f.must(err)
	cc.RuntimeParams["application_name"] = name
	conn, err := pgx.ConnectConfig(f.Context(), cc)
	f.must(err)
	f.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// liveOf has two nodes bring runs from their start to their end, with a suspension in each, and checks their journals.
func (f *fixture) liveOf(runs int) {
	f.Helper()
	ctx := f.Context()
	var ids []journal.RunID
	for range runs {
		ids = append(ids, f.create().ID)
	}
	nodes := []string{f.register("a"), f.register("b")}
	turns, ended := map[journal.RunID]int{}, 0
	for i := 0; ended < runs; i++ {
		if i == 20*runs {
			f.Fatalf("got %d of %d runs ended after %d claims", ended, runs, i)
		}
		node := nodes[i%2]
		_, err := f.s.Heartbeat(ctx, node, ttl)
		f.must(err)
		cs, err := f.s.Claim(ctx, node, journal.Want{Limit: 7})
		f.must(err)
		for _, c := range cs.Claims {
			b := journal.Batch{Entries: entries(c.Run.NextSeq, 3), Next: &journal.Transition{State: journal.Waiting, SeenPos: c.Run.InboxPos}}
			if turns[c.Run.ID]++; turns[c.Run.ID] == 2 {
				b.Next.State = journal.Completed
				ended++
			}
			_, err := f.s.Commit(ctx, c.Lease, b)
			f.must(err)
			if b.Next.State == journal.Waiting {
				_, err = f.s.Signal(ctx, acme, c.Run.ID, "s1", "go", nil)
				f.must(err)
			}
		}
	}
	for _, id := range ids {
		r, err := f.s.Run(ctx, acme, id)
		f.must(err)
		if es := f.entries(id); r.State != journal.Completed || len(es) != 6 || es[5].Seq != 5 {
			f.Fatalf("run %s: got %s with %d entries, want completed with 6", id, r.State, len(es))
		}
	}
}

// TestDeadRowsAreTold: rows that an old snapshot keeps are told of, when they are there twice in a row.
func TestDeadRowsAreTold(t *testing.T) {
	f, log := watched(t, pgtest.Start(t, pgtest.Options{Settings: []string{"autovacuum = off"}}).Database(t))
	for _, sql := range []string{
		`INSERT INTO reprise.published (tenant, run, at, key) SELECT 'acme', n, now(), 'k' FROM generate_series(1, 1000) n`,
		`DELETE FROM reprise.published WHERE run > 7`,
		`ANALYZE reprise.published`, // has the statistics written
	} {
		_, err := f.conn.Exec(t.Context(), sql)
		f.must(err)
	}
	f.waitFor("the statistics", func() bool {
		var dead int
		f.queryRow(`SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'reprise' AND relname = 'published'`, &dead)
		return dead >= 993
	})
	f.look()
	if got := log.with(t, mostlyDead); len(got) != 0 {
		t.Fatalf("got %v at the first look, want none: a vacuum may be on its way", got)
	}
	f.look()
	f.look()
	got := log.with(t, mostlyDead)
	if len(got) != 1 || got[0]["table"] != "reprise.published" || got[0]["dead"].(float64) < 900 || got[0]["live"].(float64) > 100 {
		t.Fatalf("got %v, want one warning of some 993 dead rows, and few live ones", got) // the server's counts are not exact
	}
	if _, err := f.conn.Exec(t.Context(), `VACUUM reprise.published`); err != nil {
		t.Fatal(err)
	}
	f.s.snapshots.warned = nil
	f.look()
	f.look()
	if n := len(log.with(t, mostlyDead)); n != 1 {
		t.Errorf("got %d warnings when they are gone, want no more", n)
	}
}

// TestPreparedTransactionIsTold: one that was prepared holds on without a session.
func TestPreparedTransactionIsTold(t *testing.T) {
	f, log := watched(t, pgtest.Start(t, pgtest.Options{Settings: []string{"max_prepared_transactions = 2"}}).Database(t))
	for _, sql := range []string{`BEGIN`, `CREATE TABLE reprise.something (x int)`, `PREPARE TRANSACTION 'forgotten'`} {
		_, err := f.conn.Exec(t.Context(), sql)
		f.must(err)
	}
	f.look()
	got := log.with(t, longOpen)
	if len(got) != 1 || got[0]["application_name"] != "forgotten" || got[0]["state"] != "prepared" || !strings.Contains(got[0]["fix"].(string), "ROLLBACK PREPARED") {
		t.Errorf("got %v, want one warning of the prepared transaction", got)
	}
	_, err := f.conn.Exec(t.Context(), `ROLLBACK PREPARED 'forgotten'`)
	f.must(err)
}
