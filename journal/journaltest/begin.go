package journaltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

var firstEntry = journal.Entry{Name: "main", Request: []byte(`"sha256:ab"`), Options: []byte(`{"pipeline":1}`)}

// begins is newRun under a name that stands for the module.
func (f *fixture) begins() journal.Run {
	f.Helper()
	_, _, err := f.Store.SetAlias(f.Context(), acme, "order", f.digest)
	f.must(err)
	return f.newRun()
}

func (f *fixture) begin(r journal.Run, node string) journal.Run {
	f.Helper()
	got, created, err := f.Store.Begin(f.Context(), r, node, firstEntry)
	f.must(err)
	if !created {
		f.Fatalf("begin %s: got an earlier run %s, want a new one", r.ID, got.ID)
	}
	return got
}

// absent checks that there is no such run.
func (f *fixture) absent(id journal.RunID) {
	f.Helper()
	_, err := f.Store.Run(f.Context(), acme, id)
	f.want("read", err, journal.ErrNotFound)
}

func testBegin(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"makes a run and claims it", beginOwned},
		{"the owner's lease is one like any other", func(f *fixture) {
			n := f.register("n1")
			c := journal.Begun(f.begin(f.begins(), n), firstEntry)
			f.claimNone(n)
			f.claimNone(f.register("n2"))
			f.commit(c.Lease, journal.Batch{Entries: entries(1, 2), Next: &journal.Transition{State: journal.Completed}})
			f.state(c.Run.ID, journal.Completed)
		}},
		{"is taken over when the owner is dead", func(f *fixture) {
			r := f.begin(f.begins(), f.register("n1"))
			f.Advance(2 * ttl)
			c := f.claim(f.register("n2"))
			if c.Lease.Token != 2 || c.Run.Attempts != 2 || c.StolenFrom != r.Owner || c.Run.NextSeq != 1 {
				f.Fatalf("got token %d, attempts %d, next seq %d, from %q; want 2, 2, 1, %q", c.Lease.Token, c.Run.Attempts, c.Run.NextSeq, c.StolenFrom, r.Owner)
			}
			f.refuse("the dead owner's append", journal.Begun(r, firstEntry).Lease, journal.Batch{Entries: entries(1, 1)}, journal.ErrFenced)
		}},
		{"a node without a live lease leaves it to the others", func(f *fixture) {
			lapsed := f.register("n1")
			f.Advance(2 * ttl)
			live := f.register("n2")
			for _, n := range []string{lapsed, "nobody#1"} {
				r := f.begin(f.begins(), n)
				if r.State != journal.Ready || r.Owner != "" || r.Token != 0 || r.NextSeq != 0 {
					f.Fatalf("got %s of %q, token %d, next seq %d; want ready, of nobody, 0, 0", r.State, r.Owner, r.Token, r.NextSeq)
				}
				f.diff("read", f.run(r.ID), r)
				if es := f.entries(r.ID); len(es) != 0 {
					f.Fatalf("got %d entries, want none", len(es))
				}
				if c := f.claim(live); c.Run.ID != r.ID || c.Lease.Token != 1 {
					f.Fatalf("claimed %s under token %d, want %s under 1", c.Run.ID, c.Lease.Token, r.ID)
				}
			}
		}},
		{"under a name only while it stands for the module", func(f *fixture) {
			n := f.register("n1")
			r := f.begins()
			newer := f.putModule(acme, []byte("a newer module"))
			_, _, err := f.Store.SetAlias(f.Context(), acme, "order", newer)
			f.must(err)
			_, created, err := f.Store.Begin(f.Context(), r, n, firstEntry)
			f.want("begin on the older module", err, journal.ErrMoved)
			if created {
				f.Fatal("got created, want not")
			}
			f.absent(r.ID)
			r.Digest = newer
			f.begin(r, n)
		}},
		{"under a digest whatever names stand for", func(f *fixture) {
			r := f.begins()
			r.Workflow = string(r.Digest)
			f.begin(r, f.register("n1"))
		}},
		{"needs the name and the module", func(f *fixture) {
			n := f.register("n1")
			r := f.newRun() // its name stands for nothing
			_, _, err := f.Store.Begin(f.Context(), r, n, firstEntry)
			f.want("without a name", err, modules.ErrNotFound)
			r.Digest = modules.DigestOf([]byte("nobody pushed this"))
			r.Workflow = string(r.Digest)
			_, _, err = f.Store.Begin(f.Context(), r, n, firstEntry)
			f.want("without a module", err, modules.ErrNotFound)
			r.Digest, r.Workflow, r.Tenant = f.digest, string(f.digest), other
			_, _, err = f.Store.Begin(f.Context(), r, n, firstEntry)
			f.want("with another tenant's module", err, modules.ErrNotFound)
			f.absent(r.ID)
		}},
		{"an idempotency key gives the earlier run", beginAgain},
		{"a key is one open run's", func(f *fixture) {
			n := f.register("n1")
			r := f.begins()
			r.Key = "order 17"
			first := f.begin(r, n)
			r.ID = journal.NewRunID()
			got, created, err := f.Store.Begin(f.Context(), r, n, firstEntry)
			f.want("while the first is open", err, journal.ErrConflict)
			if created || got.ID != first.ID {
				f.Fatalf("got created %v and run %s, want the run in the way, %s", created, got.ID, first.ID)
			}
			f.absent(r.ID)
		}},
		{"a large input", func(f *fixture) {
			r := f.begins()
			r.Input = make([]byte, 1<<20)
			n := f.register("n1")
			got := f.begin(r, n)
			if got.State == journal.Ready {
				got = f.claim(n).Run
			}
			f.diff("input", got.Input, r.Input)
			f.diff("read", f.run(r.ID).Input, r.Input)
		}},
		{"many at once", beginMany},
	})
}

