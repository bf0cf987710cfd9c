package journaltest

import (
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// testStash checks arrivals of the owner's own. Decided here: a stash that changes an arrival gives it
// a new position, one that does not leaves it where it is, and no stash wakes anybody, for its owner
// knows of it.
func testStash(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"is stored whole", func(f *fixture) {
			l := f.owned()
			before := f.now()
			r := retry(8, 3)
			r.RetryAt = r.RetryAt.Add(789 * time.Nanosecond)
			d := done(9, "\x00outcome")
			d.Status = abi.TimedOut
			f.commit(l, journal.Batch{Stash: []journal.Arrival{r, d}})
			got := f.arrivals(l.Run)
			if len(got) != 2 || got[0].Pos >= got[1].Pos || got[0].Pos < 1 {
				f.Fatalf("arrivals: got %+v, want two in order", got)
			}
			for i, want := range []journal.Arrival{r, d} {
				if got[i].At.Before(before) || got[i].At.After(f.now()) {
					f.Fatalf("at: got %s, want the database's clock", got[i].At)
				}
				want.Pos, want.At, want.RetryAt = got[i].Pos, got[i].At, want.RetryAt.Truncate(time.Microsecond)
				f.diff("arrival", got[i], want)
			}
			if got[1].Pos != f.run(l.Run).InboxPos {
				f.Fatalf("position: got %d, want the run's, %d", got[1].Pos, f.run(l.Run).InboxPos)
			}
		}},
		{"is replaced by id and moves to the end", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Stash: []journal.Arrival{retry(8, 1), done(9, "x")}})
			last := f.arrivals(l.Run)[1].Pos
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(8, "at last")}})
			got := f.arrivals(l.Run)
			f.diff("ids", ids(got), []string{"op:9", "op:8"})
			want := done(8, "at last")
			want.Pos, want.At = got[1].Pos, got[1].At
			f.diff("replaced", got[1], want)
			if got[1].Pos <= last {
				f.Fatalf("position: got %d, want more than %d", got[1].Pos, last)
			}
		}},
		{"unchanged stays where it is", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Stash: []journal.Arrival{retry(8, 1), done(9, "x")}}
			f.commit(l, b)
			before := f.arrivals(l.Run)
			f.commit(l, journal.Batch{Stash: b.Stash[:1]})
			f.diff("arrivals", f.arrivals(l.Run), before)
		}},
		{"the last of one batch wins", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Stash: []journal.Arrival{retry(8, 1), done(8, "x")}})
			got := f.arrivals(l.Run)
			if len(got) != 1 || got[0].Kind != journal.ArrivalDone {
				f.Fatalf("arrivals: got %+v, want one of kind done", got)
			}
		}},
		{"does not wake its own run", func(f *fixture) {
			l := f.owned()
			s := f.commit(l, journal.Batch{Stash: []journal.Arrival{done(9, "x")}, Next: &journal.Transition{State: journal.Waiting}})
			if s != journal.Waiting {
				f.Fatalf("stash and suspend: got %s, want waiting", s)
			}
			f.signal(l.Run, "s1")
			l = f.claim(l.Node).Lease
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(9, "y"), retry(8, 1)}})
			pos := f.arrivals(l.Run)[0].Pos // the signal's
			if s := f.suspend(l, pos); s != journal.Waiting {
				f.Fatalf("suspend having seen the signal: got %s, want waiting", s)
			}
		}},
		{"does not hide a signal", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(9, "x")}})
			seen := f.run(l.Run).InboxPos
			f.signal(l.Run, "s1")
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(8, "y")}})
			if s := f.suspend(l, seen); s != journal.Ready {
				f.Fatalf("suspend without having seen the signal: got %s, want ready", s)
			}
		}},
		{"an observed one does not come back", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Stash: []journal.Arrival{retry(8, 1), done(9, "x")}})
			f.commit(l, journal.Batch{Entries: entries(0, 1), Observed: []string{"op:8"}})
			pos := f.run(l.Run).InboxPos
			f.commit(l, journal.Batch{Stash: []journal.Arrival{retry(8, 2)}})
			f.diff("open arrivals", ids(f.arrivals(l.Run)), []string{"op:9"})
			if got := f.run(l.Run).InboxPos; got != pos {
				f.Fatalf("inbox position: got %d, want %d as before", got, pos)
			}
		}},
		{"stashed and observed in one batch", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Stash: []journal.Arrival{done(9, "x")}, Observed: []string{"op:9"}})
			f.diff("open arrivals", ids(f.arrivals(l.Run)), []string{})
		}},
	})
}

