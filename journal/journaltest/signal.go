package journaltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"reprise/abi"
	"reprise/journal"
)

func testSignal(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"is stored whole and in order", func(f *fixture) {
			r := f.create(f.newRun())
			before := f.now()
			for _, id := range []string{"z", "a", "m"} {
				f.signal(r.ID, id)
			}
			got := f.arrivals(r.ID)
			for i, id := range []string{"z", "a", "m"} {
				if got[i].At.Before(before) || got[i].At.After(f.now()) {
					f.Fatalf("at: got %s, want the database's clock", got[i].At)
				}
				f.diff("arrival", got[i], journal.Arrival{ID: "signal:" + id, Pos: int64(i) + 1, Kind: journal.ArrivalSignal,
					Op: journal.NoOp, Name: "paid", Payload: []byte("payload of " + id), Status: got[i].Status, At: got[i].At})
			}
			if pos := f.run(r.ID).InboxPos; pos != 3 {
				f.Fatalf("inbox position: got %d, want 3", pos)
			}
		}},
		{"is taken once per id", func(f *fixture) {
			r := f.create(f.newRun())
			f.signal(r.ID, "s1")
			before := f.snapshot(acme, r.ID)
			dup, err := f.Store.Signal(f.Context(), acme, r.ID, "s1", "paid", []byte("payload of s1"))
			f.must(err)
			if !dup {
				f.Fatal("duplicate: got false, want true")
			}
			_, err = f.Store.Signal(f.Context(), acme, r.ID, "s1", "paid", []byte("other"))
			f.want("other payload", err, journal.ErrConflict)
			_, err = f.Store.Signal(f.Context(), acme, r.ID, "s1", "refunded", []byte("payload of s1"))
			f.want("other name", err, journal.ErrConflict)
			f.diff("a repeat changed the run", f.snapshot(acme, r.ID), before)
		}},
		{"ids are per run", func(f *fixture) {
			a, b := f.create(f.newRun()), f.create(f.newRun())
			f.signal(a.ID, "s1")
			f.signal(b.ID, "s1")
		}},
		{"an id that looks like another kind's", func(f *fixture) {
			r := f.create(f.newRun())
			for _, id := range []string{"cancel", "op:1", "signal:x", "", " "} {
				f.signal(r.ID, id)
			}
			if got := len(f.arrivals(r.ID)); got != 5 {
				f.Fatalf("arrivals: got %d, want 5", got)
			}
		}},
		{"wakes a waiting run", func(f *fixture) {
			_, run := f.in(journal.Waiting)
			f.signal(run, "s1")
			r := f.state(run, journal.Ready)
			if r.Waiting != "" || !r.WakeAt.IsZero() {
				f.Fatalf("woken run: got waiting %q until %s, want neither", r.Waiting, r.WakeAt)
			}
		}},
		{"a duplicate wakes nobody", func(f *fixture) {
			l := f.owned()
			f.signal(l.Run, "s1")
			f.suspend(l, 1)
			_, err := f.Store.Signal(f.Context(), acme, l.Run, "s1", "paid", []byte("payload of s1"))
			f.must(err)
			f.state(l.Run, journal.Waiting)
		}},
		{"in each state", signalInEachState},
		{"a repeat is told the same after the end", func(f *fixture) {
			l := f.owned()
			f.signal(l.Run, "s1")
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
			dup, err := f.Store.Signal(f.Context(), acme, l.Run, "s1", "paid", []byte("payload of s1"))
			f.must(err)
			if !dup {
				f.Fatal("duplicate: got false, want true")
			}
		}},
		{"unknown run", func(f *fixture) {
			_, err := f.Store.Signal(f.Context(), acme, journal.NewRunID(), "s1", "paid", nil)
			f.want("signal", err, journal.ErrNotFound)
		}},
		{"quota", signalQuota},
		{"quota of bytes", signalQuotaBytes},
		{"quota of bytes for many senders", signalQuotaRace},
	})
}

func signalInEachState(f *fixture) {
	for _, s := range journal.States {
		_, run := f.in(s)
		dup, err := f.Store.Signal(f.Context(), acme, run, "s1", "paid", nil)
		if s.Terminal() {
			f.want(string(s), err, journal.ErrState)
			if got := len(f.arrivals(run)); got != 0 {
				f.Fatalf("%s: got %d arrivals, want none", s, got)
			}
			continue
		}
		f.must(err)
		want := s
		if s == journal.Waiting {
			want = journal.Ready
		}
		if r := f.run(run); dup || r.State != want || r.InboxPos != 1 {
			f.Fatalf("%s: got %s, position %d, duplicate %v, want %s, 1, false", s, r.State, r.InboxPos, dup, want)
		}
		f.end(run)
	}
}

