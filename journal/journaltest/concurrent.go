package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"reprise/journal"
)

func testConcurrent(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"each run is claimed by one", claimRace},
		{"one start per idempotency key", startRace},
		{"one delivery per signal id", signalRace},
		{"a commit and its repeat", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 3), Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}}
			f.together(8, func(int) error {
				s, err := f.Store.Commit(f.Context(), l, b)
				if err == nil && s != journal.Completed {
					err = fmt.Errorf("got state %s, want completed", s)
				}
				return err
			})
			if got := len(f.entries(l.Run)); got != 3 {
				f.Fatalf("entries: got %d, want 3", got)
			}
		}},
		{"signals and a suspension", suspendRace},
		{"a signal and the end", func(f *fixture) {
			endRace(f, func(id journal.RunID) error {
				_, err := f.Store.Signal(f.Context(), acme, id, "s1", "paid", []byte("x"))
				return err
			}, func(s snapshot) bool { return len(s.Arrivals) == 1 && s.Run.InboxPos == 1 })
		}},
		{"a cancel and the end", func(f *fixture) {
			endRace(f, func(id journal.RunID) error {
				_, err := f.Store.RequestCancel(f.Context(), acme, id, "enough")
				return err
			}, func(s snapshot) bool { return s.Run.CancelRequested && s.Run.State == journal.Completed })
		}},
		{"a cancel and the first claim", cancelRace},
		{"many runs at once", manyRuns},
		{"a cancelled context", func(f *fixture) {
			ctx, cancel := context.WithCancel(f.Context())
			cancel()
			r := f.newRun()
			if _, _, err := f.Store.Create(ctx, r); !errors.Is(err, context.Canceled) {
				f.Fatalf("create: got error %v, want %v", err, context.Canceled)
			}
			_, err := f.Store.Run(f.Context(), acme, r.ID)
			f.want("read", err, journal.ErrNotFound)
			f.create(r)
		}},
	})
}

func claimRace(f *fixture) {
	const nodes, runs = 8, 200
	f.createMany(runs)
	var ids [nodes]string
	for i := range ids {
		ids[i] = f.register(fmt.Sprint("n", i))
	}
	var mu sync.Mutex
	owner := map[journal.RunID]string{}
	f.together(nodes, func(i int) error {
		for {
			cs, err := f.Store.Claim(f.Context(), ids[i], journal.Want{Limit: 7})
			if err != nil {
				return err
			}
			mu.Lock()
			for _, c := range cs.Claims {
				if first, taken := owner[c.Run.ID]; taken {
					mu.Unlock()
					return fmt.Errorf("run %s was given to %s and to %s", c.Run.ID, first, ids[i])
				}
				owner[c.Run.ID] = ids[i]
			}
			all := len(owner) == runs
			mu.Unlock()
			if all {
				return nil
			}
		}
	})
	for run, node := range owner {
		if r := f.run(run); r.Owner != node || r.Token != 1 || r.Attempts != 1 {
			f.Fatalf("run %s: got owner %s, token %d, attempts %d; want %s, 1, 1", run, r.Owner, r.Token, r.Attempts, node)
		}
	}
}

func startRace(f *fixture) {
	const n = 50
	var runs [n]journal.Run
	var created [n]bool
	f.together(n, func(i int) (err error) {
		r := f.newRun()
		r.IdempotencyKey, r.Key = "req-1", "k"
		runs[i], created[i], err = f.Store.Create(f.Context(), r)
		return err
	})
	count := 0
	for i := range n {
		if created[i] {
			count++
		}
		if runs[i].ID != runs[0].ID {
			f.Fatalf("runs: got %s and %s, want one", runs[i].ID, runs[0].ID)
		}
	}
	if count != 1 {
		f.Fatalf("created: got %d, want 1", count)
	}
}

