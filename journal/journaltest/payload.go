package journaltest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"reprise/journal"
)

// sizes are those around the bound from which on a payload does not stand in its row, and the largest payload.
var sizes = []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 2 << 20}

// sized is a payload of a size that differs from others by its first bytes.
func sized(n int, mark string) []byte {
	b := bytes.Repeat([]byte("0123456789abcde\x00"), n/16+1)[:n]
	copy(b, mark)
	return b
}

func testPayloads(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"around the bound, in every place", func(f *fixture) {
			for _, n := range sizes {
				keepsPayload(f, fmt.Sprintf("%d bytes", n), sized(n, "a"))
			}
		}},
		{"a repeat is told from a conflict by every byte", func(f *fixture) {
			for _, n := range sizes {
				repeatsPayload(f, n)
			}
		}},
		{"values are replaced, large by small and small by large", func(f *fixture) {
			l := f.owned()
			for i, n := range []int{10, 64<<10 + 1, 10, 2 << 20, 64<<10 + 1, 64 << 10} {
				value := sized(n, fmt.Sprint(i))
				a := retry(7, i+1)
				a.Payload = value
				f.commit(l, journal.Batch{Published: []journal.Published{{Key: "k", Value: value}}, Stash: []journal.Arrival{a}})
				s := f.snapshot(acme, l.Run)
				f.sameBytes("published", s.Published[0].Value, value)
				f.sameBytes("stash", s.Arrivals[0].Payload, value)
			}
		}},
		{"a stash that says the same stays where it is", func(f *fixture) {
			l := f.owned()
			d := done(7, "")
			d.Payload = sized(100_000, "a")
			f.commit(l, journal.Batch{Stash: []journal.Arrival{d}})
			f.commit(l, journal.Batch{Stash: []journal.Arrival{d}})
			if pos := f.arrivals(l.Run)[0].Pos; pos != 1 {
				f.Fatalf("position: got %d, want 1", pos)
			}
			d.Payload = sized(100_000, "b")
			f.commit(l, journal.Batch{Stash: []journal.Arrival{d}})
			if pos := f.arrivals(l.Run)[0].Pos; pos != 2 {
				f.Fatalf("position of another outcome: got %d, want 2", pos)
			}
		}},
		{"one payload in many places and runs", onePayload},
		{"a batch without a lease leaves nothing", func(f *fixture) {
			l := f.owned()
			l.Token++
			e := entry(0)
			e.Payload = sized(100_000, "a")
			f.refuse("wrong token", l, journal.Batch{Entries: []journal.Entry{e}, Published: []journal.Published{{Key: "k", Value: e.Payload}}}, journal.ErrFenced)
		}},
	})
}

func repeatsPayload(f *fixture, n int) {
	f.Helper()
	r := f.newRun()
	r.IdempotencyKey, r.Input = fmt.Sprint("size ", n), sized(n, "i")
	f.create(r)
	again := r
	again.ID = journal.NewRunID()
	if got, created, err := f.Store.Create(f.Context(), again); err != nil || created || got.ID != r.ID || !bytes.Equal(got.Input, r.Input) {
		f.Fatalf("%d bytes: start again: got %s, created %v, %v; want %s", n, got.ID, created, err, r.ID)
	}
	again.Input = sized(n, "j")
	_, _, err := f.Store.Create(f.Context(), again)
	f.want("start with another input", err, journal.ErrConflict)

	l := f.claim(f.register("n1")).Lease
	f.sent(r.ID, "s1", "paid", sized(n, "s"), false)
	f.sent(r.ID, "s1", "paid", sized(n, "s"), true)
	_, err = f.Store.Signal(f.Context(), acme, r.ID, "s1", "paid", sized(n, "t"))
	f.want("another signal", err, journal.ErrConflict)

	e := entry(0)
	e.Request, e.Payload = sized(n, "q"), sized(n, "p")
	f.commit(l, journal.Batch{Entries: []journal.Entry{e}})
	f.commit(l, journal.Batch{Entries: []journal.Entry{e}})
	for _, field := range []*[]byte{&e.Request, &e.Payload} {
		was := *field
		*field = bytes.Clone(was)
		(*field)[n-1] ^= 1
		_, err = f.Store.Commit(f.Context(), l, journal.Batch{Entries: []journal.Entry{e}})
		f.want("another entry", err, journal.ErrConflict)
		*field = was
	}
	end := journal.Batch{Observed: []string{"signal:s1"}, Next: &journal.Transition{State: journal.Completed, Output: sized(n, "o")}}
	f.commit(l, end)
	f.commit(l, end)
	end.Next = &journal.Transition{State: journal.Completed, Output: sized(n, "O")}
	_, err = f.Store.Commit(f.Context(), l, end)
	f.want("another end", err, journal.ErrFenced)
	f.sent(r.ID, "s1", "paid", sized(n, "s"), true)
}

// onePayload has runs of two tenants write the same payload at the same time, in every place.
func onePayload(f *fixture) {
	f.putModule(other, wasm)
	p := sized(100_000, "a")
	var runs []journal.Run
	for i := range 8 {
		r := f.newRun()
		if r.Input = p; i%2 > 0 {
			r.Tenant = other
		}
		runs = append(runs, f.create(r))
	}
	var wg sync.WaitGroup
	for _, c := range f.claims(f.register("n1"), len(runs)).Claims {
		f.sameBytes("claimed input", c.Run.Input, p)
		wg.Go(func() {
			for seq := range int64(3) {
				e := entry(seq)
				e.Request, e.Payload = p, bytes.Clone(p)
				d := done(int32(seq), "")
				d.Payload = p
				if _, err := f.Store.Commit(f.Context(), c.Lease, journal.Batch{Entries: []journal.Entry{e}, Stash: []journal.Arrival{d},
					Published: []journal.Published{{Key: "k", Value: p}}}); err != nil {
					f.Error(err)
				}
				if _, err := f.Store.Signal(f.Context(), c.Lease.Tenant, c.Lease.Run, fmt.Sprint(seq), "paid", p); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, r := range runs {
		s := f.snapshot(r.Tenant, r.ID)
		if len(s.Entries) != 3 || len(s.Arrivals) != 6 {
			f.Fatalf("got %d entries and %d arrivals, want 3 and 6", len(s.Entries), len(s.Arrivals))
		}
		for _, e := range s.Entries {
			f.sameBytes("request", e.Request, p)
			f.sameBytes("payload", e.Payload, p)
		}
		for _, a := range s.Arrivals {
			f.sameBytes("arrival", a.Payload, p)
		}
		f.sameBytes("published", s.Published[0].Value, p)
	}
}
