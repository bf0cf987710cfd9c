package journaltest

import (
	"testing"

	"reprise/journal"
)

// needsReopen ends a test of what outlives a store, when nothing does.
func (f *fixture) needsReopen() {
	if f.Reopen == nil {
		f.Skip("the data ends with the store")
	}
}

func testRestart(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"everything is there again", func(f *fixture) {
			f.needsReopen()
			l := f.owned()
			waiting := f.create(f.newRun())
			f.signal(l.Run, "s1")
			f.commit(l, journal.Batch{Entries: entries(0, 3), Stash: []journal.Arrival{retry(8, 1)}, Published: []journal.Published{{Key: "k", Value: []byte("v")}}})
			f.setAlias("order", f.digest, 1, true)
			before, untouched, module := f.snapshot(acme, l.Run), f.run(waiting.ID), f.module(acme, f.digest)
			f.Store = f.Reopen()
			f.diff("owned run", f.snapshot(acme, l.Run), before)
			f.diff("other run", f.run(waiting.ID), untouched)
			f.diff("module", f.module(acme, f.digest), module)
			f.setAlias("order", f.digest, 1, false)
		}},
		{"the next boot takes back its runs at once", func(f *fixture) {
			f.needsReopen()
			old := f.owned()
			f.commit(old, journal.Batch{Entries: entries(0, 1)})
			f.Store = f.Reopen()
			c := f.claim(f.register("n1"))
			if c.Lease.Run != old.Run || c.Lease.Token != old.Token+1 || c.StolenFrom != old.Node || c.Run.NextSeq != 1 {
				f.Fatalf("got %+v from %q at seq %d, want run %s from %q at 1", c.Lease, c.StolenFrom, c.Run.NextSeq, old.Run, old.Node)
			}
			f.refuse("the earlier boot", old, journal.Batch{Entries: entries(1, 1)}, journal.ErrFenced)
		}},
		{"an end is told again after a restart", func(f *fixture) {
			f.needsReopen()
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}}
			f.commit(l, b)
			f.Store = f.Reopen()
			f.repeats(l, b, journal.Completed)
		}},
		{"a closed store answers with an error", func(f *fixture) {
			run := f.create(f.newRun()).ID
			node := f.register("n1")
			f.must(f.Store.Close())
			if _, err := f.Store.Run(f.Context(), acme, run); err == nil {
				f.Fatal("read: got no error, want one")
			}
			if _, _, err := f.Store.Create(f.Context(), f.newRun()); err == nil {
				f.Fatal("create: got no error, want one")
			}
			if _, err := f.Store.Claim(f.Context(), node, journal.Want{Limit: 1}); err == nil {
				f.Fatal("claim: got no error, want one")
			}
		}},
	})
}
