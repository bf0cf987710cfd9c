package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
	"reprise/tenant"
)

// testShare checks how a claim shares what is due among tenants.
func testShare(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"a tenant at its bound is left out", func(f *fixture) {
			f.createOf(acme, 3)
			want := f.createOf(other, 2)
			n := f.register("n1")
			w := journal.Want{Limit: 10, PerTenant: 2, Held: map[tenant.ID]int{acme: 2}}
			if got := f.share(n, w, want); got.NextDue >= 0 {
				f.Fatalf("next due: got %s, want negative: no run waits", got.NextDue)
			}
			f.share(n, w, nil)
		}},
		{"the bound holds inside a claim", func(f *fixture) {
			first, second := f.createOf(acme, 5), f.createOf(other, 1)
			n := f.register("n1")
			f.share(n, journal.Want{Limit: 10, PerTenant: 3, Held: map[tenant.ID]int{acme: 1}}, append(first[:2:2], second...))
			f.share(n, journal.Want{Limit: 10, PerTenant: 3}, first[2:])
		}},
		{"more is due than is wanted: one by one to who has the fewest", func(f *fixture) {
			first, second := f.createOf(acme, 10), f.createOf(other, 3)
			n := f.register("n1")
			f.share(n, journal.Want{Limit: 4}, append(first[:2:2], second[:2]...))
			f.share(n, journal.Want{Limit: 1, Held: map[tenant.ID]int{acme: 2, other: 2}}, first[2:3])
			f.share(n, journal.Want{Limit: 1, Held: map[tenant.ID]int{acme: 3, other: 2}}, second[2:])
			f.share(n, journal.Want{Limit: 2, PerTenant: 9, Held: map[tenant.ID]int{acme: 3, other: 3}}, first[3:5])
		}},
		{"a backlog does not hide another tenant's run", func(f *fixture) {
			f.createOf(acme, 100)
			want := f.createOf(other, 1)
			n := f.register("n1")
			f.share(n, journal.Want{Limit: 5, PerTenant: 20, Held: map[tenant.ID]int{acme: 20}}, want)
		}},
		{"a backlog of timers does not hide another tenant's timer", func(f *fixture) {
			n := f.register("n1")
			f.wait(n, f.createOf(acme, 20), time.Minute)
			want := f.createOf(other, 1)
			f.wait(n, want, 2*time.Minute)
			f.Advance(3 * time.Minute)
			n = f.register("n1")
			f.share(n, journal.Want{Limit: 5, PerTenant: 20, Held: map[tenant.ID]int{acme: 20}}, want)
		}},
		{"ready, due and lost runs count alike", func(f *fixture) {
			n := f.register("n1")
			runs := f.createOf(acme, 3)
			if got := len(f.claims(f.register("n0"), 10).Claims); got != 3 {
				f.Fatalf("claims: got %d, want 3", got)
			}
			timed := f.createOf(acme, 1)
			f.wait(n, timed, time.Minute)
			f.Advance(ttl + time.Second)
			ready := f.createOf(acme, 1)
			second := f.createOf(other, 1)
			n = f.register("n1")
			f.share(n, journal.Want{Limit: 10, PerTenant: 4}, append(append(runs[:3:3], timed...), second...))
			f.share(n, journal.Want{Limit: 10}, ready)
		}},
		{"what is due of a tenant at its bound is not waited for", func(f *fixture) {
			n := f.register("n1")
			f.wait(n, f.createOf(acme, 2), time.Minute)
			f.wait(n, f.createOf(other, 1), 30*time.Minute)
			f.Advance(2 * time.Minute)
			w := journal.Want{Limit: 10, PerTenant: 1, Held: map[tenant.ID]int{acme: 1}}
			if got := f.share(n, w, nil); got.NextDue <= 27*time.Minute || got.NextDue > 29*time.Minute {
				f.Fatalf("next due: got %s, want the other tenant's timer, in 28 minutes", got.NextDue)
			}
		}},
		{"a bound of 0 is none", func(f *fixture) {
			f.share(f.register("n1"), journal.Want{Limit: 10, Held: map[tenant.ID]int{acme: 1000}}, f.createOf(acme, 3))
		}},
	})
}

// createOf makes ready runs of a tenant.
func (f *fixture) createOf(owner tenant.ID, n int) []journal.RunID {
	f.Helper()
	digest := f.putModule(owner, wasm)
	ids := make([]journal.RunID, n)
	for i := range ids {
		r := f.newRun()
		r.Tenant, r.Digest = owner, digest
		ids[i] = f.create(r).ID
	}
	return ids
}

// wait has a node claim runs, which must be all that is due, and give them a timer.
func (f *fixture) wait(node string, runs []journal.RunID, d time.Duration) {
	f.Helper()
	cs := f.claims(node, 1000).Claims
	if len(cs) != len(runs) {
		f.Fatalf("claims: got %d, want %d", len(cs), len(runs))
	}
	for _, c := range cs {
		f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(d)}})
	}
}

// share claims and compares the runs in their order.
func (f *fixture) share(node string, w journal.Want, want []journal.RunID) journal.Claims {
	f.Helper()
	got, err := f.Store.Claim(f.Context(), node, w)
	f.must(err)
	var ids []journal.RunID
	for _, c := range got.Claims {
		ids = append(ids, c.Run.ID)
	}
	f.diff("claimed runs", ids, want)
	return got
}
