package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
)

func testTransition(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"to each state that the table allows", transitionAllowed},
		{"to any other state is refused", func(f *fixture) {
			l := f.owned()
			for _, s := range []journal.State{journal.Running, "", "nonsense", "COMPLETED"} {
				f.refuse(string(s), l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: s}}, journal.ErrState)
			}
			f.commit(l, journal.Batch{Entries: entries(0, 1)})
		}},
		{"stores output, failure and reason", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
			if r := f.run(l.Run); string(r.Output) != "out" || len(r.Failure) != 0 || r.Reason != "" {
				f.Fatalf("completed: got output %q, failure %q, reason %q", r.Output, r.Failure, r.Reason)
			}
			l = f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Failed, Reason: "code: text", Failure: []byte(`{"code":"x"}`)}})
			if r := f.run(l.Run); len(r.Output) != 0 || string(r.Failure) != `{"code":"x"}` || r.Reason != "code: text" {
				f.Fatalf("failed: got output %q, failure %q, reason %q", r.Output, r.Failure, r.Reason)
			}
			l = f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Cancelled, Failure: []byte(`{"code":"cancelled"}`)}})
			if r := f.run(l.Run); string(r.Failure) != `{"code":"cancelled"}` {
				f.Fatalf("cancelled: got failure %q", r.Failure)
			}
			l = f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "mismatch: seq 3"}})
			if r := f.run(l.Run); r.Reason != "mismatch: seq 3" || !r.FinishedAt.IsZero() {
				f.Fatalf("blocked: got reason %q, finished %s", r.Reason, r.FinishedAt)
			}
		}},
		{"tells how the run's row has ended", func(f *fixture) {
			for _, s := range []journal.State{journal.Completed, journal.Failed, journal.Cancelled} {
				l := f.owned()
				f.signal(l.Run, "s1")
				_, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "stop")
				f.must(err)
				var ended journal.Ended
				b := journal.Batch{Entries: entries(0, 1), Stash: []journal.Arrival{done(1, "x")}, Next: &journal.Transition{State: s, Ended: &ended}}
				f.commit(l, b)
				r := f.run(l.Run)
				f.diff(string(s), ended, journal.Ended{At: r.FinishedAt, InboxPos: r.InboxPos, CancelRequested: true})
				ended = journal.Ended{}
				f.commit(l, b)
				f.diff(string(s)+" again", ended, journal.Ended{})
			}
			var ended journal.Ended
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Ended: &ended}})
			f.diff("blocked", ended, journal.Ended{})
		}},
		{"suspends when everything was seen", func(f *fixture) {
			l := f.owned()
			f.signal(l.Run, "s1")
			f.signal(l.Run, "s2")
			if s := f.suspend(l, 2); s != journal.Waiting {
				f.Fatalf("state: got %s, want waiting", s)
			}
			f.state(l.Run, journal.Waiting)
			f.claimNone(l.Node)
		}},
		{"is ready when something newer is there", func(f *fixture) {
			for _, seen := range []int64{0, 1} {
				l := f.owned()
				f.signal(l.Run, "s1")
				f.signal(l.Run, "s2")
				s := f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{
					State: journal.Waiting, SeenPos: seen, WakeAt: f.now().Add(time.Hour), Waiting: "timer"}})
				if r := f.state(l.Run, journal.Ready); s != journal.Ready || r.Waiting != "" || !r.WakeAt.IsZero() || r.NextSeq != 1 {
					f.Fatalf("seen %d: got %s, waiting %q until %s, seq %d; want ready, none, none, 1", seen, s, r.Waiting, r.WakeAt, r.NextSeq)
				}
				f.end(l.Run)
			}
		}},
		{"looks at news only when it suspends", func(f *fixture) {
			for _, s := range []journal.State{journal.Paused, journal.Blocked, journal.Completed} {
				l := f.owned()
				f.signal(l.Run, "s1")
				if got := f.commit(l, journal.Batch{Next: &journal.Transition{State: s}}); got != s {
					f.Fatalf("state: got %s, want %s", got, s)
				}
			}
		}},
		{"what was observed may still be newer than what was seen", func(f *fixture) {
			// The position, not the open part, is what counts: the turn says itself what it has read.
			l := f.owned()
			f.signal(l.Run, "s1")
			s := f.commit(l, journal.Batch{Entries: entries(0, 1), Observed: []string{"signal:s1"},
				Next: &journal.Transition{State: journal.Waiting, SeenPos: 1}})
			if s != journal.Waiting {
				f.Fatalf("state: got %s, want waiting", s)
			}
		}},
		{"a timer in the past is due at once", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(-time.Minute)}})
			f.claim(l.Node)
		}},
		{"a timer a hundred years ahead", func(f *fixture) {
			l := f.owned()
			due := f.now().Add(100 * 365 * 24 * time.Hour).Truncate(time.Microsecond)
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: due}})
			if r := f.run(l.Run); !r.WakeAt.Equal(due) {
				f.Fatalf("wake at: got %s, want %s", r.WakeAt, due)
			}
			f.claimNone(l.Node)
		}},
		{"the timer of the last suspension is forgotten", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(time.Minute)}})
			f.signal(l.Run, "s1")
			f.suspend(f.claim(l.Node).Lease, 1)
			f.Advance(2 * time.Minute)
			f.claimNone(l.Node)
		}},
		{"keeps the attempts when told to", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, KeepAttempts: true}})
			if got := f.run(l.Run).Attempts; got != 1 {
				f.Fatalf("attempts: got %d, want 1", got)
			}
			f.signal(l.Run, "s1")
			if got := f.claim(l.Node).Run.Attempts; got != 2 {
				f.Fatalf("attempts: got %d, want 2", got)
			}
		}},
	})
}

func transitionAllowed(f *fixture) {
	for _, s := range journal.Transitions[journal.Running] {
		l := f.owned()
		before := f.now()
		got := f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: s}})
		r := f.run(l.Run)
		if got != s || r.State != s || r.Owner != "" || r.Token != l.Token || r.NextSeq != 1 || r.Attempts != 0 {
			f.Fatalf("%s: got %s, stored %+v", s, got, r)
		}
		if s.Terminal() != !r.FinishedAt.IsZero() || s.Terminal() && (r.FinishedAt.Before(before) || r.FinishedAt.After(f.now())) {
			f.Fatalf("%s: got finished at %s", s, r.FinishedAt)
		}
		if r.UpdatedAt.Before(before) {
			f.Fatalf("%s: got updated at %s, want after %s", s, r.UpdatedAt, before)
		}
		f.refuse(string(s)+": the lease is given up", l, journal.Batch{Entries: entries(1, 1)}, journal.ErrFenced)
		if !s.Terminal() {
			f.end(l.Run)
		}
	}
}
