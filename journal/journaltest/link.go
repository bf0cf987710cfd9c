package journaltest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// family is a run and a child that it has started by handle op.
func (f *fixture) family(op int32, abandoned bool) (parent journal.Lease, child journal.Run) {
	f.Helper()
	parent = f.owned()
	child = f.startChild(parent, op, abandoned)
	return parent, child
}

// childOf is a child that a run starts by handle op, and the arrival that stands for it.
func (f *fixture) childOf(parent journal.RunID, op int32, abandoned bool) (journal.Run, journal.Arrival) {
	r := f.newRun()
	r.ID, r.Key = journal.ChildID(parent, op, epoch), ""
	r.ParentOp, r.Abandoned = op, abandoned
	return r, journal.Arrival{ID: fmt.Sprintf("op:%d", op), Kind: journal.ArrivalChild, Op: op, Name: r.ID.String()}
}

func (f *fixture) startChild(parent journal.Lease, op int32, abandoned bool) journal.Run {
	f.Helper()
	r, marker := f.childOf(parent.Run, op, abandoned)
	f.commit(parent, journal.Batch{Stash: []journal.Arrival{marker}, Children: []journal.Run{r}})
	return r
}

// claimRun claims runs until it has the one wanted.
func (f *fixture) claimRun(node string, want journal.RunID) journal.Lease {
	f.Helper()
	for _, c := range f.claims(node, 100).Claims {
		if c.Run.ID == want {
			return c.Lease
		}
	}
	f.Fatalf("run %s was not there to be claimed", want)
	return journal.Lease{}
}

// endAs ends a run as a turn does that knows whether it is a child.
func (f *fixture) endAs(l journal.Lease, next journal.Transition) {
	f.Helper()
	r := f.run(l.Run)
	next.Parent = r.Parent != journal.RunID{} && next.Successor == nil
	f.commit(l, journal.Batch{Entries: entries(r.NextSeq, 1), Next: &next})
}

// told checks that a run's inbox has the end of a child, and nothing else.
func (f *fixture) told(parent journal.RunID, op int32, s abi.Status, payload []byte) {
	f.Helper()
	as := f.arrivals(parent)
	if len(as) != 1 || as[0].Kind != journal.ArrivalDone || as[0].Op != op || as[0].Status != s || !bytes.Equal(as[0].Payload, payload) || as[0].Pos != f.run(parent).InboxPos {
		f.Fatalf("got %+.300v in the inbox, want the end of handle %d: %s, %d bytes, at the newest position", as, op, s, len(payload))
	}
}

func testLinks(t *testing.T, open Open) {
	cases(t, open, append(childCases(), successorCases()...))
}

