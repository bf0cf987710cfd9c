package journaltest

import (
	"testing"

	"reprise/journal"
)

func checkpoint(seq int64, fill byte, size int) *journal.Checkpoint {
	packed := make([]byte, size)
	for i := range packed {
		packed[i] = fill + byte(i%7)
	}
	return &journal.Checkpoint{Seq: seq, Key: "key of " + string(rune('a'+fill%26)), Packed: packed}
}

// checkpointIs checks what is there of a run's checkpoint, and what its row says.
func (f *fixture) checkpointIs(what string, run journal.RunID, want *journal.Checkpoint) {
	f.Helper()
	got, err := f.Store.Checkpoint(f.Context(), acme, run)
	if want == nil {
		f.want(what, err, journal.ErrNotFound)
		want = &journal.Checkpoint{}
	}
	f.diff(what, got, *want)
	if seq := f.run(run).CheckpointSeq; seq != want.Seq {
		f.Fatalf("%s: the run's row says seq %d, want %d", what, seq, want.Seq)
	}
}

func testCheckpoint(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"is kept, replaced, and kept by what has none", checkpointKept},
		{"comes with a claim", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 3), Checkpoint: checkpoint(3, 1, 10), Next: &journal.Transition{State: journal.Ready}})
			if c := f.claim(f.register("n2")); c.Run.CheckpointSeq != 3 {
				f.Fatalf("claim: got checkpoint seq %d, want 3", c.Run.CheckpointSeq)
			}
		}},
		{"goes when the run ends", func(f *fixture) {
			for _, s := range []journal.State{journal.Completed, journal.Failed, journal.Cancelled} {
				for _, last := range []*journal.Checkpoint{nil, checkpoint(2, 2, 10)} {
					l := f.owned()
					f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, 10)})
					f.commit(l, journal.Batch{Entries: entries(1, 1), Checkpoint: last, Next: &journal.Transition{State: s}})
					f.checkpointIs(string(s), l.Run, nil)
				}
			}
		}},
		{"a run that is cancelled while it is held back", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, 10), Next: &journal.Transition{State: journal.Blocked, Reason: "code: text"}})
			f.checkpointIs("blocked", l.Run, checkpoint(1, 1, 10))
			_, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "stop")
			f.must(err)
			f.state(l.Run, journal.Cancelled)
			f.checkpointIs("cancelled", l.Run, nil)
		}},
		{"is nothing that a fenced owner can write", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, 10)})
			f.Advance(2 * ttl)
			f.claim(f.register("n2"))
			_, err := f.Store.Commit(f.Context(), l, journal.Batch{Entries: entries(1, 1), Checkpoint: checkpoint(2, 2, 10)})
			f.want("commit", err, journal.ErrFenced)
			f.checkpointIs("after it", l.Run, checkpoint(1, 1, 10))
		}},
		{"a repeat is taken for one", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 2), Checkpoint: checkpoint(2, 1, 10), Next: &journal.Transition{State: journal.Waiting}}
			for range 2 {
				if s := f.commit(l, b); s != journal.Waiting {
					f.Fatalf("got state %s, want waiting", s)
				}
				f.checkpointIs("kept", l.Run, b.Checkpoint)
			}
		}},
		{"has a bound", func(f *fixture) {
			l := f.owned()
			f.refuse("too large", l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, journal.MaxCheckpoint+1)}, journal.ErrQuota)
			f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, journal.MaxCheckpoint)})
			f.checkpointIs("the largest", l.Run, checkpoint(1, 1, journal.MaxCheckpoint))
		}},
		{"is its tenant's", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, 10)})
			_, err := f.Store.Checkpoint(f.Context(), other, l.Run)
			f.want("another tenant", err, journal.ErrNotFound)
			_, err = f.Store.Checkpoint(f.Context(), acme, journal.NewRunID())
			f.want("no run", err, journal.ErrNotFound)
		}},
		{"goes with a run that is removed", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Checkpoint: checkpoint(1, 1, 10)})
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
			f.must(f.Store.DeleteRun(f.Context(), acme, l.Run))
			_, err := f.Store.Checkpoint(f.Context(), acme, l.Run)
			f.want("removed", err, journal.ErrNotFound)
			_, err = f.Store.Prune(f.Context(), journal.Retention{}, 10)
			f.must(err)
		}},
	})
}

func checkpointKept(f *fixture) {
	l := f.owned()
	f.checkpointIs("before any", l.Run, nil)
	one, two := checkpoint(2, 1, 1000), checkpoint(5, 2, 100_000)
	f.commit(l, journal.Batch{Entries: entries(0, 2), Checkpoint: one})
	f.checkpointIs("first", l.Run, one)
	f.commit(l, journal.Batch{Entries: entries(2, 2), Stash: []journal.Arrival{done(7, "x")}, Published: []journal.Published{{Key: "k", Value: []byte("v")}}})
	f.checkpointIs("kept", l.Run, one)
	f.commit(l, journal.Batch{Entries: entries(4, 1), Stash: []journal.Arrival{done(8, string(largePayload))}, Checkpoint: two, Next: &journal.Transition{State: journal.Waiting}})
	f.checkpointIs("replaced, beside a large payload", l.Run, two)
	f.signal(l.Run, "s1")
	l = f.claim(f.register("n2")).Lease
	f.commit(l, journal.Batch{Observed: []string{"signal:s1"}, Next: &journal.Transition{State: journal.Waiting, SeenPos: 3}})
	f.checkpointIs("kept by a turn without one", l.Run, two)
}
