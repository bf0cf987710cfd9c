package journaltest

import (
	"testing"

	"reprise/abi"
	"reprise/journal"
)

func testCancel(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"a run that has not started ends at once", func(f *fixture) {
			r := f.newRun()
			r.Key = "k"
			f.create(r)
			f.cancelledAtOnce(f.cancel(r.ID))
			f.claimNone(f.register("n1"))
			r.ID = journal.NewRunID()
			f.create(r) // the key is free again
		}},
		{"a run that is ready between turns", func(f *fixture) {
			l, run := f.in(journal.Ready)
			if got := f.cancel(run); got.State != journal.Ready || !got.CancelRequested {
				f.Fatalf("got %s, requested %v, want ready, true", got.State, got.CancelRequested)
			}
			f.cancelArrival(run, "stop it")
			if c := f.claim(l.Node); !c.Run.CancelRequested {
				f.Fatal("claimed run: got no cancel request, want one")
			}
		}},
		{"a running run stays with its owner", func(f *fixture) {
			l, run := f.in(journal.Running)
			if got := f.cancel(run); got.State != journal.Running || !got.CancelRequested || got.InboxPos != 1 {
				f.Fatalf("got %s, requested %v, position %d, want running, true, 1", got.State, got.CancelRequested, got.InboxPos)
			}
			f.cancelArrival(run, "stop it")
			e := entry(1)
			e.Kind, e.Op = journal.KindCancel, abi.CancelHandle
			f.commit(l, journal.Batch{Entries: []journal.Entry{e}, Observed: []string{"cancel"}})
			f.diff("open arrivals", f.arrivals(run), []journal.Arrival{})
			f.cancel(run)
			f.diff("a second request brought it back", f.arrivals(run), []journal.Arrival{})
		}},
		{"a waiting run becomes ready", func(f *fixture) {
			_, run := f.in(journal.Waiting)
			if got := f.cancel(run); got.State != journal.Ready || !got.CancelRequested {
				f.Fatalf("got %s, requested %v, want ready, true", got.State, got.CancelRequested)
			}
			f.cancelArrival(run, "stop it")
		}},
		{"a blocked run ends at once", func(f *fixture) {
			_, run := f.in(journal.Blocked)
			f.cancelledAtOnce(f.cancel(run))
		}},
		{"a paused run ends at once", func(f *fixture) {
			_, run := f.in(journal.Paused)
			f.cancelledAtOnce(f.cancel(run))
		}},
		{"a request that was made before the run blocked", func(f *fixture) {
			l, run := f.in(journal.Running)
			f.cancel(run)
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "code: text"}})
			f.cancelledAtOnce(f.cancel(run))
		}},
		{"a request that was made before the first turn gave back", func(f *fixture) {
			l := f.owned()
			f.cancel(l.Run)
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Ready}})
			f.cancelledAtOnce(f.cancel(l.Run))
		}},
		{"asking twice changes nothing", func(f *fixture) {
			for _, s := range []journal.State{journal.Running, journal.Waiting, journal.Blocked} {
				_, run := f.in(s)
				first := f.cancel(run)
				before := f.snapshot(acme, run)
				got, err := f.Store.RequestCancel(f.Context(), acme, run, "another reason")
				f.must(err)
				f.diff(string(s)+": second answer", got, first)
				f.diff(string(s)+": after the second request", f.snapshot(acme, run), before)
				f.end(run)
			}
		}},
		{"a finished run", func(f *fixture) {
			for _, s := range journal.States {
				if !s.Terminal() {
					continue
				}
				_, run := f.in(s)
				before := f.snapshot(acme, run)
				_, err := f.Store.RequestCancel(f.Context(), acme, run, "stop it")
				f.want(string(s), err, journal.ErrState)
				f.diff(string(s)+" changed", f.snapshot(acme, run), before)
			}
		}},
		{"a run that finished after it was asked", func(f *fixture) {
			l, run := f.in(journal.Running)
			f.cancel(run)
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
			if got := f.cancel(run); got.State != journal.Completed {
				f.Fatalf("got %s, want completed", got.State)
			}
		}},
		{"wakes a turn that has not seen it", func(f *fixture) {
			l, run := f.in(journal.Running)
			f.cancel(run)
			if s := f.suspend(l, 0); s != journal.Ready {
				f.Fatalf("suspend: got %s, want ready", s)
			}
		}},
		{"unknown run", func(f *fixture) {
			_, err := f.Store.RequestCancel(f.Context(), acme, journal.NewRunID(), "")
			f.want("cancel", err, journal.ErrNotFound)
		}},
	})
}