// end cancels a run in any state, so that it is out of the way of the next claim.
func (f *fixture) end(run journal.RunID) {
	f.Helper()
	r, err := f.Store.RequestCancel(f.Context(), acme, run, "the test is done with it")
	f.must(err)
	if r.State == journal.Ready {
		c := f.claim(f.register("undertaker"))
		f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Terminated}})
	} else if r.State == journal.Running {
		f.commit(journal.Lease{Tenant: acme, Run: run, Node: r.Owner, Token: r.Token}, journal.Batch{Next: &journal.Transition{State: journal.Terminated}})
	}
}

func signalQuota(f *fixture) {
	l := f.owned()
	f.commit(l, journal.Batch{Stash: []journal.Arrival{done(1, "not a signal")}})
	_, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "not a signal either")
	f.must(err)
	const senders = 8
	errs := make([]error, senders)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := s; i < journal.MaxQueued && errs[s] == nil; i += senders {
				_, errs[s] = f.Store.Signal(f.Context(), acme, l.Run, fmt.Sprint(i), "paid", nil)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		f.must(err)
	}
	_, err = f.Store.Signal(f.Context(), acme, l.Run, "one more", "paid", nil)
	f.want("signal beyond the limit", err, journal.ErrQuota)
	dup, err := f.Store.Signal(f.Context(), acme, l.Run, "0", "paid", nil)
	if err != nil || !dup {
		f.Fatalf("repeat at the limit: got duplicate %v, %v, want true", dup, err)
	}
	_, err = f.Store.Signal(f.Context(), acme, l.Run, "one more", "paid", nil)
	f.want("signal beyond the limit, again", err, journal.ErrQuota)
	f.commit(l, journal.Batch{Entries: []journal.Entry{{Kind: journal.KindSignal, Name: "paid", Status: abi.OK, At: epoch}}, Observed: []string{"signal:0", "op:1"}})
	f.signal(l.Run, "one more")
	_, err = f.Store.Signal(f.Context(), acme, l.Run, "two more", "paid", nil)
	f.want("signal when the freed place is taken", err, journal.ErrQuota)
}

// signalQuotaBytes fills an inbox to the last byte, and frees and fills it again in each way that a signal leaves it.
func signalQuotaBytes(f *fixture) {
	const each = journal.MaxQueuedBytes / 4
	l := f.owned()
	f.commit(l, journal.Batch{Stash: []journal.Arrival{done(1, strings.Repeat("not a signal", 1000))}})
	send := func(id string, size int) error {
		_, err := f.Store.Signal(f.Context(), acme, l.Run, id, "paid", make([]byte, size))
		return err
	}
	full := func(when string) {
		f.Helper()
		f.want(when+": one byte more", send("more", 1), journal.ErrQuota)
		f.must(send("nothing "+when, 0))
	}
	for _, id := range []string{"a", "b", "c"} {
		f.must(send(id, each))
	}
	f.want("one byte too large", send("d", each+1), journal.ErrQuota)
	f.must(send("d", each))
	full("at the limit")
	if dup, err := f.Store.Signal(f.Context(), acme, l.Run, "a", "paid", make([]byte, each)); err != nil || !dup {
		f.Fatalf("repeat at the limit: got duplicate %v, %v, want true", dup, err)
	}
	seen := func(seq int64, observed ...string) journal.Batch {
		return journal.Batch{Entries: entries(seq, 1), Observed: observed}
	}
	f.commit(l, seen(0, "signal:a", "signal:a", "op:1", "signal:never sent"))
	f.commit(l, seen(0, "signal:a", "signal:a", "op:1", "signal:never sent")) // a repeat
	f.want("more than was freed", send("e", each+1), journal.ErrQuota)
	f.must(send("e", each))
	full("after one was seen")
	f.commit(l, journal.Batch{Observed: []string{"signal:a"}}) // long seen
	full("after it was seen again")
	again := seen(1, "signal:b", "signal:c")
	again.Next = &journal.Transition{State: journal.Ready}
	f.commit(l, again)
	f.commit(l, again) // a repeat
	f.must(send("f", each))
	f.must(send("g", each))
	full("after two were seen at the end of a turn")
}

// signalQuotaRace has twice as many senders as there is room for.
func signalQuotaRace(f *fixture) {
	const each = journal.MaxQueuedBytes / 4
	r := f.create(f.newRun())
	var taken atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			switch _, err := f.Store.Signal(f.Context(), acme, r.ID, fmt.Sprint(i), "paid", make([]byte, each)); {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, journal.ErrQuota):
				f.Errorf("signal %d: got %v, want %v", i, err, journal.ErrQuota)
			}
		})
	}
	wg.Wait()
	if got := taken.Load(); got != 4 {
		f.Errorf("got %d signals taken, want 4", got)
	}
}
