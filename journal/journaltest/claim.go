package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
)

func testClaim(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"gives a whole run and the right to write it", func(f *fixture) {
			r := f.newRun()
			r.Key, r.Entry = "k", "main"
			r = f.create(r)
			n := f.register("n1")
			before := f.now()
			got := f.claims(n, 1)
			if len(got.Claims) != 1 {
				f.Fatalf("claims: got %d, want 1", len(got.Claims))
			}
			c := got.Claims[0]
			f.diff("lease", c.Lease, journal.Lease{Tenant: acme, Run: r.ID, Node: n, Token: c.Run.Token})
			want := r
			want.State, want.Owner, want.Token, want.Attempts, want.UpdatedAt = journal.Running, n, 1, 1, c.Run.UpdatedAt
			f.diff("run", c.Run, want)
			f.diff("stored run", f.run(r.ID), want)
			if c.StolenFrom != "" {
				f.Fatalf("stolen from: got %q, want nobody", c.StolenFrom)
			}
			if got.Now.Before(before) || got.Now.After(f.now()) {
				f.Fatalf("now: got %s, want the database's clock", got.Now)
			}
		}},
		{"oldest due first, at most limit", claimOrder},
		{"limit 0 claims nothing", func(f *fixture) {
			f.create(f.newRun())
			got := f.claims(f.register("n1"), 0)
			if len(got.Claims) != 0 || got.NextDue >= 0 || got.Now.IsZero() {
				f.Fatalf("got %d claims, next due %s, now %s; want none, negative, the clock", len(got.Claims), got.NextDue, got.Now)
			}
		}},
		{"nothing is there", func(f *fixture) {
			if got := f.claims(f.register("n1"), 10); len(got.Claims) != 0 || got.NextDue >= 0 {
				f.Fatalf("got %d claims, next due %s; want none, negative", len(got.Claims), got.NextDue)
			}
		}},
		{"only what may make progress", func(f *fixture) {
			for _, s := range journal.States {
				l, run := f.in(s)
				got := f.claims(l.Node, 10)
				if want := s == journal.Ready; want != (len(got.Claims) == 1) {
					f.Fatalf("%s: got %d claims, want %v", s, len(got.Claims), want)
				}
				if !s.Terminal() {
					f.end(run)
				}
			}
		}},
		{"a waiting run when it is due", claimDue},
		{"next due is the earliest timer", func(f *fixture) {
			f.createMany(3)
			n := f.register("n1")
			for i, c := range f.claims(n, 3).Claims {
				next := &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(time.Duration(3-i) * time.Hour)}
				if i == 0 {
					next.WakeAt = time.Time{}
				}
				f.commit(c.Lease, journal.Batch{Next: next})
			}
			n = f.register("n1")
			f.nextDue(n, 10, time.Hour)
			f.Advance(90 * time.Minute)
			n = f.register("n1")
			f.nextDue(n, 0, 0)
			if got := f.claims(n, 10); len(got.Claims) != 1 {
				f.Fatalf("claims: got %d, want 1", len(got.Claims))
			}
			f.nextDue(n, 10, 30*time.Minute)
		}},
		{"a ready run after the clock went back", func(f *fixture) {
			f.create(f.newRun())
			f.Advance(-24 * time.Hour)
			f.claim(f.register("n1"))
		}},
		{"an unknown or dead node", func(f *fixture) {
			f.create(f.newRun())
			_, err := f.Store.Claim(f.Context(), "nobody#0", journal.Want{Limit: 1})
			f.want("unknown node", err, journal.ErrNodeLapsed)
			n := f.register("n1")
			f.Advance(ttl + time.Second)
			for _, limit := range []int{0, 1} {
				_, err = f.Store.Claim(f.Context(), n, journal.Want{Limit: limit})
				f.want("expired node", err, journal.ErrNodeLapsed)
			}
			n = f.register("n1")
			f.must(f.Store.Unregister(f.Context(), n))
			_, err = f.Store.Claim(f.Context(), n, journal.Want{Limit: 1})
			f.want("unregistered node", err, journal.ErrNodeLapsed)
		}},
		{"takes runs of every tenant", func(f *fixture) {
			f.create(f.newRun())
			r := f.newRun()
			r.Tenant, r.Digest = other, f.putModule(other, wasm)
			f.create(r)
			got := map[string]bool{}
			for _, c := range f.claims(f.register("n1"), 10).Claims {
				if c.Lease.Tenant != c.Run.Tenant {
					f.Fatalf("lease of %s for a run of %s", c.Lease.Tenant, c.Run.Tenant)
				}
				got[string(c.Lease.Tenant)] = true
			}
			f.diff("tenants", got, map[string]bool{"acme": true, "other": true})
		}},
	})
}

// nextDue checks what Claim says of the next timer; the clock may have gone on by a few seconds since
// the timer was set.
func (f *fixture) nextDue(node string, limit int, want time.Duration) {
	f.Helper()
	got, err := f.Store.Claim(f.Context(), node, journal.Want{Limit: limit})
	f.must(err)
	if got.NextDue > want || got.NextDue < max(0, want-time.Minute) {
		f.Fatalf("next due: got %s, want %s", got.NextDue, want)
	}
}