func beginOwned(f *fixture) {
	n := f.register("n1")
	r := f.begins()
	r.Key, r.IdempotencyKey, r.Entry = "order 17", "req-1", "main"
	before := f.now()
	got := f.begin(r, n)
	if got.CreatedAt.Before(before) || got.CreatedAt.After(f.now()) || !got.UpdatedAt.Equal(got.CreatedAt) {
		f.Fatalf("times: got created %s, updated %s, want both after %s by the database's clock", got.CreatedAt, got.UpdatedAt, before)
	}
	want := r
	want.State, want.Owner, want.Token, want.Attempts, want.NextSeq = journal.Running, n, 1, 1, 1
	want.CreatedAt, want.UpdatedAt = got.CreatedAt, got.CreatedAt
	f.diff("begun", got, want)
	f.diff("read", f.run(r.ID), want)
	entry := journal.Entry{Kind: journal.KindStarted, Op: journal.NoOp, Status: abi.OK, Name: firstEntry.Name, Request: firstEntry.Request,
		Options: firstEntry.Options, Token: 1, At: got.CreatedAt}
	f.diff("entries", f.entries(r.ID), []journal.Entry{entry})
	c := journal.Begun(got, firstEntry)
	f.diff("claim", c, journal.Claim{Lease: journal.Lease{Tenant: acme, Run: r.ID, Node: n, Token: 1}, Run: want, Entries: []journal.Entry{entry}})
}

func beginAgain(f *fixture) {
	n := f.register("n1")
	r := f.begins()
	r.IdempotencyKey, r.Key = "req-1", "k"
	first := f.begin(r, n)
	again := r
	again.ID = journal.NewRunID()
	got, created, err := f.Store.Begin(f.Context(), again, n, firstEntry)
	f.must(err)
	if created {
		f.Fatal("created: got true, want false")
	}
	f.diff("run", got, first)
	f.absent(again.ID)
	again.Input = []byte(`{"n":2}`)
	_, _, err = f.Store.Begin(f.Context(), again, n, firstEntry)
	f.want("another start under the key", err, journal.ErrConflict)
}

// beginMany: of those that begin together under one key one is made, and the others come out as they must.
func beginMany(f *fixture) {
	const keys, each = 20, 5
	n := f.register("n1")
	r := f.begins()
	var mu sync.Mutex
	made := map[string]int{}
	var wg sync.WaitGroup
	for i := range keys * each {
		wg.Go(func() {
			r := r
			r.ID, r.IdempotencyKey = journal.NewRunID(), fmt.Sprintf("req-%d", i%keys)
			got, created, err := f.Store.Begin(f.Context(), r, n, firstEntry)
			if err != nil || created != (got.ID == r.ID) {
				f.Errorf("begin: got run %s created %v, error %v; want %s or an earlier one", got.ID, created, err, r.ID)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if created {
				made[r.IdempotencyKey]++
			}
		})
	}
	wg.Wait()
	for i := range keys {
		if n := made[fmt.Sprintf("req-%d", i)]; n != 1 {
			f.Errorf("key %d: got %d runs, want 1", i, n)
		}
	}
	f.Advance(time.Second)
	f.claimNone(n)
}
