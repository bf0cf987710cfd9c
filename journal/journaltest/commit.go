package journaltest

import (
	"math"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

func testAppend(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"stores every field", func(f *fixture) {
			l := f.owned()
			es := entries(0, 3)
			es[0] = journal.Entry{Seq: 0, Kind: journal.KindStarted, Op: journal.NoOp, At: epoch}
			es[1].Trail, es[1].Issued, es[1].Op = math.MaxUint64, math.MaxInt32, math.MaxInt32
			es[2].Status = abi.TimedOut
			if s := f.commit(l, journal.Batch{Entries: es}); s != journal.Running {
				f.Fatalf("state: got %s, want running", s)
			}
			for i := range es {
				es[i].Token = l.Token
			}
			f.diff("entries", f.entries(l.Run), es)
			if got := f.run(l.Run).NextSeq; got != 3 {
				f.Fatalf("next seq: got %d, want 3", got)
			}
		}},
		{"stores every kind and status", func(f *fixture) {
			l := f.owned()
			kinds := []journal.Kind{journal.KindStarted, journal.KindEffect, journal.KindActivity, journal.KindTimer, journal.KindSignal,
				journal.KindCancel, journal.KindSleep, journal.KindLook, journal.KindCompleted, journal.KindFailed, journal.KindCancelled}
			es := entries(0, len(kinds))
			for i := range es {
				es[i].Kind, es[i].Status = kinds[i], abi.Status(i%5)
			}
			f.commit(l, journal.Batch{Entries: es})
			for i, got := range f.entries(l.Run) {
				if !got.Same(es[i]) {
					f.Fatalf("entry %d: got %+v, want %+v", i, got, es[i])
				}
			}
		}},
		{"keeps microseconds", func(f *fixture) {
			l := f.owned()
			e := entry(0)
			e.At = epoch.Add(789 * time.Nanosecond)
			f.commit(l, journal.Batch{Entries: []journal.Entry{e}})
			if got := f.entries(l.Run)[0].At; !got.Equal(epoch) || got.Location() != time.UTC {
				f.Fatalf("at: got %s, want %s in UTC", got, epoch)
			}
			f.commit(l, journal.Batch{Entries: []journal.Entry{e}}) // a repeat is told by what is stored
		}},
		{"entries must be dense", func(f *fixture) {
			l := f.owned()
			f.refuse("not from 0", l, journal.Batch{Entries: entries(1, 1)}, journal.ErrConflict)
			f.commit(l, journal.Batch{Entries: entries(0, 2)})
			f.refuse("gap before", l, journal.Batch{Entries: entries(3, 2)}, journal.ErrConflict)
			f.refuse("gap inside", l, journal.Batch{Entries: []journal.Entry{entry(2), entry(4)}}, journal.ErrConflict)
			f.refuse("twice inside", l, journal.Batch{Entries: []journal.Entry{entry(2), entry(2)}}, journal.ErrConflict)
			f.refuse("backwards", l, journal.Batch{Entries: []journal.Entry{entry(3), entry(2)}}, journal.ErrConflict)
			f.refuse("half there", l, journal.Batch{Entries: entries(1, 2)}, journal.ErrConflict)
			f.commit(l, journal.Batch{Entries: entries(2, 3)})
		}},
		{"a large batch", func(f *fixture) {
			l := f.owned()
			const n = 2500
			f.commit(l, journal.Batch{Entries: entries(0, n)})
			if got := f.run(l.Run).NextSeq; got != n {
				f.Fatalf("next seq: got %d, want %d", got, n)
			}
			tail, err := f.Store.Entries(f.Context(), acme, l.Run, n-2, 10)
			f.must(err)
			if len(tail) != 2 || !tail[1].Same(entry(n-1)) {
				f.Fatalf("tail: got %v, want the last two", tail)
			}
		}},
		{"an empty batch asks whether the lease holds", func(f *fixture) {
			l := f.owned()
			before := f.run(l.Run)
			if s := f.commit(l, journal.Batch{}); s != journal.Running {
				f.Fatalf("state: got %s, want running", s)
			}
			after := f.run(l.Run)
			after.UpdatedAt = before.UpdatedAt
			f.diff("run", after, before)
			f.Advance(ttl + time.Second)
			f.refuse("expired", l, journal.Batch{}, journal.ErrFenced)
		}},
	})
}

