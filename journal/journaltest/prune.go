package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// grace is longer than a store keeps a payload that nothing names.
const grace = time.Hour

var keepADay = journal.Retention{Completed: 24 * time.Hour, Failed: 24 * time.Hour, Cancelled: 24 * time.Hour}

func testPrune(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"what ended long ago, by its state", pruneByState},
		{"a removed run was never there", func(f *fixture) {
			goneFor(f, func(journal.RunID) {
				f.Advance(25 * time.Hour)
				f.pruned(f.prune(keepADay), 1)
			})
		}},
		{"a deleted run was never there", func(f *fixture) {
			goneFor(f, func(id journal.RunID) { f.must(f.Store.DeleteRun(f.Context(), acme, id)) })
		}},
		{"delete is refused", func(f *fixture) {
			f.want("no run", f.Store.DeleteRun(f.Context(), acme, journal.NewRunID()), journal.ErrNotFound)
			for _, s := range []journal.State{journal.Ready, journal.Running, journal.Waiting, journal.Paused, journal.Blocked} {
				_, id := f.in(s)
				f.want(string(s), f.Store.DeleteRun(f.Context(), acme, id), journal.ErrState)
				f.state(id, s)
				f.want("another tenant's", f.Store.DeleteRun(f.Context(), other, id), journal.ErrNotFound)
				f.signal(id, "wake up")
				_, err := f.Store.RequestCancel(f.Context(), acme, id, "out of the way")
				f.must(err)
				f.Advance(2 * ttl)
				for _, c := range f.claims(f.register("n1"), 10).Claims {
					f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Cancelled}})
				}
			}
		}},
		{"at most limit runs, the oldest of a state first", pruneLimit},
		{"a long journal in pieces", pruneLong},
		{"a payload goes with the last that names it", prunePayload},
		{"a value that was replaced", pruneReplaced},
		{"beside everything else", pruneConcurrent},
	})
}

// prune calls Prune until nothing is left to be removed now, and sums up.
func (f *fixture) prune(r journal.Retention) (sum journal.Pruned) {
	f.Helper()
	for sum.More = true; sum.More; {
		p, err := f.Store.Prune(f.Context(), r, 100)
		f.must(err)
		sum.Runs, sum.Rows, sum.Payloads, sum.Bytes, sum.More = sum.Runs+p.Runs, sum.Rows+p.Rows, sum.Payloads+p.Payloads, sum.Bytes+p.Bytes, p.More
	}
	return sum
}

func (f *fixture) pruned(p journal.Pruned, runs int) {
	f.Helper()
	if p.Runs != runs {
		f.Fatalf("pruned: got %d runs, want %d", p.Runs, runs)
	}
}

// gone checks that a run is not found in any way.
func (f *fixture) gone(l journal.Lease) {
	f.Helper()
	ctx := f.Context()
	_, err := f.Store.Run(ctx, l.Tenant, l.Run)
	f.want("run", err, journal.ErrNotFound)
	_, err = f.Store.Entries(ctx, l.Tenant, l.Run, 0, 10)
	f.want("entries", err, journal.ErrNotFound)
	_, err = f.Store.Arrivals(ctx, l.Tenant, l.Run, 0)
	f.want("arrivals", err, journal.ErrNotFound)
	_, err = f.Store.Published(ctx, l.Tenant, l.Run)
	f.want("published", err, journal.ErrNotFound)
	_, err = f.Store.Signal(ctx, l.Tenant, l.Run, "s1", "paid", []byte("payload of s1"))
	f.want("signal", err, journal.ErrNotFound)
	_, err = f.Store.RequestCancel(ctx, l.Tenant, l.Run, "")
	f.want("cancel", err, journal.ErrNotFound)
	_, err = f.Store.Resume(ctx, l.Tenant, l.Run)
	f.want("resume", err, journal.ErrNotFound)
	f.want("delete", f.Store.DeleteRun(ctx, l.Tenant, l.Run), journal.ErrNotFound)
	_, err = f.Store.Commit(ctx, l, journal.Batch{Entries: entries(0, 1)})
	f.want("commit", err, journal.ErrFenced)
	page, err := f.Store.Runs(ctx, l.Tenant, journal.Filter{Limit: 1000})
	f.must(err)
	for _, r := range page.Runs {
		if r.ID == l.Run {
			f.Fatalf("list: got the removed run %s", r.ID)
		}
	}
}