// cancel asks and checks that the answer is the run as it is then.
func (f *fixture) cancel(run journal.RunID) journal.Run {
	f.Helper()
	got, err := f.Store.RequestCancel(f.Context(), acme, run, "stop it")
	f.must(err)
	f.diff("answer of the request", got, f.run(run))
	return got
}

func (f *fixture) cancelledAtOnce(r journal.Run) {
	f.Helper()
	if r.State != journal.Cancelled || !r.CancelRequested || r.FinishedAt.IsZero() || r.Owner != "" || r.Reason != "" {
		f.Fatalf("got %+v, want cancelled, requested, finished, without owner or reason", r)
	}
	if fl := abi.DecodeFailure(r.Failure); fl.Code != abi.CodeCancelled || fl.Message != "stop it" {
		f.Fatalf("failure: got %s, want code %s and the reason", r.Failure, abi.CodeCancelled)
	}
}

func (f *fixture) cancelArrival(run journal.RunID, reason string) {
	f.Helper()
	got := f.arrivals(run)
	if len(got) != 1 {
		f.Fatalf("arrivals: got %d, want 1", len(got))
	}
	f.diff("arrival", got[0], journal.Arrival{ID: "cancel", Pos: 1, Kind: journal.ArrivalCancel, Op: journal.NoOp,
		Status: got[0].Status, Payload: []byte(reason), At: got[0].At})
}

func testResume(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"in each state", func(f *fixture) {
			for _, s := range journal.States {
				_, run := f.in(s)
				before := f.snapshot(acme, run)
				got, err := f.Store.Resume(f.Context(), acme, run)
				if s != journal.Blocked && s != journal.Paused {
					f.want(string(s), err, journal.ErrState)
					f.diff(string(s)+" changed", f.snapshot(acme, run), before)
				} else {
					f.must(err)
					f.diff(string(s)+": answer", got, f.run(run))
					if got.State != journal.Ready || got.Reason != "" {
						f.Fatalf("%s: got %s %q, want ready without a reason", s, got.State, got.Reason)
					}
				}
				if !s.Terminal() {
					f.end(run)
				}
			}
		}},
		{"sets the attempts to 0", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "crash_loop: text", KeepAttempts: true}})
			if got := f.run(l.Run); got.Attempts != 1 || got.Reason != "crash_loop: text" {
				f.Fatalf("blocked run: got %d attempts, reason %q, want 1 and the reason", got.Attempts, got.Reason)
			}
			got, err := f.Store.Resume(f.Context(), acme, l.Run)
			f.must(err)
			if got.Attempts != 0 {
				f.Fatalf("attempts: got %d, want 0", got.Attempts)
			}
			if c := f.claim(l.Node); c.Run.Attempts != 1 {
				f.Fatalf("attempts when claimed: got %d, want 1", c.Run.Attempts)
			}
		}},
		{"keeps what arrived meanwhile", func(f *fixture) {
			l, run := f.in(journal.Blocked)
			f.signal(run, "s1")
			f.state(run, journal.Blocked)
			f.claimNone(l.Node)
			_, err := f.Store.Resume(f.Context(), acme, run)
			f.must(err)
			if c := f.claim(l.Node); c.Run.InboxPos != 1 {
				f.Fatalf("inbox position: got %d, want 1", c.Run.InboxPos)
			}
		}},
		{"unknown run", func(f *fixture) {
			_, err := f.Store.Resume(f.Context(), acme, journal.NewRunID())
			f.want("resume", err, journal.ErrNotFound)
		}},
	})
}
