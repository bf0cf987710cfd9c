package journaltest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"reprise/journal"
	"reprise/tenant"
)

// pageBytes is the bound of one answer of Entries.
const pageBytes = 8 << 20

func testRead(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"what is not there", func(f *fixture) {
			ctx, none := f.Context(), journal.NewRunID()
			_, err := f.Store.Run(ctx, acme, none)
			f.want("run", err, journal.ErrNotFound)
			_, err = f.Store.Entries(ctx, acme, none, 0, 10)
			f.want("entries", err, journal.ErrNotFound)
			_, err = f.Store.Arrivals(ctx, acme, none, 0)
			f.want("arrivals", err, journal.ErrNotFound)
			_, err = f.Store.Published(ctx, acme, none)
			f.want("published", err, journal.ErrNotFound)
		}},
		{"what is empty", func(f *fixture) {
			r := f.create(f.newRun())
			f.diff("snapshot", f.snapshot(acme, r.ID), snapshot{Run: r})
		}},
		{"entries from a position, at most limit", func(f *fixture) {
			l := f.owned()
			f.commit(l, journal.Batch{Entries: entries(0, 10)})
			for _, c := range []struct {
				from  int64
				limit int
				want  []int64
			}{
				{0, 3, []int64{0, 1, 2}}, {3, 3, []int64{3, 4, 5}}, {8, 5, []int64{8, 9}}, {9, 1, []int64{9}}, {10, 5, nil}, {99, 5, nil},
			} {
				es, err := f.Store.Entries(f.Context(), acme, l.Run, c.from, c.limit)
				f.must(err)
				var got []int64
				for _, e := range es {
					got = append(got, e.Seq)
				}
				f.diff(fmt.Sprintf("from %d limit %d", c.from, c.limit), got, c.want)
			}
		}},
		{"entries in pages of 8 MiB", func(f *fixture) {
			l := f.owned()
			es := entries(0, 9)
			for i := range es {
				es[i].Payload = bytes.Repeat([]byte{byte(i)}, 2<<20)
				f.commit(l, journal.Batch{Entries: es[i : i+1]})
			}
			next, pages := 0, 0
			for ; next < len(es); pages++ {
				page, err := f.Store.Entries(f.Context(), acme, l.Run, int64(next), 1000)
				f.must(err)
				if len(page) == 0 {
					f.Fatalf("page from %d: got nothing, want at least one entry", next)
				}
				size := 0
				for i, e := range page {
					if !e.Same(es[next+i]) {
						f.Fatalf("entry %d: got seq %d with %d bytes, want it as written", next+i, e.Seq, len(e.Payload))
					}
					if i < len(page)-1 {
						size += len(e.Request) + len(e.Options) + len(e.Payload)
					}
				}
				if size > pageBytes {
					f.Fatalf("page from %d: got %d bytes before the last entry, want at most %d", next, size, pageBytes)
				}
				next += len(page)
			}
			if pages > 3 {
				f.Fatalf("pages: got %d for 18 MiB, want at most 3", pages)
			}
		}},
		{"an entry of more than a page", func(f *fixture) {
			l := f.owned()
			e := entry(0)
			e.Request = make([]byte, pageBytes+1)
			f.commit(l, journal.Batch{Entries: []journal.Entry{e, entry(1)}})
			es, err := f.Store.Entries(f.Context(), acme, l.Run, 0, 10)
			f.must(err)
			if len(es) < 1 || len(es[0].Request) != pageBytes+1 {
				f.Fatalf("got %d entries, want the large one", len(es))
			}
		}},
	})
}