// finished is a run with something in every place, that ended in a state.
func (f *fixture) finished(s journal.State) journal.Lease {
	f.Helper()
	l := f.owned()
	f.signal(l.Run, "s1")
	f.commit(l, journal.Batch{Entries: entries(0, 3), Stash: []journal.Arrival{done(7, "x")}, Observed: []string{"signal:s1"},
		Published: []journal.Published{{Key: "k", Value: []byte("v")}}, Next: &journal.Transition{State: s}})
	return l
}

func pruneByState(f *fixture) {
	kinds := []struct {
		name   string
		only   journal.Retention
		states []journal.State
	}{
		{"completed", journal.Retention{Completed: time.Hour}, []journal.State{journal.Completed, journal.Continued}},
		{"failed", journal.Retention{Failed: time.Hour}, []journal.State{journal.Failed, journal.TimedOut}},
		{"cancelled", journal.Retention{Cancelled: time.Hour}, []journal.State{journal.Cancelled, journal.Terminated}},
	}
	ended := map[journal.State]journal.Lease{}
	for _, k := range kinds {
		for _, s := range k.states {
			ended[s] = f.finished(s)
		}
	}
	var open []journal.RunID
	for _, s := range []journal.State{journal.Waiting, journal.Paused, journal.Blocked, journal.Running} {
		_, id := f.in(s)
		open = append(open, id)
	}
	f.pruned(f.prune(keepADay), 0)
	f.Advance(24*time.Hour - time.Minute)
	f.pruned(f.prune(keepADay), 0)
	f.pruned(f.prune(journal.Retention{}), 0)
	for _, k := range kinds {
		f.pruned(f.prune(k.only), len(k.states))
		for _, s := range k.states {
			f.gone(ended[s])
			delete(ended, s)
		}
		for s, l := range ended {
			f.state(l.Run, s)
		}
	}
	f.Advance(1000 * time.Hour)
	f.pruned(f.prune(keepADay), 0)
	for _, id := range open {
		if got := f.run(id); got.State.Terminal() || len(f.entries(id)) != 1 {
			f.Fatalf("open run: got %s with %d entries, want it as it was", got.State, len(f.entries(id)))
		}
	}
}

