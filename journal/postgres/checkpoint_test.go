package postgres

import (
	"encoding/json"
	"testing"

	"reprise/journal"
)

// forgotten waits until a run that has ended has no checkpoint left in its table: that is not in the commit.
func (f *fixture) forgotten(l journal.Lease) {
	f.Helper()
	f.waitFor("the checkpoint to go", func() bool {
		var n int
		f.must(f.conn.QueryRow(f.Context(), `SELECT count(*) FROM reprise.checkpoints c JOIN reprise.runs r ON r.no = c.run WHERE r.id = $1`, uuidOf(l.Run)).Scan(&n))
		return n == 0
	})
}

func TestCheckpointsOfEndedRunsAreRemoved(t *testing.T) {
	f := newFixture(t)
	held := f.owned()
	_, err := f.s.Commit(t.Context(), held, journal.Batch{Entries: entries(0, 1), Checkpoint: &journal.Checkpoint{Seq: 1, Key: "k", Packed: []byte("x")},
		Next: &journal.Transition{State: journal.Blocked}})
	f.must(err)
	_, err = f.s.RequestCancel(t.Context(), acme, held.Run, "stop")
	f.must(err)
	f.forgotten(held)
	for _, l := range f.ownedMany(3) {
		_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(0, 1), Checkpoint: &journal.Checkpoint{Seq: 1, Key: "k", Packed: []byte("x")}})
		f.must(err)
		_, err = f.s.Commit(t.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Failed}})
		f.must(err)
		f.forgotten(l)
	}
}

// TestEntriesBehindACheckpoint: what is read of a long journal is what is asked for, whatever lies before it.
func TestEntriesBehindACheckpoint(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	const long, behind = 3000, 7
	for at := int64(0); at < long; at += 500 {
		_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(at, 500)})
		f.must(err)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		_, err := f.conn.Exec(t.Context(), "SET plan_cache_mode = "+mode)
		f.must(err)
		var text []byte
		f.must(f.conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+entriesSQL, string(acme), uuidOf(l.Run), int64(long-behind), maxEntries, maxEntriesSize).Scan(&text))
		var plans []struct{ Plan planNode }
		f.must(json.Unmarshal(text, &plans))
		read := 0.0
		plans[0].Plan.walk(func(n planNode) {
			if n.Relation == "entries" {
				read += (n.Rows + n.Removed) * n.Loops
			}
		})
		if read != behind {
			t.Errorf("%s: got %v rows read, want %d:\n%s", mode, read, behind, text)
		}
	}
}
