package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise/journal"
)

const whyHeld = "restored: text"

func testHold(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"in each state", holdStates},
		{"every lease of before is void", holdLeases},
		{"a run that is resumed goes on, others do not", holdResume},
		{"in pieces, again, and after a restart", holdPieces},
		{"what arrives at a run that is held", holdArrivals},
		{"nothing comes due", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(time.Minute), Waiting: "a timer"}})
			f.held(100, 1)
			if r := f.state(l.Run, journal.Paused); !r.WakeAt.IsZero() || r.Waiting != "" {
				f.Fatalf("got due at %s, waiting for %q, want neither", r.WakeAt, r.Waiting)
			}
			f.Advance(2 * ttl)
			c := f.claims(f.register("n1"), 10)
			if len(c.Claims) != 0 || c.NextDue >= 0 {
				f.Fatalf("got %d runs, the next due in %s, want none", len(c.Claims), c.NextDue)
			}
		}},
		{"beside everything else", holdConcurrent},
	})
}

// held holds until nothing is found, and checks how many runs that were.
func (f *fixture) held(limit, want int) {
	f.Helper()
	got := 0
	for more := true; more; {
		h, err := f.Store.Hold(f.Context(), whyHeld, limit)
		f.must(err)
		if h.Runs > limit || h.More != (h.Runs > 0) {
			f.Fatalf("hold at most %d: got %+v", limit, h)
		}
		got, more = got+h.Runs, h.More
	}
	if got != want {
		f.Fatalf("held: got %d runs, want %d", got, want)
	}
}

// isHeld checks a run against what it was before.
func (f *fixture) isHeld(what string, before snapshot) {
	f.Helper()
	want := before
	want.Run.State, want.Run.Reason, want.Run.Token = journal.Paused, whyHeld, before.Run.Token+journal.HoldTokens
	want.Run.Owner, want.Run.Waiting, want.Run.WakeAt = "", "", time.Time{}
	got := f.snapshot(before.Run.Tenant, before.Run.ID)
	want.Run.UpdatedAt = got.Run.UpdatedAt
	f.diff(what, got, want)
}

func holdStates(f *fixture) {
	stays := map[journal.State]snapshot{}
	for _, s := range journal.States {
		if s != journal.Ready && s != journal.Running && s != journal.Waiting {
			_, id := f.in(s)
			stays[s] = f.snapshot(acme, id)
		}
	}
	waits := f.owned()
	f.signal(waits.Run, "s1")
	f.commit(waits, journal.Batch{Entries: entries(0, 2), Stash: []journal.Arrival{retry(7, 1)}, Published: []journal.Published{{Key: "k", Value: []byte("v")}},
		Next: &journal.Transition{State: journal.Waiting, SeenPos: 1, Waiting: "a signal", WakeAt: f.now().Add(time.Hour)}})
	one, two := f.create(f.newRun()), f.create(f.newRun())
	cs := f.claims(waits.Node, 10).Claims
	if len(cs) != 2 || cs[0].Run.ID != one.ID {
		f.Fatalf("got %d runs, want two", len(cs))
	}
	f.commit(cs[0].Lease, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Ready}})
	f.commit(cs[1].Lease, journal.Batch{Entries: entries(0, 3), Checkpoint: &journal.Checkpoint{Seq: 2, Key: "k", Packed: []byte("p")}})
	fresh := f.create(f.newRun())
	open := map[string]snapshot{}
	for what, id := range map[string]journal.RunID{"waiting": waits.Run, "ready": one.ID, "running": two.ID, "not begun": fresh.ID} {
		open[what] = f.snapshot(acme, id)
	}
	f.held(100, len(open))
	for what, before := range open {
		f.isHeld(what, before)
	}
	for s, before := range stays {
		f.diff(string(s)+" changed", f.snapshot(acme, before.Run.ID), before)
	}
	if k, err := f.Store.Checkpoint(f.Context(), acme, two.ID); err != nil || k.Seq != 2 {
		f.Fatalf("checkpoint: got %+v, %v, want it as it was", k, err)
	}
}