func childCases() []testCase {
	large := bytes.Repeat([]byte("large "), 20_000)
	return []testCase{
		{"a child is made with the batch, ready, once", func(f *fixture) {
			parent, child := f.family(3, false)
			got := f.state(child.ID, journal.Ready)
			if got.Parent != parent.Run || got.ParentOp != 3 || got.Depth != 1 || got.Abandoned || got.NextSeq != 0 {
				f.Fatalf("got parent %s, handle %d, depth %d, abandoned %t; want %s, 3, 1, false", got.Parent, got.ParentOp, got.Depth, got.Abandoned, parent.Run)
			}
			before := f.snapshot(acme, child.ID)
			inbox := f.arrivals(parent.Run)
			f.startChild(parent, 3, false)
			f.diff("the child after a repeat", f.snapshot(acme, child.ID), before)
			f.diff("the inbox after a repeat", f.arrivals(parent.Run), inbox)
		}},
		{"a child is not made without the lease", func(f *fixture) {
			parent := f.owned()
			stale := parent
			stale.Token--
			r, marker := f.childOf(parent.Run, 1, false)
			f.refuse("a stale owner's child", stale, journal.Batch{Stash: []journal.Arrival{marker}, Children: []journal.Run{r}}, journal.ErrFenced)
			f.absent(r.ID)
		}},
		{"a child with a large input", func(f *fixture) {
			parent := f.owned()
			r, marker := f.childOf(parent.Run, 1, true)
			r.Input = large
			f.commit(parent, journal.Batch{Stash: []journal.Arrival{marker}, Children: []journal.Run{r}})
			if got := f.run(r.ID); !bytes.Equal(got.Input, large) || !got.Abandoned {
				f.Fatalf("got an input of %d bytes, abandoned %t; want %d, true", len(got.Input), got.Abandoned, len(large))
			}
		}},
		{"its output wakes the parent", childEnds(journal.Transition{State: journal.Completed, Output: []byte("out")}, abi.OK, []byte("out"))},
		{"a large output wakes the parent", childEnds(journal.Transition{State: journal.Completed, Output: large}, abi.OK, large)},
		{"its failure wakes the parent", childEnds(journal.Transition{State: journal.Failed, Failure: []byte("why")}, abi.Failed, []byte("why"))},
		{"its cancellation wakes the parent", childEnds(journal.Transition{State: journal.Cancelled, Failure: []byte("why")}, abi.Cancelled, []byte("why"))},
		{"its end reaches a parent that runs", func(f *fixture) {
			parent, child := f.family(1, false)
			seen := f.run(parent.Run).InboxPos
			f.endAs(f.claimRun(parent.Node, child.ID), journal.Transition{State: journal.Completed})
			mail, err := f.Store.Mail(f.Context(), parent.Node, map[journal.RunID]int64{parent.Run: seen})
			f.must(err)
			if mail[parent.Run] <= seen {
				f.Fatalf("got mail up to %d, want news after %d", mail[parent.Run], seen)
			}
			if s := f.suspend(parent, seen); s != journal.Ready {
				f.Fatalf("suspended as %s, want ready: the end came in between", s)
			}
		}},
		{"a start that is repeated after its end keeps the end", func(f *fixture) {
			parent, child := f.family(1, false)
			f.endAs(f.claimRun(parent.Node, child.ID), journal.Transition{State: journal.Completed, Output: []byte("out")})
			f.startChild(parent, 1, false)
			f.told(parent.Run, 1, abi.OK, []byte("out"))
		}},
		{"a parent that has given it up is not told", func(f *fixture) {
			parent, child := f.family(1, false)
			f.commit(parent, journal.Batch{Observed: []string{"op:1"}, Cancels: []journal.RunID{child.ID}})
			r := f.state(child.ID, journal.Cancelled) // it had not begun
			if !r.CancelRequested {
				f.Fatal("got no request to end, want one")
			}
			if as := f.arrivals(parent.Run); len(as) != 0 {
				f.Fatalf("got %+v in the inbox, want nothing", as)
			}
		}},
		{"a child that runs is asked to end", func(f *fixture) {
			parent, child := f.family(1, false)
			l := f.claimRun(parent.Node, child.ID)
			f.commit(l, journal.Batch{Entries: entries(0, 1)})
			for range 2 {
				f.commit(parent, journal.Batch{Cancels: []journal.RunID{child.ID, journal.NewRunID()}})
			}
			as := f.arrivals(child.ID)
			if len(as) != 1 || as[0].Kind != journal.ArrivalCancel {
				f.Fatalf("got %+v in the child's inbox, want one request to end", as)
			}
			f.endAs(l, journal.Transition{State: journal.Cancelled})
			f.commit(parent, journal.Batch{Cancels: []journal.RunID{child.ID}}) // it has ended: nothing to do
			f.told(parent.Run, 1, abi.Cancelled, nil)
		}},
		{"a parent that ends without its guest ends its children", func(f *fixture) {
			parent := f.owned()
			bound, loose := f.startChild(parent, 1, false), f.startChild(parent, 2, true)
			f.commit(parent, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "why"}})
			_, err := f.Store.RequestCancel(f.Context(), acme, parent.Run, "stop")
			f.must(err)
			f.state(parent.Run, journal.Cancelled)
			f.state(bound.ID, journal.Cancelled)
			f.state(loose.ID, journal.Ready)
		}},
		{"a child that ends without its guest is told of", func(f *fixture) {
			parent, child := f.family(1, false)
			_, err := f.Store.RequestCancel(f.Context(), acme, child.ID, "stop")
			f.must(err)
			f.state(child.ID, journal.Cancelled)
			f.told(parent.Run, 1, abi.Cancelled, f.run(child.ID).Failure)
		}},
		{"a parent that has ended is left alone", func(f *fixture) {
			parent, child := f.family(1, true)
			f.endAs(parent, journal.Transition{State: journal.Completed})
			before := f.run(parent.Run)
			f.endAs(f.claimRun(parent.Node, child.ID), journal.Transition{State: journal.Completed})
			f.diff("the parent", f.run(parent.Run), before)
		}},
	}
}

// childEnds checks what a child's end is to a parent that waits, also when the end is written again.
func childEnds(next journal.Transition, s abi.Status, payload []byte) func(f *fixture) {
	return func(f *fixture) {
		parent, child := f.family(1, false)
		f.suspend(parent, f.run(parent.Run).InboxPos)
		l := f.claimRun(parent.Node, child.ID)
		for range 2 {
			next.Parent = true
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &next})
			if got := f.state(parent.Run, journal.Ready); got.Waiting != "" {
				f.Fatalf("the parent waits for %q, want nothing", got.Waiting)
			}
			f.told(parent.Run, 1, s, payload)
		}
		f.claimRun(parent.Node, parent.Run)
	}
}

