package postgres

import (
	"testing"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// narrow is a fixture whose claims do not look at everything until whole is called.
type narrow struct {
	*fixture
	node   string
	looked time.Time // by the database's clock, when claims looked at everything
}

func newNarrow(t *testing.T) *narrow {
	n := &narrow{fixture: newFixture(t)}
	n.node = n.register("n1")
	n.s.outlook.slow = 0
	n.whole(journal.Want{Limit: 10})
	return n
}

// whole has claims look at everything, and then no more.
func (n *narrow) whole(w journal.Want) (got []journal.Claim) {
	n.Helper()
	for range 2 { // the second says where the oldest are
		n.s.outlook.whole = time.Time{}
		cs, err := n.s.Claim(n.Context(), n.node, w)
		n.must(err)
		got, n.looked = append(got, cs.Claims...), cs.Now
	}
	n.s.outlook.whole = time.Now().Add(time.Hour)
	if l := n.s.outlook.next(); l.whole {
		n.Fatal("got a look at everything, want a narrow one")
	}
	return got
}

// finds checks that a narrow claim gives these runs.
func (n *narrow) finds(what string, want ...journal.RunID) (got []journal.Claim) {
	n.Helper()
	cs, err := n.s.Claim(n.Context(), n.node, journal.Want{Limit: 10})
	n.must(err)
	if len(cs.Claims) != len(want) {
		n.Fatalf("%s: got %d runs, want %d", what, len(cs.Claims), len(want))
	}
	for i, c := range cs.Claims {
		if c.Run.ID != want[i] {
			n.Errorf("%s: got run %s at %d, want %s", what, c.Run.ID, i, want[i])
		}
	}
	return cs.Claims
}

// TestNarrowClaims: while it takes long to look at everything, most claims look at what has become due lately.
func TestNarrowClaims(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(n *narrow)
	}{
		{"what starts", func(n *narrow) {
			one, two := n.create(), n.create()
			n.finds("new runs", one.ID, two.ID)
			n.finds("nothing")
		}},
		{"what wakes", func(n *narrow) {
			timer, signal := n.create(), n.create()
			due := time.Now().Add(time.Hour)
			for _, c := range n.finds("new runs", timer.ID, signal.ID) {
				next := &journal.Transition{State: journal.Waiting}
				if c.Run.ID == timer.ID {
					next.WakeAt = due
				}
				_, err := n.s.Commit(n.Context(), c.Lease, journal.Batch{Next: next})
				n.must(err)
			}
			n.finds("runs that wait")
			_, err := n.s.Signal(n.Context(), acme, signal.ID, "s1", "go", nil)
			n.must(err)
			n.finds("a signal", signal.ID)
			n.whole(journal.Want{Limit: 10})
			n.b.advance(n.T, 59*time.Minute+59*time.Second)
			n.finds("before the timer")
			n.b.advance(n.T, 2*time.Second)
			n.node = n.register("n2") // the lease of the first has lapsed
			n.finds("a timer, and what the first node had", signal.ID, timer.ID)
		}},
		{"what was left behind", func(n *narrow) {
			var ids []journal.RunID
			for range 3 {
				ids = append(ids, n.create().ID)
			}
			n.b.advance(n.T, time.Minute)
			bound := journal.Want{Limit: 10, PerTenant: 1, Held: map[tenant.ID]int{acme: 1}}
			if got := n.whole(bound); len(got) != 0 {
				n.Fatalf("got %d runs, want none beyond the tenant's bound", len(got))
			}
			n.b.advance(n.T, time.Minute)
			n.finds("when there is room", ids...)
		}},
		{"after the clock went back", func(n *narrow) {
			n.b.advance(n.T, -24*time.Hour)
			n.finds("a new run", n.create().ID)
		}},
		{"what was committed late", func(n *narrow) {
			r := n.create()
			n.b.exec(n.T, `UPDATE reprise.runs SET wake_at = $2 WHERE id = $1`, uuidOf(r.ID), n.looked.Add(-lateCommit/2))
			n.b.advance(n.T, time.Minute)
			n.finds("ready since before the last whole look, committed after it", r.ID)
		}},
		{"what was made due for long ago", func(n *narrow) {
			r := n.create()
			n.b.exec(n.T, `UPDATE reprise.runs SET wake_at = wake_at - interval '1 hour' WHERE id = $1`, uuidOf(r.ID))
			n.finds("not at once")
			if got := n.whole(journal.Want{Limit: 10}); len(got) != 1 || got[0].Run.ID != r.ID {
				n.Fatalf("got %d runs, want the one", len(got))
			}
		}},
		{"of an owner that nobody knows", func(n *narrow) {
			r := n.create()
			n.finds("a new run", r.ID)
			n.b.exec(n.T, `UPDATE reprise.runs SET owner = 'nobody#1' WHERE id = $1`, uuidOf(r.ID))
			n.finds("not at once")
			if got := n.whole(journal.Want{Limit: 10}); len(got) != 1 || got[0].StolenFrom != "nobody#1" {
				n.Fatalf("got %v, want the one", got)
			}
		}},
		{"until it is fast again", func(n *narrow) {
			n.s.outlook.slow, n.s.outlook.whole = time.Hour, time.Time{}
			n.finds("nothing")
			if l := n.s.outlook.next(); !l.whole || l.measure {
				n.Fatalf("got %+v, want a look at everything, as ever", l)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newNarrow(t)) })
	}
}