func holdLeases(f *fixture) {
	waits := f.owned()
	suspension := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting}}
	f.commit(waits, suspension)
	f.create(f.newRun())
	runs := f.claim(waits.Node).Lease
	h, err := f.Store.Hold(f.Context(), whyHeld, 100)
	f.must(err)
	if h.Nodes == 0 || h.Runs != 2 {
		f.Fatalf("got %+v, want the node and two runs", h)
	}
	for _, n := range f.nodes() {
		if n.Live || n.Runs > 0 {
			f.Fatalf("got node %+v, want none that is live or owns a run", n)
		}
	}
	f.refuse("append", runs, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
	f.refuse("a commit again whose answer was lost", waits, suspension, journal.ErrFenced)
	_, err = f.Store.Heartbeat(f.Context(), runs.Node, ttl)
	f.want("heartbeat", err, journal.ErrNodeLapsed)
	_, err = f.Store.Claim(f.Context(), runs.Node, journal.Want{Limit: 10})
	f.want("claim", err, journal.ErrNodeLapsed)
	f.claimNone(f.register("n1"))
	// A lease that was given out after the backup, of which the journal knows nothing.
	runs.Token++
	f.refuse("a lease of after the backup", runs, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
}

func holdResume(f *fixture) {
	l := f.owned()
	f.commit(l, journal.Batch{Entries: entries(0, 2)})
	other := f.create(f.newRun())
	f.held(1, 2)
	r, err := f.Store.Resume(f.Context(), acme, l.Run)
	f.must(err)
	if r.State != journal.Ready || r.Reason != "" || r.Attempts != 0 {
		f.Fatalf("resumed run: got %+v, want ready, without a reason or attempts", r)
	}
	c := f.claim(f.register("n1"))
	if c.Run.ID != l.Run || c.Lease.Token != l.Token+journal.HoldTokens+1 || c.Run.NextSeq != 2 || c.StolenFrom != "" {
		f.Fatalf("got %+v at seq %d from %q, want run %s with its 2 entries, under a token after all of before", c.Lease, c.Run.NextSeq, c.StolenFrom, l.Run)
	}
	f.commit(c.Lease, journal.Batch{Entries: entries(2, 1), Next: &journal.Transition{State: journal.Completed}})
	f.state(other.ID, journal.Paused)
}

func holdPieces(f *fixture) {
	f.putModule(other, wasm)
	var open []journal.Run
	node := f.register("n1")
	for i := range 6 {
		r := f.newRun()
		if i%3 == 0 {
			r.Tenant = other
		}
		open = append(open, f.create(r))
		if l := f.claim(node).Lease; i < 3 {
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting}})
		}
	}
	open = append(open, f.create(f.newRun()))
	var before []snapshot
	for _, r := range open {
		before = append(before, f.snapshot(r.Tenant, r.ID))
	}
	h, err := f.Store.Hold(f.Context(), whyHeld, 0)
	f.must(err)
	if h.Runs != 0 || h.More {
		f.Fatalf("none asked for: got %+v", h)
	}
	h, err = f.Store.Hold(f.Context(), whyHeld, 4)
	f.must(err)
	if h.Runs != 4 || !h.More {
		f.Fatalf("first call: got %+v, want 4 runs and more", h)
	}
	if f.Reopen != nil {
		f.Store = f.Reopen()
	}
	f.held(1, len(open)-4)
	f.held(100, 0)
	for i, b := range before {
		f.isHeld(fmt.Sprint("run ", i), b)
	}
}

func holdArrivals(f *fixture) {
	l := f.owned()
	f.suspend(l, 0)
	f.held(100, 1)
	f.signal(l.Run, "s1")
	f.state(l.Run, journal.Paused)
	f.claimNone(f.register("n1"))
	if as := f.arrivals(l.Run); len(as) != 1 {
		f.Fatalf("arrivals: got %d, want the signal", len(as))
	}
	r, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "stop it")
	f.must(err)
	f.cancelledAtOnce(r)
}

// holdConcurrent holds while nodes register, begin, claim, write and suspend: what they are told was written is there, and when they have
// stopped, nothing is under way.
func holdConcurrent(f *fixture) {
	const workers, rounds = 3, 20
	var wg, holds sync.WaitGroup
	stop := make(chan struct{})
	holds.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := f.Store.Hold(f.Context(), whyHeld, 2); err != nil {
				f.Error(err)
				return
			}
		}
	})
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				if err := f.workBesideHold(fmt.Sprint("n", w)); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	holds.Wait()
	for more := true; more; {
		h, err := f.Store.Hold(f.Context(), whyHeld, 100)
		f.must(err)
		more = h.More
	}
	page, err := f.Store.Runs(f.Context(), acme, journal.Filter{Limit: 1000})
	f.must(err)
	paused := 0
	for _, r := range page.Runs {
		switch r.State {
		case journal.Paused:
			paused++
		case journal.Completed:
		default:
			f.Errorf("run %s: got %s, want paused or completed", r.ID, r.State)
		}
	}
	if paused == 0 || len(page.Runs) < workers*rounds {
		f.Fatalf("got %d of %d runs paused, want some", paused, len(page.Runs))
	}
	f.claimNone(f.register("n1"))
}

// workBesideHold is one turn of a node, which may be cut off anywhere.
func (f *fixture) workBesideHold(name string) error {
	cutOff := func(err error) error {
		if errors.Is(err, journal.ErrFenced) || errors.Is(err, journal.ErrNodeLapsed) {
			return nil
		}
		return err
	}
	if _, _, err := f.Store.Create(f.Context(), f.newRun()); err != nil {
		return err
	}
	n, err := f.Store.Register(f.Context(), name, ttl)
	if err != nil {
		return err
	}
	cs, err := f.Store.Claim(f.Context(), n.ID, journal.Want{Limit: 2})
	if err != nil {
		return cutOff(err)
	}
	for i, c := range cs.Claims {
		next := []journal.State{journal.Waiting, journal.Completed}[i]
		b := journal.Batch{Entries: entries(c.Run.NextSeq, 1), Next: &journal.Transition{State: next}}
		switch _, err := f.Store.Commit(f.Context(), c.Lease, b); {
		case err != nil && cutOff(err) != nil:
			return err
		case err != nil:
		default:
			r, rerr := f.Store.Run(f.Context(), acme, c.Run.ID)
			if rerr != nil || r.NextSeq != c.Run.NextSeq+1 {
				return fmt.Errorf("run %s: got %d entries, %v, want %d", c.Run.ID, r.NextSeq, rerr, c.Run.NextSeq+1)
			}
		}
	}
	return nil
}