// goneFor removes a run in a way, and starts it again.
func goneFor(f *fixture, remove func(id journal.RunID)) {
	r := f.newRun()
	r.Key, r.IdempotencyKey = "k", "i"
	f.create(r)
	l := f.claim(f.register("n1")).Lease
	f.signal(r.ID, "s1")
	f.commit(l, journal.Batch{Entries: entries(0, 3), Stash: []journal.Arrival{done(7, "x")}, Published: []journal.Published{{Key: "k", Value: []byte("v")}},
		Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
	kept := f.finished(journal.Blocked)
	before := f.snapshot(acme, kept.Run)
	remove(r.ID)
	f.gone(l)
	again := r
	again.ID, again.Input = journal.NewRunID(), []byte("another input")
	f.create(again)
	p := f.prune(journal.Retention{})
	if p.Runs != 0 || p.Rows > 3+2+1 {
		f.Fatalf("rows: got %+v, want at most 3 entries, 2 arrivals and a value", p)
	}
	f.gone(l)
	f.diff("another run", f.snapshot(acme, kept.Run), before)
	f.create(r2(r)) // its id, too
	if es := f.entries(r.ID); len(es) != 0 {
		f.Fatalf("the run that has the id of a removed one: got %d entries, want none", len(es))
	}
}

func r2(r journal.Run) journal.Run {
	r.Key, r.IdempotencyKey = "", ""
	return r
}

func pruneLimit(f *fixture) {
	var ls []journal.Lease
	for range 5 {
		ls = append(ls, f.finished(journal.Completed))
		f.Advance(time.Minute)
	}
	f.Advance(24 * time.Hour)
	for i, want := range []int{2, 2, 1} {
		p, err := f.Store.Prune(f.Context(), keepADay, 2)
		f.must(err)
		if p.Runs != want || p.More != (i < 2) {
			f.Fatalf("call %d: got %+v, want %d runs", i, p, want)
		}
		for j, l := range ls {
			if j < 2*(i+1) {
				f.gone(l)
			} else {
				f.state(l.Run, journal.Completed)
			}
		}
	}
	p, err := f.Store.Prune(f.Context(), keepADay, 0)
	f.must(err)
	f.pruned(p, 0)
}

func pruneLong(f *fixture) {
	const n = 12_000
	l := f.owned()
	for seq := 0; seq < n; seq += 1000 {
		f.commit(l, journal.Batch{Entries: entries(int64(seq), 1000)})
	}
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
	f.must(f.Store.DeleteRun(f.Context(), acme, l.Run))
	rows, calls := 0, 0
	for more := true; more; calls++ {
		p, err := f.Store.Prune(f.Context(), journal.Retention{}, 1)
		f.must(err)
		rows, more = rows+p.Rows, p.More
		if p.Rows > n/2 {
			f.Fatalf("one call removed %d rows, want pieces", p.Rows)
		}
		f.gone(l)
	}
	if rows != n || calls < 2 {
		f.Fatalf("got %d rows in %d calls, want %d in some", rows, calls, n)
	}
}

// largeRun is a finished run with a payload in every place.
func (f *fixture) largeRun(p []byte) journal.Lease {
	f.Helper()
	r := f.newRun()
	r.Input = p
	f.create(r)
	l := f.claim(f.register("n1")).Lease
	e, d := entry(0), done(7, "")
	e.Request, e.Payload, d.Payload = p, p, p
	f.sent(r.ID, "s1", "paid", p, false)
	f.commit(l, journal.Batch{Entries: []journal.Entry{e}, Stash: []journal.Arrival{d}, Published: []journal.Published{{Key: "k", Value: p}},
		Next: &journal.Transition{State: journal.Completed, Output: p}})
	return l
}

func prunePayload(f *fixture) {
	p := sized(100_000, "a")
	one, two := f.largeRun(p), f.largeRun(p)
	f.Advance(grace)
	none := func(when string) {
		f.Helper()
		if got := f.prune(journal.Retention{}); got.Payloads != 0 {
			f.Fatalf("%s: got %d payloads removed, want none", when, got.Payloads)
		}
	}
	none("two runs name it")
	f.must(f.Store.DeleteRun(f.Context(), acme, one.Run))
	f.Advance(grace)
	none("one run names it")
	f.sameBytes("the other run's input", f.run(two.Run).Input, p)
	f.must(f.Store.DeleteRun(f.Context(), acme, two.Run))
	f.prune(journal.Retention{}) // the run's rows, and what they name; or the latter with the next
	three := f.largeRun(p)       // named again, perhaps while it is on its way out
	f.Advance(grace)
	f.prune(journal.Retention{})
	f.Advance(grace)
	none("another run names it")
	s := f.snapshot(acme, three.Run)
	f.sameBytes("a later run's payload", s.Entries[0].Payload, p)
	f.sameBytes("a later run's arrival", s.Arrivals[0].Payload, p)
	f.must(f.Store.DeleteRun(f.Context(), acme, three.Run))
	total := f.prune(journal.Retention{})
	f.Advance(grace)
	last := f.prune(journal.Retention{})
	if total.Payloads+last.Payloads != 1 || total.Bytes+last.Bytes <= 0 {
		f.Fatalf("nobody names it: got %+v, then %+v; want one payload removed", total, last)
	}
}

func pruneReplaced(f *fixture) {
	l := f.owned()
	for i := range 5 {
		a := retry(7, i+1)
		a.Payload = sized(100_000, fmt.Sprint("retry ", i))
		f.commit(l, journal.Batch{Published: []journal.Published{{Key: "k", Value: sized(100_000, fmt.Sprint("value ", i))}}, Stash: []journal.Arrival{a}})
	}
	if p := f.prune(journal.Retention{}); p.Payloads != 0 {
		f.Fatalf("at once: got %d payloads removed, want none", p.Payloads)
	}
	f.Advance(grace / 2)
	if p := f.prune(journal.Retention{}); p.Payloads != 8 {
		f.Fatalf("later: got %d payloads removed, want the 8 that were replaced", p.Payloads)
	}
	for range 3 {
		f.Advance(grace / 2)
		if p := f.prune(journal.Retention{}); p.Payloads != 0 {
			f.Fatalf("later still: got %d payloads removed, want none", p.Payloads)
		}
	}
	f.sameBytes("published", f.snapshot(acme, l.Run).Published[0].Value, sized(100_000, "value 4"))
	f.sameBytes("stash", f.arrivals(l.Run)[0].Payload, sized(100_000, "retry 4"))
}

// pruneConcurrent prunes and deletes while runs are started, signalled, claimed and ended, all with the same payload: whatever is there
// is whole.
func pruneConcurrent(f *fixture) {
	p := sized(100_000, "a")
	const workers, rounds = 4, 10
	var wg, pruners sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		pruners.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.Store.Prune(f.Context(), journal.Retention{Completed: time.Microsecond}, 3); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	node := f.register("n1")
	var mu sync.Mutex
	var kept []journal.RunID
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				if err := f.oneRound(node, p, i%2 == 0, func(id journal.RunID) { mu.Lock(); kept = append(kept, id); mu.Unlock() }); err != nil {
					f.Errorf("worker %d, round %d: %v", w, i, err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	pruners.Wait()
	f.Advance(grace)
	f.prune(journal.Retention{Completed: time.Microsecond})
	if len(kept) == 0 {
		f.Fatal("no run failed, want some")
	}
	for _, id := range kept {
		s := f.snapshot(acme, id)
		f.sameBytes("input", s.Run.Input, p)
		f.sameBytes("entry", s.Entries[0].Payload, p)
		f.sameBytes("published", s.Published[0].Value, p)
	}
}

// oneRound starts a run and claims one, which another worker may have started; it ends as failed or, to be removed, as completed.
func (f *fixture) oneRound(node string, p []byte, fail bool, failed func(journal.RunID)) error {
	ctx := f.Context()
	r := f.newRun()
	r.Input = p
	if _, _, err := f.Store.Create(ctx, r); err != nil {
		return err
	}
	cs, err := f.Store.Claim(ctx, node, journal.Want{Limit: 1})
	if err != nil {
		return err
	}
	for _, c := range cs.Claims {
		if c.Unreadable != nil {
			return c.Unreadable
		}
		if _, err := f.Store.Signal(ctx, acme, c.Run.ID, "s1", "paid", p); err != nil {
			return err
		}
		e := entry(0)
		e.Payload = p
		b := journal.Batch{Entries: []journal.Entry{e}, Observed: []string{"signal:s1"}, Published: []journal.Published{{Key: "k", Value: p}},
			Next: &journal.Transition{State: journal.Completed, Output: p}}
		if fail {
			b.Next = &journal.Transition{State: journal.Failed, Failure: abi.NewFailure("x", "x").Encode()}
			failed(c.Run.ID)
		}
		if _, err := f.Store.Commit(ctx, c.Lease, b); err != nil {
			return err
		}
		if _, err := f.Store.Signal(ctx, acme, c.Run.ID, "s2", "paid", p); !errors.Is(err, journal.ErrState) && !errors.Is(err, journal.ErrNotFound) {
			return fmt.Errorf("signal to an ended run: got %w", err)
		}
	}
	return nil
}
