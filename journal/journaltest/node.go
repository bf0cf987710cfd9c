package journaltest

import (
	"strings"
	"testing"
	"time"

	"reprise/journal"
)

func testNodes(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"register", func(f *fixture) {
			before := f.now()
			n, err := f.Store.Register(f.Context(), "n1", ttl)
			f.must(err)
			if !strings.HasPrefix(n.ID, "n1#") || n.Name != "n1" || !n.Live || n.Runs != 0 {
				f.Fatalf("got %+v, want a live n1 without runs", n)
			}
			if n.StartedAt.Before(before) || n.StartedAt.After(f.now()) || n.ExpiresAt.Sub(n.StartedAt) != ttl {
				f.Fatalf("got started %s, expires %s, want %s apart by the database's clock", n.StartedAt, n.ExpiresAt, ttl)
			}
			f.diff("listed", f.nodes(), []journal.Node{n})
		}},
		{"each boot has an id of its own", func(f *fixture) {
			a, b := f.register("n1"), f.register("n1")
			if a == b {
				f.Fatalf("ids: got %s twice", a)
			}
			_, err := f.Store.Heartbeat(f.Context(), a, ttl)
			f.want("heartbeat of the earlier boot", err, journal.ErrNodeLapsed)
			_, err = f.Store.Heartbeat(f.Context(), b, ttl)
			f.must(err)
		}},
		{"a name ends only its own", func(f *fixture) {
			a := f.register("n1")
			for _, name := range []string{"n", "n1#", "N1", "n11", "n_"} {
				f.register(name)
			}
			_, err := f.Store.Heartbeat(f.Context(), a, ttl)
			f.must(err)
		}},
		{"heartbeat prolongs from now", func(f *fixture) {
			n := f.register("n1")
			f.Advance(ttl / 2)
			before := f.now()
			now, err := f.Store.Heartbeat(f.Context(), n, 2*ttl)
			f.must(err)
			if now.Before(before) || now.After(f.now()) {
				f.Fatalf("now: got %s, want the database's clock", now)
			}
			if got := f.nodes()[0].ExpiresAt.Sub(now); got != 2*ttl {
				f.Fatalf("expires: got %s from now, want %s", got, 2*ttl)
			}
		}},
		{"a lapsed lease stays lapsed", func(f *fixture) {
			n := f.register("n1")
			f.Advance(ttl + time.Second)
			for range 2 {
				_, err := f.Store.Heartbeat(f.Context(), n, ttl)
				f.want("heartbeat", err, journal.ErrNodeLapsed)
			}
			_, err := f.Store.Heartbeat(f.Context(), "nobody#0", ttl)
			f.want("unknown node", err, journal.ErrNodeLapsed)
		}},
		{"an ended lease stays ended when the clock goes back", func(f *fixture) {
			n := f.register("n1")
			f.must(f.Store.Unregister(f.Context(), n))
			f.Advance(-ttl / 2)
			_, err := f.Store.Heartbeat(f.Context(), n, ttl)
			f.want("heartbeat", err, journal.ErrNodeLapsed)
		}},
		{"unregister", func(f *fixture) {
			n := f.register("n1")
			for range 2 {
				f.must(f.Store.Unregister(f.Context(), n))
			}
			f.must(f.Store.Unregister(f.Context(), "nobody#0"))
			_, err := f.Store.Heartbeat(f.Context(), n, ttl)
			f.want("heartbeat", err, journal.ErrNodeLapsed)
			f.diff("listed", f.nodes(), []journal.Node{})
		}},
		{"lists who is live or still owns runs", nodeList},
	})
}

func (f *fixture) nodes() []journal.Node {
	f.Helper()
	ns, err := f.Store.ListNodes(f.Context())
	f.must(err)
	return ns
}

func nodeList(f *fixture) {
	l := f.owned()
	f.create(f.newRun())
	f.claim(l.Node)
	f.register("n2")
	type line struct {
		Name string
		Live bool
		Runs int
	}
	list := func() map[line]int {
		got := map[line]int{}
		for _, n := range f.nodes() {
			got[line{n.Name, n.Live, n.Runs}]++
		}
		return got
	}
	f.diff("live", list(), map[line]int{{"n1", true, 2}: 1, {"n2", true, 0}: 1})
	f.Advance(ttl + time.Second)
	f.diff("lapsed", list(), map[line]int{{"n1", false, 2}: 1})
	f.register("n2")
	f.diff("lapsed and a new boot", list(), map[line]int{{"n1", false, 2}: 1, {"n2", true, 0}: 1})
	f.claims(f.register("n1"), 10)
	f.diff("taken over", list(), map[line]int{{"n1", true, 2}: 1, {"n2", true, 0}: 1})
}

