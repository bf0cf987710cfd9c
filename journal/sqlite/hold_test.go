package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"reprise/journal"
)

// TestBackupOfAnOpenJournal: what VACUUM INTO copies while the journal is open is a journal, from which nothing goes on once it is held.
func TestBackupOfAnOpenJournal(t *testing.T) {
	dir := t.TempDir()
	s, leases := started(t, Config{Path: filepath.Join(dir, "journal.db")}, 3)
	ctx := t.Context()
	commit := func(l journal.Lease, b journal.Batch) {
		t.Helper()
		if _, err := s.Commit(ctx, l, b); err != nil {
			t.Fatal(err)
		}
	}
	commit(leases[0], journal.Batch{Entries: []journal.Entry{{Kind: journal.KindStarted}}})
	commit(leases[1], journal.Batch{Next: &journal.Transition{State: journal.Waiting}})
	beside, err := sql.Open("sqlite", filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	backup := filepath.Join(dir, "backup.db")
	if _, err := beside.ExecContext(ctx, `VACUUM INTO ?`, backup); err != nil {
		t.Fatal(err)
	}
	commit(leases[0], journal.Batch{Entries: []journal.Entry{{Seq: 1, Kind: journal.KindEffect}}, Next: &journal.Transition{State: journal.Completed}})

	restored := open(t, Config{Path: backup})
	if h, err := restored.Hold(ctx, "restored: text", 10); err != nil || h.Runs != 3 {
		t.Fatalf("got %+v, %v, want the 3 runs", h, err)
	}
	n, err := restored.Register(ctx, "n1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if cs, err := restored.Claim(ctx, n.ID, journal.Want{Limit: 10}); err != nil || len(cs.Claims) != 0 {
		t.Fatalf("got %d runs, %v, want none", len(cs.Claims), err)
	}
	if r, err := restored.Run(ctx, owner, leases[0].Run); err != nil || r.State != journal.Paused || r.NextSeq != 1 {
		t.Fatalf("got %s with %d entries, %v; want it paused with the one of the backup", r.State, r.NextSeq, err)
	}
	if r, err := s.Run(ctx, owner, leases[0].Run); err != nil || r.State != journal.Completed {
		t.Fatalf("the original: got %s, %v, want completed", r.State, err)
	}
}
