package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
)

// testRepeat is the third law: a commit whose answer was lost may be sent again unchanged. A repeat
// succeeds, answers with the run's state of now, and writes nothing. A commit that keeps the lease is
// a repeat while the lease holds; one that gave the lease up is a repeat until the next claim.
func testRepeat(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"of entries", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 2)})
			f.repeats(l, journal.Batch{Entries: entries(2, 3)}, journal.Running)
		}},
		{"of everything at once", func(f *fixture) {
			l := f.owned()
			f.signal(l.Run, "s1")
			f.repeats(l, journal.Batch{Entries: entries(0, 2), Stash: []journal.Arrival{done(9, "x")}, Observed: []string{"signal:s1"},
				Published: []journal.Published{{Key: "k", Value: []byte("v")}}}, journal.Running)
		}},
		{"of a stash", func(f *fixture) {
			l := f.owned()
			f.repeats(l, journal.Batch{Stash: []journal.Arrival{done(9, "x"), retry(8, 1)}}, journal.Running)
		}},
		{"of published values", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Published: []journal.Published{{Key: "k", Value: []byte("v")}}}
			f.commit(l, b)
			f.commit(l, b)
			ps, err := f.Store.Published(f.Context(), acme, l.Run)
			f.must(err)
			if len(ps) != 1 || string(ps[0].Value) != "v" {
				f.Fatalf("published: got %v, want one value", ps)
			}
		}},
		{"of each transition with entries", func(f *fixture) {
			for _, s := range journal.Transitions[journal.Running] {
				l := f.owned()
				f.repeats(l, journal.Batch{Entries: entries(0, 2), Next: &journal.Transition{State: s}}, s)
				if !s.Terminal() {
					f.end(l.Run)
				}
			}
		}},
		{"of each transition without entries", func(f *fixture) {
			for _, s := range journal.Transitions[journal.Running] {
				l := f.owned()
				f.repeats(l, journal.Batch{Next: &journal.Transition{State: s}}, s)
				if !s.Terminal() {
					f.end(l.Run)
				}
			}
		}},
		{"of a suspension that was turned into ready", func(f *fixture) {
			l := f.owned()
			f.signal(l.Run, "s1")
			f.repeats(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting}}, journal.Ready)
		}},
		{"of a suspension that something has ended since", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting}}
			f.commit(l, b)
			f.signal(l.Run, "s1")
			f.repeats(l, b, journal.Ready)
		}},
		{"of an end, though the node has lapsed since", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}}
			f.commit(l, b)
			f.Advance(ttl + time.Second)
			f.repeats(l, b, journal.Completed)
		}},
		{"not after the next claim", func(f *fixture) {
			l := f.owned()
			b := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Ready}}
			f.commit(l, b)
			f.claim(l.Node)
			f.refuse("repeat", l, b, journal.ErrFenced)
		}},
		{"not with another transition", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Waiting}})
			f.refuse("completed", l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}}, journal.ErrFenced)
			f.refuse("completed without entries", l, journal.Batch{Next: &journal.Transition{State: journal.Completed}}, journal.ErrFenced)
			f.refuse("no transition", l, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
		}},
		{"not with other entries", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 2), Next: &journal.Transition{State: journal.Waiting}})
			for name, es := range map[string][]journal.Entry{"fewer": entries(0, 1), "more": entries(0, 3), "later": entries(2, 1)} {
				f.refuse(name, l, journal.Batch{Entries: es, Next: &journal.Transition{State: journal.Waiting}}, journal.ErrFenced)
			}
			es := entries(0, 2)
			es[1].Trail++
			f.refuse("changed", l, journal.Batch{Entries: es, Next: &journal.Transition{State: journal.Waiting}}, journal.ErrFenced)
		}},
		{"not with anything else changed", repeatReleased},
		{"not of what another lease wrote", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Ready}})
			c := f.claim(l.Node)
			f.refuse("entries of the last turn", c.Lease, journal.Batch{Entries: entries(0, 1)}, journal.ErrConflict)
		}},
		{"not with one field changed", repeatFields},
		{"not with a transition that the first had not", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 2)})
			f.refuse("with a transition", l, journal.Batch{Entries: entries(0, 2), Next: &journal.Transition{State: journal.Completed}}, journal.ErrConflict)
		}},
	})
}