func testMail(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"tells what is newer than seen", func(f *fixture) {
			a := f.owned()
			b := f.create(f.newRun()).ID
			f.claim(a.Node)
			f.mail(a.Node, nil, map[journal.RunID]int64{})
			f.signal(a.Run, "s1")
			f.signal(a.Run, "s2")
			f.mail(a.Node, nil, map[journal.RunID]int64{a.Run: 2})
			f.mail(a.Node, map[journal.RunID]int64{a.Run: 0, b: 0}, map[journal.RunID]int64{a.Run: 2})
			f.mail(a.Node, map[journal.RunID]int64{a.Run: 1}, map[journal.RunID]int64{a.Run: 2})
			f.mail(a.Node, map[journal.RunID]int64{a.Run: 2}, map[journal.RunID]int64{})
			f.signal(b, "s1")
			f.mail(a.Node, map[journal.RunID]int64{a.Run: 2}, map[journal.RunID]int64{b: 1})
		}},
		{"tells of a cancel", func(f *fixture) {
			l := f.owned()
			f.cancel(l.Run)
			f.mail(l.Node, nil, map[journal.RunID]int64{l.Run: 1})
		}},
		{"only of runs that the node owns", func(f *fixture) {
			l := f.owned()
			r := f.create(f.newRun())
			f.signal(l.Run, "s1")
			f.signal(r.ID, "s1")
			f.mail(f.register("n2"), nil, map[journal.RunID]int64{})
			f.mail("nobody#0", nil, map[journal.RunID]int64{})
			f.mail(l.Node, map[journal.RunID]int64{r.ID: 0, journal.NewRunID(): 0}, map[journal.RunID]int64{l.Run: 1})
			f.suspend(l, 1)
			f.mail(l.Node, nil, map[journal.RunID]int64{})
		}},
		{"a stash is no mail", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(9, "x")}})
			f.mail(l.Node, nil, map[journal.RunID]int64{})
			f.signal(l.Run, "s1")
			pos := f.run(l.Run).InboxPos
			f.commit(l, journal.Batch{Stash: []journal.Arrival{done(9, "y")}})
			f.mail(l.Node, map[journal.RunID]int64{l.Run: pos}, map[journal.RunID]int64{})
		}},
	})
}

func (f *fixture) mail(node string, seen, want map[journal.RunID]int64) {
	f.Helper()
	got, err := f.Store.Mail(f.Context(), node, seen)
	f.must(err)
	f.diff("mail", got, want)
}

// hintWithin bounds the wait for a hint, which is lost only when the store is broken; it is no measure.
const hintWithin = 30 * time.Second

func testHints(t *testing.T, open Open) {
	hinted := func(f *fixture, what string, act func()) {
		f.Helper()
		for drained := false; !drained; {
			select {
			case <-f.Store.Hints():
			default:
				drained = true
			}
		}
		act()
		select {
		case <-f.Store.Hints():
		case <-time.After(hintWithin):
			f.Fatalf("%s: got no hint, want one", what)
		}
	}
	cases(t, open, []testCase{
		{"after what makes a run due", func(f *fixture) {
			r := f.newRun()
			hinted(f, "create", func() { f.create(r) })
			l := f.claim(f.register("n1")).Lease
			hinted(f, "signal to a running run", func() { f.signal(l.Run, "s1") })
			hinted(f, "suspension that is ready at once", func() { f.suspend(l, 0) })
			l = f.claim(l.Node).Lease
			f.suspend(l, 1)
			hinted(f, "signal to a waiting run", func() { f.signal(l.Run, "s2") })
			l = f.claim(l.Node).Lease
			f.commit(l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Blocked}})
			hinted(f, "resume", func() { _, err := f.Store.Resume(f.Context(), acme, l.Run); f.must(err) })
			l = f.claim(l.Node).Lease
			f.suspend(l, 2)
			hinted(f, "cancel", func() { f.cancel(l.Run) })
		}},
		{"nobody has to listen", func(f *fixture) {
			for range 100 {
				f.create(f.newRun())
			}
		}},
	})
}