func testList(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"newest first, without large fields", func(f *fixture) {
			runs := f.createMany(3)
			l := f.claims(f.register("n1"), 1).Claims[0].Lease
			f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
			page, err := f.Store.Runs(f.Context(), acme, journal.Filter{})
			f.must(err)
			var want []journal.Run
			for i := len(runs) - 1; i >= 0; i-- {
				r := f.run(runs[i].ID)
				r.Input, r.Output, r.Failure = nil, nil, nil
				want = append(want, r)
			}
			f.diff("page", page, journal.Page{Runs: want})
		}},
		{"nothing", func(f *fixture) {
			page, err := f.Store.Runs(f.Context(), acme, journal.Filter{})
			f.must(err)
			f.diff("page", page, journal.Page{})
		}},
		{"filters", listFilters},
		{"pages", func(f *fixture) {
			runs := f.createMany(7)
			for _, limit := range []int{1, 2, 3, 6, 7, 8} {
				var got []journal.RunID
				for _, r := range f.pages(journal.Filter{Limit: limit}) {
					got = append(got, r.ID)
				}
				var want []journal.RunID
				for i := len(runs) - 1; i >= 0; i-- {
					want = append(want, runs[i].ID)
				}
				f.diff(fmt.Sprintf("limit %d", limit), got, want)
			}
		}},
		{"a page is steady while runs are made", func(f *fixture) {
			runs := f.createMany(4)
			first, err := f.Store.Runs(f.Context(), acme, journal.Filter{Limit: 2})
			f.must(err)
			f.createMany(3)
			second, err := f.Store.Runs(f.Context(), acme, journal.Filter{Limit: 2, Cursor: first.Cursor})
			f.must(err)
			if len(second.Runs) != 2 || second.Runs[0].ID != runs[1].ID || second.Runs[1].ID != runs[0].ID {
				f.Fatalf("second page: got %v, want the two oldest", second.Runs)
			}
		}},
		{"a limit of 0 is 100", func(f *fixture) {
			f.createMany(101)
			page, err := f.Store.Runs(f.Context(), acme, journal.Filter{})
			f.must(err)
			if len(page.Runs) != 100 || page.Cursor == "" {
				f.Fatalf("got %d runs, cursor %q; want 100 and a cursor", len(page.Runs), page.Cursor)
			}
		}},
		{"a forged cursor", func(f *fixture) {
			f.createMany(2)
			page, err := f.Store.Runs(f.Context(), acme, journal.Filter{Limit: 1})
			f.must(err)
			real := page.Cursor
			for _, c := range []string{"nonsense", "AAAA", " ", "'; DROP TABLE runs; --", strings.Repeat("A", 10_000), "\x00\xff",
				real + "x", real[1:], real[:len(real)-1], real + real} {
				_, err := f.Store.Runs(f.Context(), acme, journal.Filter{Cursor: c})
				f.want(fmt.Sprintf("cursor %.40q", c), err, journal.ErrConflict)
			}
		}},
		{"another tenant's cursor shows nothing of theirs", func(f *fixture) {
			f.createMany(3)
			page, err := f.Store.Runs(f.Context(), acme, journal.Filter{Limit: 1})
			f.must(err)
			theirs, err := f.Store.Runs(f.Context(), other, journal.Filter{Cursor: page.Cursor})
			if err != nil {
				f.want("list", err, journal.ErrConflict)
			} else if len(theirs.Runs) != 0 {
				f.Fatalf("got %d runs of another tenant", len(theirs.Runs))
			}
		}},
	})
}

// pages reads a list to its end.
func (f *fixture) pages(filter journal.Filter) []journal.Run {
	f.Helper()
	var all []journal.Run
	for {
		page, err := f.Store.Runs(f.Context(), acme, filter)
		f.must(err)
		if len(page.Runs) > filter.Limit {
			f.Fatalf("page: got %d runs, want at most %d", len(page.Runs), filter.Limit)
		}
		all = append(all, page.Runs...)
		if page.Cursor == "" {
			return all
		}
		filter.Cursor = page.Cursor
	}
}