// repeats commits twice and checks that the second time is told the state and changes nothing.
func (f *fixture) repeats(l journal.Lease, b journal.Batch, want journal.State) {
	f.Helper()
	f.commit(l, b)
	before := f.snapshot(acme, l.Run)
	for range 2 {
		if got := f.commit(l, b); got != want {
			f.Fatalf("repeat: got state %s, want %s", got, want)
		}
	}
	after := f.snapshot(acme, l.Run)
	if len(b.Entries) == 0 && b.Next == nil {
		after.Run.UpdatedAt = before.Run.UpdatedAt
	}
	f.diff("the repeat changed the run", after, before)
}

// repeatReleased changes one thing at a time in a batch that gave up its lease. A changed batch is new,
// and its lease is gone: to call it done would lose the change.
func repeatReleased(f *fixture) {
	l := f.owned()
	f.signal(l.Run, "s1")
	batch := func() journal.Batch {
		return journal.Batch{Entries: entries(0, 1), Stash: []journal.Arrival{done(9, "x")}, Observed: []string{"signal:s1"},
			Published: []journal.Published{{Key: "k", Value: []byte("v")}},
			Next:      &journal.Transition{State: journal.Waiting, SeenPos: 1, WakeAt: epoch, Waiting: "timer"}}
	}
	f.repeats(l, batch(), journal.Waiting)
	for name, change := range map[string]func(*journal.Batch){
		"no entries":      func(b *journal.Batch) { b.Entries = nil },
		"stash":           func(b *journal.Batch) { b.Stash[0].Payload = []byte("y") },
		"no stash":        func(b *journal.Batch) { b.Stash = nil },
		"observed":        func(b *journal.Batch) { b.Observed = []string{"signal:s2"} },
		"no observed":     func(b *journal.Batch) { b.Observed = nil },
		"published":       func(b *journal.Batch) { b.Published[0].Value = nil },
		"no published":    func(b *journal.Batch) { b.Published = nil },
		"state":           func(b *journal.Batch) { b.Next.State = journal.Ready },
		"another timer":   func(b *journal.Batch) { b.Next.WakeAt = epoch.Add(time.Second) },
		"no timer":        func(b *journal.Batch) { b.Next.WakeAt = time.Time{} },
		"keeps attempts":  func(b *journal.Batch) { b.Next.KeepAttempts = true },
		"no transition":   func(b *journal.Batch) { b.Next = nil },
		"nothing but one": func(b *journal.Batch) { *b = journal.Batch{Next: b.Next} },
	} {
		b := batch()
		change(&b)
		f.refuse(name, l, b, journal.ErrFenced)
	}
	l = f.owned()
	next := journal.Transition{State: journal.Completed, Output: []byte("out")}
	f.repeats(l, journal.Batch{Next: &next}, journal.Completed)
	next.Output = []byte("another output")
	f.refuse("another output", l, journal.Batch{Next: &next}, journal.ErrFenced)
}

func repeatFields(f *fixture) {
	l := f.owned()
	f.commit(l, journal.Batch{Entries: entries(0, 2)})
	for name, change := range map[string]func(*journal.Entry){
		"kind":    func(e *journal.Entry) { e.Kind = journal.KindTimer },
		"op":      func(e *journal.Entry) { e.Op++ },
		"name":    func(e *journal.Entry) { e.Name += "x" },
		"request": func(e *journal.Entry) { e.Request = append(e.Request, 0) },
		"options": func(e *journal.Entry) { e.Options = nil },
		"status":  func(e *journal.Entry) { e.Status++ },
		"payload": func(e *journal.Entry) { e.Payload = nil },
		"issued":  func(e *journal.Entry) { e.Issued++ },
		"trail":   func(e *journal.Entry) { e.Trail-- },
		"at":      func(e *journal.Entry) { e.At = e.At.Add(time.Microsecond) },
	} {
		es := entries(0, 2)
		change(&es[1])
		f.refuse(name, l, journal.Batch{Entries: es}, journal.ErrConflict)
	}
}
