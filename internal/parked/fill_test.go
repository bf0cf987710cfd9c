package parked

import (
	"fmt"
	"strings"
	"testing"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/tenant"
)

// filled are the tables of Postgres that have rows of a run, beside runs itself.
var filled = []string{"entries", "inbox", "published", "checkpoints"}

// fillSQL copies a run that waits, with all its rows, so many times, in one statement. The copies have ids and times of their own.
func fillSQL(ask func(string) string, like journal.RunID, n int) string {
	columns := func(table, without string) string {
		return ask(fmt.Sprintf(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
			WHERE table_schema = 'reprise' AND table_name = '%s' AND column_name NOT IN (%s)`, table, without))
	}
	run := columns("runs", `'no', 'id', 'created_at', 'updated_at'`)
	var s strings.Builder
	// An id is what the host makes, the milliseconds in front.
	fmt.Fprintf(&s, `WITH that AS MATERIALIZED (SELECT * FROM reprise.runs WHERE id = '%x'),
		made AS (INSERT INTO reprise.runs (%s, id, created_at, updated_at) SELECT %s,
			(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid,
			clock_timestamp(), clock_timestamp() FROM that, generate_series(1, %d) RETURNING no)`, like[:], run, run, n)
	for _, table := range filled {
		rest := columns(table, `'run'`)
		of := "t." + strings.ReplaceAll(rest, ", ", ", t.")
		fmt.Fprintf(&s, `, %s_made AS (INSERT INTO reprise.%s (run, %s) SELECT made.no, %s FROM made, that JOIN reprise.%s t ON t.tenant = that.tenant AND t.run = that.no)`,
			table, table, rest, of, table)
	}
	return s.String() + ` SELECT count(*) FROM made`
}

// rowsSQL is all that a database has of a run, column by column, without what differs between any two runs: ids, times,
// and what names one call.
func rowsSQL(run string) string {
	var s strings.Builder
	fmt.Fprintf(&s, `SELECT jsonb_build_object('runs', (SELECT to_jsonb(r) - 'no' - 'id' - 'created_at' - 'updated_at' - 'wake_at' - 'claim' - 'release' FROM reprise.runs r WHERE id = '%s')`, run)
	for _, table := range filled {
		// What is packed in a checkpoint has the run's id, and its length with it.
		fmt.Fprintf(&s, `, '%s', (SELECT jsonb_agg(to_jsonb(t) - 'run' - 'at' - 'packed' ORDER BY to_jsonb(t)::text) FROM reprise.%s t JOIN reprise.runs r ON r.tenant = t.tenant AND r.no = t.run WHERE r.id = '%s')`,
			table, table, run)
	}
	return s.String() + `)`
}

// TestFilledRunsAreLikeRealOnes holds copies against a run that went the same way through a host, column by column, and wakes one.
func TestFilledRunsAreLikeRealOnes(t *testing.T) {
	for name, every := range map[string]int64{"with checkpoints": 1, "without": -1} {
		t.Run(name, func(t *testing.T) {
			dsn := pgtest.Database(t)
			b := &suspended{TB: t, dsn: dsn, guest: goSignals, every: every}
			b.open()
			defer b.close()
			ids := b.suspend(2)
			if got := b.ask(fillSQL(b.ask, ids[0], 3)); got != "3" {
				t.Fatalf("got %s copies, want 3", got)
			}
			copied := b.ask(fmt.Sprintf(`SELECT max(id::text) FROM reprise.runs WHERE id NOT IN ('%x', '%x')`, ids[0][:], ids[1][:]))
			real, got := b.ask(rowsSQL(fmt.Sprintf("%x", ids[1][:]))), b.ask(rowsSQL(copied))
			if real != got {
				t.Errorf("a copy is not what a host leaves:\ngot  %s\nwant %s", got, real)
			}
			if strings.Contains(got, `"checkpoints": null`) != (every < 0) || strings.Contains(got, `"entries": null`) {
				t.Errorf("got %s, want entries, and a checkpoint when there are some", got)
			}
			id, err := journal.ParseRunID("run_" + strings.ReplaceAll(copied, "-", ""))
			if err != nil {
				t.Fatal(err)
			}
			b.wake([]journal.RunID{id, ids[0]})
			if r, err := b.store.Run(b.ctx, tenant.Default, id); err != nil || string(r.Output) != `["first","last"]` {
				t.Errorf("got %s %v, want a copy that goes on to its end", r.Output, err)
			}
		})
	}
}
