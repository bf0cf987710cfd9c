package journaltest

import (
	"bytes"
	"testing"
	"time"

	"reprise/journal"
)

// fork makes a copy and must make a new run.
func (f *fixture) fork(r journal.Run, k journal.Fork) journal.Run {
	f.Helper()
	got, created, err := f.Store.Fork(f.Context(), r, k)
	f.must(err)
	if !created || got.ID != r.ID || got.State != journal.Ready || got.NextSeq != k.Entries {
		f.Fatalf("fork: got run %s, created %v, %s with %d entries, want %s created, ready, with %d", got.ID, created, got.State, got.NextSeq, r.ID, k.Entries)
	}
	f.diff("what the fork returned", got, f.run(r.ID))
	return got
}

// copyOf are the entries of a run as a copy has them.
func (f *fixture) copyOf(id journal.RunID, n int64, options []byte) []journal.Entry {
	f.Helper()
	es := f.entries(id)[:n]
	for i := range es {
		es[i].Token = 0
	}
	es[0].Options = options
	return es
}

func testFork(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"copies entries, and goes on by itself", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 5), Stash: []journal.Arrival{done(7, "x")}, Published: []journal.Published{{Key: "k", Value: []byte("v")}}})
			f.signal(l.Run, "s")
			before := f.snapshot(acme, l.Run)
			r := f.newRun()
			f.fork(r, journal.Fork{From: l.Run, Entries: 3, Options: []byte("options")})
			f.diff("entries", f.entries(r.ID), f.copyOf(l.Run, 3, []byte("options")))
			if as := f.arrivals(r.ID); len(as) > 0 {
				f.Fatalf("got arrivals %v, want none", as)
			}
			if ps, err := f.Store.Published(f.Context(), acme, r.ID); err != nil || len(ps) > 0 {
				f.Fatalf("got published %v, %v, want none", ps, err)
			}
			f.checkpointIs("without one", r.ID, nil)
			f.diff("the run that was copied", f.snapshot(acme, l.Run), before)
			c := f.claim(f.register("n2"))
			if c.Run.ID != r.ID || c.Run.NextSeq != 3 || c.Lease.Token != 1 {
				f.Fatalf("got %s at %d under token %d, want the copy at 3 under 1", c.Run.ID, c.Run.NextSeq, c.Lease.Token)
			}
			f.commit(c.Lease, journal.Batch{Entries: entries(3, 1), Next: &journal.Transition{State: journal.Completed}})
			f.commit(l, journal.Batch{Entries: entries(5, 1), Next: &journal.Transition{State: journal.Completed}})
			if a, b := len(f.entries(r.ID)), len(f.entries(l.Run)); a != 4 || b != 6 {
				f.Fatalf("got %d and %d entries, want 4 and 6", a, b)
			}
		}},
		{"has a checkpoint of its own", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 4), Checkpoint: checkpoint(4, 1, 10)})
			r := f.newRun()
			got := f.fork(r, journal.Fork{From: l.Run, Entries: 4, Options: []byte("o"), Checkpoint: checkpoint(2, 2, 20)})
			if got.CheckpointSeq != 2 {
				f.Fatalf("got checkpoint seq %d, want 2", got.CheckpointSeq)
			}
			f.checkpointIs("the copy", r.ID, checkpoint(2, 2, 20))
			f.checkpointIs("the run that was copied", l.Run, checkpoint(4, 1, 10))
		}},
		{"of a run that has ended", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 3), Next: &journal.Transition{State: journal.Failed, Failure: []byte(`{"code":"x"}`)}})
			r := f.newRun()
			f.fork(r, journal.Fork{From: l.Run, Entries: 2})
			f.state(l.Run, journal.Failed)
			again := f.newRun()
			f.fork(again, journal.Fork{From: r.ID, Entries: 1})
			f.diff("entries of a copy's copy", f.entries(again.ID), f.copyOf(l.Run, 1, nil))
		}},
		{"of a child is no child, and as deep", func(f *fixture) {
			parent := f.owned()
			child := f.newRun()
			child.ParentOp = 1
			f.commit(parent, journal.Batch{Entries: entries(0, 1), Children: []journal.Run{child}})
			l := f.claim(f.register("n2")).Lease
			f.commit(l, journal.Batch{Entries: entries(0, 1)})
			r := f.newRun()
			if got := f.fork(r, journal.Fork{From: child.ID, Entries: 1}); got.Parent != (journal.RunID{}) || got.Depth != 1 {
				f.Fatalf("got a child of %s at depth %d, want nobody's at 1", got.Parent, got.Depth)
			}
		}},
		{"is idempotent, and keys are unique", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 2)})
			k := journal.Fork{From: l.Run, Entries: 2}
			r := f.newRun()
			r.IdempotencyKey, r.Key = "once", "key"
			f.fork(r, k)
			repeat := r
			repeat.ID = journal.NewRunID()
			got, created, err := f.Store.Fork(f.Context(), repeat, k)
			if err != nil || created || got.ID != r.ID {
				f.Fatalf("repeat: got %s, created %v, %v, want the first", got.ID, created, err)
			}
			taken := f.newRun()
			taken.Key = "key"
			got, _, err = f.Store.Fork(f.Context(), taken, k)
			f.want("key", err, journal.ErrConflict)
			if got.ID != r.ID {
				f.Fatalf("got %s in the way, want %s", got.ID, r.ID)
			}
		}},
		{"of what is not there", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 2)})
			for _, n := range []int64{-1, 0, 3} {
				_, _, err := f.Store.Fork(f.Context(), f.newRun(), journal.Fork{From: l.Run, Entries: n})
				f.want("entries", err, journal.ErrState)
			}
			_, _, err := f.Store.Fork(f.Context(), f.newRun(), journal.Fork{From: journal.NewRunID(), Entries: 1})
			f.want("run", err, journal.ErrNotFound)
			f.putModule(other, wasm)
			r := f.newRun()
			r.Tenant = other
			_, _, err = f.Store.Fork(f.Context(), r, journal.Fork{From: l.Run, Entries: 1})
			f.want("another tenant's", err, journal.ErrNotFound)
		}},
		{"keeps large payloads when the other run is removed", func(f *fixture) {
			large := bytes.Repeat([]byte("large payload "), 20_000)
			r := f.newRun()
			r.Input = append([]byte("input "), large...)
			f.create(r)
			l := f.claim(f.register("n1")).Lease
			es := entries(0, 2)
			es[0].Request, es[1].Payload = append([]byte("request "), large...), append([]byte("payload "), large...)
			f.commit(l, journal.Batch{Entries: es, Next: &journal.Transition{State: journal.Failed, Failure: []byte(`{"code":"x"}`)}})
			made := f.newRun()
			made.Input = r.Input
			f.fork(made, journal.Fork{From: r.ID, Entries: 2})
			want := f.copyOf(r.ID, 2, nil)
			f.must(f.Store.DeleteRun(f.Context(), acme, r.ID))
			for range 3 {
				f.Advance(48 * time.Hour)
				f.prune(journal.Retention{})
			}
			f.diff("entries", f.entries(made.ID), want)
			f.diff("input", f.run(made.ID).Input, r.Input)
		}},
	})
}