func testObserve(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"leaves the open part and keeps its id", func(f *fixture) {
			l := f.owned()
			for _, id := range []string{"s1", "s2", "s3"} {
				f.signal(l.Run, id)
			}
			f.commit(l, journal.Batch{Entries: entries(0, 1), Observed: []string{"signal:s2"}})
			got := f.arrivals(l.Run)
			f.diff("open arrivals", ids(got), []string{"signal:s1", "signal:s3"})
			if got[0].Pos != 1 || got[1].Pos != 3 || f.run(l.Run).InboxPos != 3 {
				f.Fatalf("positions: got %d and %d of %d, want 1 and 3 of 3", got[0].Pos, got[1].Pos, f.run(l.Run).InboxPos)
			}
			dup, err := f.Store.Signal(f.Context(), acme, l.Run, "s2", "paid", []byte("payload of s2"))
			f.must(err)
			if !dup {
				f.Fatal("sent again: got new, want duplicate")
			}
			_, err = f.Store.Signal(f.Context(), acme, l.Run, "s2", "paid", []byte("other"))
			f.want("sent again with other content", err, journal.ErrConflict)
			f.diff("open arrivals", ids(f.arrivals(l.Run)), []string{"signal:s1", "signal:s3"})
		}},
		{"many at once, some unknown, some twice", func(f *fixture) {
			l := f.owned()
			for _, id := range []string{"s1", "s2", "s3"} {
				f.signal(l.Run, id)
			}
			f.commit(l, journal.Batch{Entries: entries(0, 3), Observed: []string{"signal:s3", "op:77", "signal:s1", "signal:s3"}})
			f.diff("open arrivals", ids(f.arrivals(l.Run)), []string{"signal:s2"})
			f.commit(l, journal.Batch{Entries: entries(3, 1), Observed: []string{"signal:s3"}})
			f.diff("open arrivals", ids(f.arrivals(l.Run)), []string{"signal:s2"})
		}},
		{"only of its own run", func(f *fixture) {
			l := f.owned()
			r := f.create(f.newRun())
			f.signal(l.Run, "s1")
			f.signal(r.ID, "s1")
			f.commit(l, journal.Batch{Entries: entries(0, 1), Observed: []string{"signal:s1"}})
			f.diff("the other run's", ids(f.arrivals(r.ID)), []string{"signal:s1"})
		}},
		{"arrivals after a position", func(f *fixture) {
			r := f.create(f.newRun())
			for _, id := range []string{"s1", "s2", "s3"} {
				f.signal(r.ID, id)
			}
			for after, want := range [][]string{{"signal:s1", "signal:s2", "signal:s3"}, {"signal:s2", "signal:s3"}, {"signal:s3"}, {}, {}} {
				got, err := f.Store.Arrivals(f.Context(), acme, r.ID, int64(after))
				f.must(err)
				f.diff("ids", ids(got), want)
			}
		}},
	})
}

func testPublished(t *testing.T, open Open) {
	publish := func(f *fixture, l journal.Lease, kv ...string) {
		f.Helper()
		var b journal.Batch
		for i := 0; i < len(kv); i += 2 {
			b.Published = append(b.Published, journal.Published{Key: kv[i], Value: []byte(kv[i+1])})
		}
		f.commit(l, b)
	}
	check := func(f *fixture, l journal.Lease, want ...string) {
		f.Helper()
		ps, err := f.Store.Published(f.Context(), acme, l.Run)
		f.must(err)
		var got []string
		for _, p := range ps {
			got = append(got, p.Key, string(p.Value))
		}
		f.diff("published", got, want)
	}
	cases(t, open, []testCase{
		{"the last value of a key wins", func(f *fixture) {
			l := f.owned()
			check(f, l)
			publish(f, l, "a", "1", "b", "1")
			publish(f, l, "a", "2")
			publish(f, l, "b", "2", "b", "3", "c", "")
			check(f, l, "a", "2", "b", "3", "c", "")
		}},
		{"keys are ordered by their bytes", func(f *fixture) {
			l := f.owned()
			publish(f, l, "é", "1", "b", "2", "B", "3", "_", "4", "日本", "5", "a b", "6", "ab", "7")
			check(f, l, "B", "3", "_", "4", "a b", "6", "ab", "7", "b", "2", "é", "1", "日本", "5")
		}},
		{"carries the database's time", func(f *fixture) {
			l := f.owned()
			before := f.now()
			publish(f, l, "a", "1")
			f.Advance(time.Minute)
			publish(f, l, "b", "1")
			ps, err := f.Store.Published(f.Context(), acme, l.Run)
			f.must(err)
			if ps[0].At.Before(before) || ps[1].At.Sub(ps[0].At) < time.Minute {
				f.Fatalf("at: got %s and %s, want a minute apart and after %s", ps[0].At, ps[1].At, before)
			}
		}},
		{"stays after the end", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Published: []journal.Published{{Key: "a", Value: []byte("1")}}, Next: &journal.Transition{State: journal.Completed}})
			check(f, l, "a", "1")
		}},
		{"unknown run", func(f *fixture) {
			_, err := f.Store.Published(f.Context(), acme, journal.NewRunID())
			f.want("published", err, journal.ErrNotFound)
		}},
	})
}
