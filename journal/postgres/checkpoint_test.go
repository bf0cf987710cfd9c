package postgres

import (
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