// continued ends a run with a successor.
func (f *fixture) continued(l journal.Lease, input []byte) journal.Run {
	f.Helper()
	r := f.run(l.Run)
	next := journal.Run{ID: journal.SuccessorID(r.ID, f.now()), Key: r.Key, Workflow: r.Workflow, Digest: r.Digest, Entry: r.Entry, Input: input}
	f.endAs(l, journal.Transition{State: journal.Continued, Successor: &next})
	return next
}

func successorCases() []testCase {
	return []testCase{
		{"a successor goes on under the same key", func(f *fixture) {
			r := f.newRun()
			r.Key = "cart-7"
			f.create(r)
			l := f.claim(f.register("n1")).Lease
			next := f.continued(l, []byte("more"))
			old, got := f.state(r.ID, journal.Continued), f.state(next.ID, journal.Ready)
			if old.Successor != next.ID || got.Key != r.Key || string(got.Input) != "more" || got.Depth != 0 || got.Parent != (journal.RunID{}) {
				f.Fatalf("got successor %s with key %q, input %q; want %s, %q, more", old.Successor, got.Key, got.Input, next.ID, r.Key)
			}
			again := journal.Transition{State: journal.Continued, Successor: &next}
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &again})
			f.claimRun(l.Node, next.ID)
			f.claimNone(l.Node)
		}},
		{"a successor has the parent", func(f *fixture) {
			parent, child := f.family(4, false)
			next := f.continued(f.claimRun(parent.Node, child.ID), nil)
			if as := f.arrivals(parent.Run); len(as) != 1 || as[0].Kind != journal.ArrivalChild {
				f.Fatalf("got %+v in the inbox, want the child, which goes on", as)
			}
			if got := f.run(next.ID); got.Parent != parent.Run || got.ParentOp != 4 || got.Depth != 1 {
				f.Fatalf("got parent %s, handle %d, depth %d; want %s, 4, 1", got.Parent, got.ParentOp, got.Depth, parent.Run)
			}
			last := f.continued(f.claimRun(parent.Node, next.ID), nil)
			f.commit(parent, journal.Batch{Cancels: []journal.RunID{child.ID}})
			f.state(last.ID, journal.Cancelled) // the request went to who goes on
			f.told(parent.Run, 4, abi.Cancelled, f.run(last.ID).Failure)
		}},
		{"what waits in the inbox goes over", func(f *fixture) {
			l := f.owned()
			large := bytes.Repeat([]byte("large "), 20_000)
			for i, payload := range [][]byte{[]byte("seen"), []byte("a"), large} {
				_, err := f.Store.Signal(f.Context(), acme, l.Run, fmt.Sprint(i), "go", payload)
				f.must(err)
			}
			f.commit(l, journal.Batch{Observed: []string{"signal:0"}})
			next := f.continued(l, nil)
			as := f.arrivals(next.ID)
			if len(as) != 2 || string(as[0].Payload) != "a" || !bytes.Equal(as[1].Payload, large) || as[0].Pos != 1 || as[1].Pos != 2 {
				f.Fatalf("got %+.200v in the inbox, want the two signals that nobody saw, in order", as)
			}
			if got := f.run(next.ID); got.InboxPos != 2 {
				f.Fatalf("got inbox position %d, want 2", got.InboxPos)
			}
			dup, err := f.Store.Signal(f.Context(), acme, next.ID, "1", "go", []byte("a"))
			f.must(err)
			if !dup {
				f.Fatal("a signal that went over was taken for a new one")
			}
			_, err = f.Store.Signal(f.Context(), acme, next.ID, "3", "go", []byte("b"))
			f.must(err)
			if as := f.arrivals(next.ID); len(as) != 3 || as[2].Pos != 3 {
				f.Fatalf("got %+.200v in the inbox, want a third signal at the end", as)
			}
			f.Advance(time.Second)
			c := f.claimRun(l.Node, next.ID)
			f.commit(c, journal.Batch{Observed: []string{"signal:1", "signal:2", "signal:3"}})
		}},
		{"a request to end that nobody saw goes over", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1)})
			_, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "stop")
			f.must(err)
			next := f.continued(l, nil)
			if r := f.state(next.ID, journal.Cancelled); !r.CancelRequested {
				f.Fatal("got no request to end, want one")
			}
		}},
		{"a request to end that was seen does not go over", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1)})
			_, err := f.Store.RequestCancel(f.Context(), acme, l.Run, "stop")
			f.must(err)
			f.commit(l, journal.Batch{Observed: []string{"cancel"}})
			f.state(f.continued(l, nil).ID, journal.Ready)
		}},
	}
}