func listFilters(f *fixture) {
	n := f.register("n1")
	for i, s := range []journal.State{journal.Running, journal.Running, journal.Waiting, journal.Completed, journal.Waiting, journal.Ready} {
		r := f.newRun()
		r.Workflow, r.Key = []string{"a", "b"}[i%2], fmt.Sprint("k", i)
		f.create(r)
		if s == journal.Ready {
			continue // the last one is left alone
		}
		l := f.claim(n).Lease
		if s != journal.Running {
			f.commit(l, journal.Batch{Next: &journal.Transition{State: s}})
		}
	}
	for _, c := range []struct {
		filter journal.Filter
		want   string
	}{
		{journal.Filter{}, "k5 k4 k3 k2 k1 k0"},
		{journal.Filter{State: journal.Waiting}, "k4 k2"},
		{journal.Filter{State: journal.Running}, "k1 k0"},
		{journal.Filter{State: journal.Ready}, "k5"},
		{journal.Filter{State: journal.Blocked}, ""},
		{journal.Filter{State: "nonsense"}, ""},
		{journal.Filter{Workflow: "a"}, "k4 k2 k0"},
		{journal.Filter{Workflow: "A"}, ""},
		{journal.Filter{Key: "k3"}, "k3"},
		{journal.Filter{Key: "k"}, ""},
		{journal.Filter{Workflow: "a", State: journal.Waiting}, "k4 k2"},
		{journal.Filter{Workflow: "b", State: journal.Waiting}, ""},
		{journal.Filter{Workflow: "a", State: journal.Waiting, Key: "k2"}, "k2"},
	} {
		for _, limit := range []int{1, 1000} {
			c.filter.Limit = limit
			var got []string
			for _, r := range f.pages(c.filter) {
				got = append(got, r.Key)
			}
			if g := strings.Join(got, " "); g != c.want {
				f.Fatalf("%+v: got %q, want %q", c.filter, g, c.want)
			}
		}
	}
}

func testTenants(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"another tenant's run is not found", func(f *fixture) {
			ctx := f.Context()
			l := f.owned()
			f.signal(l.Run, "s1")
			f.commit(l, journal.Batch{Entries: entries(0, 1), Published: []journal.Published{{Key: "k", Value: []byte("v")}}})
			before := f.snapshot(acme, l.Run)
			for _, t := range []tenant.ID{other, "", "acme ", "ACME", "acm", "acme-2"} {
				_, err := f.Store.Run(ctx, t, l.Run)
				f.want("run", err, journal.ErrNotFound)
				_, err = f.Store.Entries(ctx, t, l.Run, 0, 1)
				f.want("entries", err, journal.ErrNotFound)
				_, err = f.Store.Arrivals(ctx, t, l.Run, 0)
				f.want("arrivals", err, journal.ErrNotFound)
				_, err = f.Store.Published(ctx, t, l.Run)
				f.want("published", err, journal.ErrNotFound)
				_, err = f.Store.Signal(ctx, t, l.Run, "s2", "paid", nil)
				f.want("signal", err, journal.ErrNotFound)
				_, err = f.Store.Signal(ctx, t, l.Run, "s1", "paid", []byte("payload of s1"))
				f.want("signal sent before", err, journal.ErrNotFound)
				_, err = f.Store.RequestCancel(ctx, t, l.Run, "stop it")
				f.want("cancel", err, journal.ErrNotFound)
				_, err = f.Store.Resume(ctx, t, l.Run)
				f.want("resume", err, journal.ErrNotFound)
				page, err := f.Store.Runs(ctx, t, journal.Filter{})
				f.must(err)
				f.diff("list", page, journal.Page{})
				theirs := l
				theirs.Tenant = t
				_, err = f.Store.Commit(ctx, theirs, journal.Batch{Entries: entries(1, 1)})
				f.want("commit", err, journal.ErrFenced)
			}
			f.diff("the run changed", f.snapshot(acme, l.Run), before)
		}},
		{"keys are per tenant", func(f *fixture) {
			d := f.putModule(other, wasm)
			r := f.newRun()
			r.Key, r.IdempotencyKey = "k", "req-1"
			f.create(r)
			r.Tenant, r.Digest, r.ID, r.Input = other, d, journal.NewRunID(), []byte("other input")
			f.create(r)
			page, err := f.Store.Runs(f.Context(), other, journal.Filter{Key: "k"})
			f.must(err)
			if len(page.Runs) != 1 || page.Runs[0].ID != r.ID {
				f.Fatalf("list: got %v, want only the tenant's own run", page.Runs)
			}
		}},
	})
}