func claimOrder(f *fixture) {
	runs := f.createMany(5)
	n := f.register("n1")
	first := f.claims(n, 1).Claims
	if len(first) != 1 || first[0].Run.ID != runs[0].ID {
		f.Fatalf("first claim: got %v, want the oldest run, %s", first, runs[0].ID)
	}
	// The first run becomes due again, later than the four others.
	f.commit(first[0].Lease, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(time.Minute)}})
	f.Advance(2 * time.Minute)
	want := []journal.RunID{runs[1].ID, runs[2].ID, runs[3].ID, runs[4].ID, runs[0].ID}
	var got []journal.RunID
	for _, limit := range []int{3, 10} {
		cs := f.claims(n, limit).Claims
		if len(cs) > limit {
			f.Fatalf("claims: got %d, want at most %d", len(cs), limit)
		}
		for _, c := range cs {
			got = append(got, c.Run.ID)
		}
	}
	f.diff("order", got, want)
	f.claimNone(n)
}

func claimDue(f *fixture) {
	l := f.owned()
	due := f.now().Add(10 * time.Minute).Truncate(time.Microsecond)
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: due, Waiting: "timer"}})
	if r := f.run(l.Run); !r.WakeAt.Equal(due) || r.Waiting != "timer" || r.Owner != "" {
		f.Fatalf("waiting run: got due %s, waiting %q, owner %q; want %s, timer, none", r.WakeAt, r.Waiting, r.Owner, due)
	}
	f.claimNone(l.Node)
	f.Advance(5 * time.Minute)
	f.claimNone(l.Node)
	f.Advance(6 * time.Minute)
	c := f.claim(l.Node)
	if c.Lease.Token != l.Token+1 || c.Run.Attempts != 1 || c.StolenFrom != "" {
		f.Fatalf("got token %d, attempts %d, stolen from %q; want %d, 1, nobody", c.Lease.Token, c.Run.Attempts, c.StolenFrom, l.Token+1)
	}
	if c.Run.Waiting != "" || !c.Run.WakeAt.IsZero() {
		f.Fatalf("running run: got waiting %q until %s, want neither", c.Run.Waiting, c.Run.WakeAt)
	}
}

func testTakeover(t *testing.T, open Open) {
	takes := func(f *fixture, old journal.Lease, node string) journal.Claim {
		f.Helper()
		c := f.claim(node)
		if c.Lease.Run != old.Run || c.Lease.Token != old.Token+1 || c.StolenFrom != old.Node || c.Run.Attempts != 2 {
			f.Fatalf("got %+v from %q at attempt %d, want token %d from %q at attempt 2", c.Lease, c.StolenFrom, c.Run.Attempts, old.Token+1, old.Node)
		}
		f.refuse("the old owner", old, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
		return c
	}
	cases(t, open, []testCase{
		{"not while the owner is live", func(f *fixture) {
			f.owned()
			f.claimNone(f.register("n2"))
		}},
		{"when the owner has expired", func(f *fixture) {
			old := f.owned()
			f.Advance(ttl + time.Second)
			takes(f, old, f.register("n2"))
		}},
		{"when the owner has unregistered", func(f *fixture) {
			old := f.owned()
			f.must(f.Store.Unregister(f.Context(), old.Node))
			f.refuse("before anybody took over", old, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
			takes(f, old, f.register("n2"))
		}},
		{"when a node of the same name has registered", func(f *fixture) {
			old := f.owned()
			n2 := f.register("n2")
			n1 := f.register("n1")
			f.refuse("before anybody took over", old, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
			takes(f, old, n1)
			f.claimNone(n2)
		}},
		{"not when the owner has prolonged its lease", func(f *fixture) {
			old := f.owned()
			f.Advance(ttl / 2)
			_, err := f.Store.Heartbeat(f.Context(), old.Node, ttl)
			f.must(err)
			f.Advance(ttl * 3 / 4)
			f.claimNone(f.register("n2"))
			f.commit(old, journal.Batch{Entries: entries(0, 1)})
		}},
		{"keeps journal, inbox and published values", func(f *fixture) {
			old := f.owned()
			f.signal(old.Run, "s1")
			f.commit(old, journal.Batch{Entries: entries(0, 2), Stash: []journal.Arrival{retry(9, 3)}, Published: []journal.Published{{Key: "k", Value: []byte("v")}}})
			before := f.snapshot(acme, old.Run)
			f.Advance(ttl + time.Second)
			c := takes(f, old, f.register("n2"))
			after := f.snapshot(acme, old.Run)
			f.diff("claimed run", c.Run, after.Run)
			after.Run = before.Run
			f.diff("the rest", after, before)
		}},
		{"attempts add up until a suspension", func(f *fixture) {
			old := f.owned()
			f.Advance(ttl + time.Second)
			c := takes(f, old, f.register("n2"))
			f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Ready, KeepAttempts: true}})
			c = f.claim(c.Lease.Node)
			if c.Run.Attempts != 3 || c.StolenFrom != "" {
				f.Fatalf("got attempt %d, stolen from %q; want 3, nobody", c.Run.Attempts, c.StolenFrom)
			}
			f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Ready}})
			if c = f.claim(c.Lease.Node); c.Run.Attempts != 1 {
				f.Fatalf("attempts: got %d, want 1", c.Run.Attempts)
			}
		}},
	})
}
