package fleet

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/tenant"
)

// rowOf is a condition on reprise.runs.
func rowOf(id journal.RunID) string { return fmt.Sprintf(`id = '%s'`, hex.EncodeToString(id[:])) }

// entriesOf is a condition on reprise.entries.
func entriesOf(id journal.RunID) string {
	return `run = (SELECT no FROM reprise.runs WHERE ` + rowOf(id) + `)`
}

// TestTamperedJournal changes a waiting run's rows behind the host's back and then wakes the run. It is blocked, with a
// reason that says where, and nothing is written; another run goes on.
func TestTamperedJournal(t *testing.T) {
	tests := []struct{ name, sql, reason string }{
		{"an entry is missing", `DELETE FROM reprise.entries WHERE seq = 1 AND %[2]s`, "corrupt_history:"},
		{"the last entry is missing", `DELETE FROM reprise.entries WHERE seq = 2 AND %[2]s`, "corrupt_history:"},
		{"every entry is missing", `DELETE FROM reprise.entries WHERE %[2]s`, "corrupt_history:"},
		{"an entry too many", `CREATE TEMP TABLE more AS SELECT * FROM reprise.entries WHERE seq = 2 AND %[2]s;
			UPDATE more SET seq = 3; INSERT INTO reprise.entries SELECT * FROM more`, "corrupt_history:"},
		{"the row says less", `UPDATE reprise.runs SET next_seq = 2 WHERE %[1]s`, "corrupt_history:"},
		{"the row says more", `UPDATE reprise.runs SET next_seq = 9 WHERE %[1]s`, "corrupt_history:"},
		{"another request", `UPDATE reprise.entries SET request_held = 'other' WHERE seq = 1 AND %[2]s`, "nondeterminism: at seq 1"},
		{"another effect", `UPDATE reprise.entries SET name = 'test.b' WHERE seq = 1 AND %[2]s`, "nondeterminism: at seq 1"},
		{"another handle", `UPDATE reprise.entries SET op = 9 WHERE seq = 2 AND %[2]s`, "nondeterminism: at seq 2"},
		{"a second beginning", `UPDATE reprise.entries SET kind = 'started' WHERE seq = 1 AND %[2]s`, "corrupt_history:"},
		{"time goes back", `UPDATE reprise.entries SET at = at - interval '1 hour' WHERE seq = 2 AND %[2]s`, "corrupt_history:"},
	}
	s := onPostgres(t)
	n := s.boot("a", s.open(), nil)
	n.push("divergeA", "steps")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := n.start("divergeA", "")
			n.until(run, journal.Waiting)
			if got := n.row(run).NextSeq; got != 3 {
				t.Fatalf("got %d entries, want 3", got)
			}
			pgtest.Exec(t, s.dsn, fmt.Sprintf(tt.sql, rowOf(run), entriesOf(run)))
			before := n.row(run).NextSeq
			n.signal(run, "go", "now")
			until(t, "the run to go on or be blocked", func() bool {
				st := n.row(run).State
				return st == journal.Blocked || st.Terminal()
			})
			r := n.row(run)
			if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, tt.reason) || r.NextSeq != before {
				t.Errorf("got %s %q with %d entries, want blocked, %s…, and %d as before", r.State, r.Reason, r.NextSeq, tt.reason, before)
			}
			n.ends(n.start("steps", "2"), journal.Completed, "[1][2]")
		})
	}
}

// TestModuleIsGone takes a module's rows, or its bytes, from the database while a run of it waits, and starts a host that
// has not seen it. The run is blocked. When the module was pushed again, it goes on on any host.
func TestModuleIsGone(t *testing.T) {
	for _, tt := range []struct{ name, sql, reason string }{
		{"rows", `DELETE FROM reprise.module_bytes; DELETE FROM reprise.aliases; DELETE FROM reprise.modules`, "module_missing:"},
		{"bytes", `UPDATE reprise.module_bytes SET bytes = 'no module'`, "module_corrupt:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := onPostgres(t)
			first := s.boot("a", s.open(), nil)
			first.push("signal")
			run := first.start("signal", "")
			other := first.start("signal", "")
			first.until(run, journal.Waiting)
			first.until(other, journal.Waiting)
			first.stop()
			pgtest.Exec(t, s.dsn, tt.sql)
			second := s.boot("b", s.open(), nil)
			second.signal(run, "go", "now")
			second.until(run, journal.Blocked)
			if r := second.row(run); !strings.HasPrefix(r.Reason, tt.reason) {
				t.Errorf("got %q, want %s…", r.Reason, tt.reason)
			}
			second.push("signal")
			if _, err := second.Resume(t.Context(), tenant.Default, run); err != nil {
				t.Fatal(err)
			}
			second.ends(run, journal.Completed, "now")
			second.stop()
			third := s.boot("c", s.open(), nil) // has not seen the module
			third.signal(other, "go", "then")
			third.ends(other, journal.Completed, "then")
		})
	}
}