func testFence(t *testing.T, open Open) {
	batches := func(next int64) map[string]journal.Batch {
		return map[string]journal.Batch{
			"entries":    {Entries: entries(next, 1)},
			"stash":      {Stash: []journal.Arrival{done(9, "x")}},
			"observed":   {Observed: []string{"signal:s1"}},
			"published":  {Published: []journal.Published{{Key: "k", Value: []byte("v")}}},
			"transition": {Next: &journal.Transition{State: journal.Waiting}},
		}
	}
	refuseAll := func(f *fixture, l journal.Lease, next int64) {
		f.Helper()
		for name, b := range batches(next) {
			f.refuse(name, l, b, journal.ErrFenced)
		}
	}
	begin := func(f *fixture) journal.Lease {
		f.Helper()
		l := f.owned()
		f.signal(l.Run, "s1")
		f.commit(l, journal.Batch{Entries: entries(0, 1)})
		return l
	}
	cases(t, open, []testCase{
		{"by token", func(f *fixture) {
			l := begin(f)
			for _, token := range []int64{0, l.Token - 1, l.Token + 1, -1} {
				l := l
				l.Token = token
				refuseAll(f, l, 1)
			}
		}},
		{"by owner", func(f *fixture) {
			l := begin(f)
			for _, n := range []string{f.register("n2"), "", "n1", "nobody#0"} {
				l := l
				l.Node = n
				refuseAll(f, l, 1)
			}
		}},
		{"by expiry, though nobody took over", func(f *fixture) {
			l := begin(f)
			f.Advance(ttl + time.Second)
			refuseAll(f, l, 1)
			f.refuse("a repeat", l, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
		}},
		{"by a newer boot of the node", func(f *fixture) {
			l := begin(f)
			f.register("n1")
			refuseAll(f, l, 1)
		}},
		{"by a take-over", func(f *fixture) {
			l := begin(f)
			f.Advance(ttl + time.Second)
			f.claim(f.register("n2"))
			refuseAll(f, l, 1)
			f.refuse("a repeat", l, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
		}},
		{"by a take-over that has ended", func(f *fixture) {
			l := begin(f)
			f.Advance(ttl + time.Second)
			c := f.claim(f.register("n2"))
			f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Waiting, SeenPos: 1}})
			refuseAll(f, l, 1)
		}},
		{"by state", func(f *fixture) {
			for _, s := range journal.States {
				if s == journal.Running {
					continue
				}
				l, run := f.in(s)
				b := batches(1)
				b["transition"] = journal.Batch{Next: &journal.Transition{State: journal.Failed, Failure: []byte(`{"code":"x"}`)}}
				if s == journal.Failed {
					b["transition"] = journal.Batch{Next: &journal.Transition{State: journal.Completed}}
				}
				for name, b := range b {
					f.refuse(string(s)+": "+name, l, b, journal.ErrFenced)
				}
				if !s.Terminal() {
					f.end(run)
				}
			}
		}},
		{"by a run that is not there", func(f *fixture) {
			l := begin(f)
			unknown := l
			unknown.Run = journal.NewRunID()
			_, err := f.Store.Commit(f.Context(), unknown, journal.Batch{Entries: entries(0, 1)})
			f.want("unknown run", err, journal.ErrFenced)
			theirs := l
			theirs.Tenant = other
			_, err = f.Store.Commit(f.Context(), theirs, journal.Batch{Entries: entries(1, 1)})
			f.want("another tenant's run", err, journal.ErrFenced)
			f.commit(l, journal.Batch{Entries: entries(1, 1)})
		}},
	})
}