func signalRace(f *fixture) {
	const n = 50
	r := f.create(f.newRun())
	var dup [n]bool
	f.together(n, func(i int) (err error) {
		dup[i], err = f.Store.Signal(f.Context(), acme, r.ID, "s1", "paid", []byte("x"))
		return err
	})
	fresh := 0
	for _, d := range dup {
		if !d {
			fresh++
		}
	}
	if got := len(f.arrivals(r.ID)); fresh != 1 || got != 1 {
		f.Fatalf("got %d new and %d arrivals, want 1 and 1", fresh, got)
	}
}

// suspendRace checks that a signal is never slept through: however the two interleave, the run ends
// ready, or waiting having seen it.
func suspendRace(f *fixture) {
	l := f.owned()
	for i := range 50 {
		seen := f.run(l.Run).InboxPos
		f.together(2, func(who int) (err error) {
			if who == 0 {
				_, err = f.Store.Signal(f.Context(), acme, l.Run, fmt.Sprint(i), "paid", nil)
			} else {
				_, err = f.Store.Commit(f.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, SeenPos: seen}})
			}
			return err
		})
		f.state(l.Run, journal.Ready)
		l = f.claim(l.Node).Lease
	}
}

// endRace checks that what comes from outside while a run ends was either in time, and is there, or is refused.
func endRace(f *fixture, arrive func(journal.RunID) error, there func(snapshot) bool) {
	for range 30 {
		l := f.owned()
		var told error
		f.together(2, func(who int) (err error) {
			if who == 0 {
				told = arrive(l.Run)
			} else {
				_, err = f.Store.Commit(f.Context(), l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}})
			}
			return err
		})
		s := f.snapshot(acme, l.Run)
		if s.Run.State != journal.Completed || there(s) != (told == nil) || told != nil && !errors.Is(told, journal.ErrState) {
			f.Fatalf("the sender was told %v, and the run is %+v with arrivals %v", told, s.Run, ids(s.Arrivals))
		}
	}
}

// cancelRace cancels a run while it is claimed for the first time: it has ended without a turn, or its owner finds the
// request.
func cancelRace(f *fixture) {
	node := f.register("n1")
	for range 30 {
		id := f.create(f.newRun()).ID
		var got journal.Claims
		f.together(2, func(who int) (err error) {
			if who == 0 {
				_, err = f.Store.RequestCancel(f.Context(), acme, id, "enough")
			} else {
				got, err = f.Store.Claim(f.Context(), node, journal.Want{Limit: 1})
			}
			return err
		})
		s := f.snapshot(acme, id)
		switch {
		case len(got.Claims) == 0 && s.Run.State == journal.Cancelled:
		case len(got.Claims) == 1 && s.Run.State == journal.Running && len(s.Arrivals) == 1:
			f.end(id)
		default:
			f.Fatalf("%d claims, and the run is %s with arrivals %v; want it cancelled and nobody's, or the request in its owner's inbox", len(got.Claims), s.Run.State, ids(s.Arrivals))
		}
	}
}

// manyRuns drives runs of many owners at once; each journal must come out whole.
func manyRuns(f *fixture) {
	const runs, steps = 16, 10
	f.createMany(runs)
	claims := f.claims(f.register("n1"), runs).Claims
	if len(claims) != runs {
		f.Fatalf("claims: got %d, want %d", len(claims), runs)
	}
	f.together(runs, func(i int) error {
		for s := range int64(steps) {
			if _, err := f.Store.Commit(f.Context(), claims[i].Lease, journal.Batch{Entries: entries(s, 1)}); err != nil {
				return err
			}
		}
		_, err := f.Store.Commit(f.Context(), claims[i].Lease, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
		return err
	})
	for _, c := range claims {
		for i, e := range f.entries(c.Run.ID) {
			if !e.Same(entry(int64(i))) {
				f.Fatalf("run %s: got entry %+v at %d", c.Run.ID, e, i)
			}
		}
		if r := f.state(c.Run.ID, journal.Completed); r.NextSeq != steps {
			f.Fatalf("run %s: got next seq %d, want %d", c.Run.ID, r.NextSeq, steps)
		}
	}
}
