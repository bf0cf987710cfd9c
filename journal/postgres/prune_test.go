package postgres

import (
	"bytes"
	"testing"
	"time"

	"reprise/journal"
)

// TestAPayloadThatIsBeingNamedIsNotSwept: a commit that found a payload has it locked until what names it is there.
func TestAPayloadThatIsBeingNamedIsNotSwept(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	p := bytes.Repeat([]byte("payload "), 100_000)
	b := largeBatch(p)
	b.Next = &journal.Transition{State: journal.Completed}
	_, err := f.s.Commit(t.Context(), l, b)
	f.must(err)
	f.must(f.s.DeleteRun(t.Context(), acme, l.Run))
	f.b.advance(t, time.Hour)

	tx, err := f.conn.Begin(t.Context())
	f.must(err)
	writer := lock{f, tx}
	writer.exec(`SELECT FROM reprise.payloads FOR KEY SHARE`)
	for range 2 { // the rows, and then what they named
		got, err := f.s.Prune(t.Context(), journal.Retention{}, 0)
		f.must(err)
		if got.Payloads != 0 {
			t.Fatalf("while it is locked: got %d payloads removed, want 0", got.Payloads)
		}
	}
	writer.rollback()
	got, err := f.s.Prune(t.Context(), journal.Retention{}, 0)
	f.must(err)
	if got.Payloads != 1 || got.Bytes == 0 {
		t.Errorf("when nobody names it: got %+v, want 1 payload removed", got)
	}
	var left int
	f.queryRow(`SELECT (SELECT count(*) FROM reprise.payload_names) + (SELECT count(*) FROM reprise.removed) + (SELECT count(*) FROM reprise.entries)`, &left)
	if left != 0 {
		t.Errorf("rows left: got %d, want 0", left)
	}
}

// TestPruneWaitsForNobody: a run that somebody has locked, and rows that another call removes, are left for the next call.
func TestPruneWaitsForNobody(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(2)
	for _, l := range ls {
		_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}})
		f.must(err)
	}
	locked := f.lockRun(ls[0].Run)
	keep := journal.Retention{Completed: time.Microsecond}
	got, err := f.s.Prune(t.Context(), keep, 10)
	f.must(err)
	if got.Runs != 1 || got.Rows != 1 {
		t.Errorf("while a run is locked: got %+v, want the other one removed", got)
	}
	locked.rollback()
	tx, err := f.conn.Begin(t.Context())
	f.must(err)
	other := lock{f, tx}
	f.must(f.s.DeleteRun(t.Context(), acme, ls[0].Run))
	other.exec(`SELECT FROM reprise.removed FOR UPDATE`)
	if got, err = f.s.Prune(t.Context(), keep, 10); err != nil || got.Rows != 0 {
		t.Errorf("while another call removes the rows: got %+v, %v, want none", got, err)
	}
	other.rollback()
	if got, err = f.s.Prune(t.Context(), keep, 10); err != nil || got.Rows != 1 {
		t.Errorf("after that: got %+v, %v, want 1 row", got, err)
	}
}
