package journaltest

import (
	"fmt"
	"testing"
	"time"

	"reprise/journal"
	"reprise/modules"
)

func testCreate(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"stores what it is given", func(f *fixture) {
			r := f.newRun()
			r.Key, r.IdempotencyKey, r.Entry = "order 17", "req-1", "main"
			before := f.now()
			got := f.create(r)
			if got.CreatedAt.Before(before) || got.CreatedAt.After(f.now()) || !got.UpdatedAt.Equal(got.CreatedAt) {
				f.Fatalf("times: got created %s, updated %s, want both after %s by the database's clock", got.CreatedAt, got.UpdatedAt, before)
			}
			want := r
			want.State, want.CreatedAt, want.UpdatedAt = journal.Ready, got.CreatedAt, got.UpdatedAt
			f.diff("created", got, want)
			f.diff("read", f.run(r.ID), want)
		}},
		{"ignores what is not a start's to say", func(f *fixture) {
			r := f.newRun()
			r.State, r.Owner, r.Token, r.NextSeq, r.InboxPos, r.Attempts = journal.Completed, "n9", 9, 9, 9, 9
			r.Output, r.Failure, r.Reason, r.Waiting, r.CancelRequested = []byte("o"), []byte("f"), "r", "w", true
			r.CreatedAt, r.FinishedAt, r.WakeAt = epoch, epoch, epoch
			got := f.create(r)
			want := journal.Run{Tenant: r.Tenant, ID: r.ID, Workflow: r.Workflow, Digest: r.Digest, Input: r.Input,
				State: journal.Ready, CreatedAt: got.CreatedAt, UpdatedAt: got.UpdatedAt}
			f.diff("created", got, want)
			f.diff("read", f.run(r.ID), want)
		}},
		{"an idempotency key gives the earlier run", func(f *fixture) {
			r := f.newRun()
			r.IdempotencyKey, r.Key = "req-1", "k"
			first := f.create(r)
			again := r
			again.ID = journal.NewRunID()
			again.Digest = f.putModule(acme, []byte("a newer module"))
			got, created, err := f.Store.Create(f.Context(), again)
			f.must(err)
			if created {
				f.Fatal("created: got true, want false")
			}
			f.diff("run", got, first)
			if _, err := f.Store.Run(f.Context(), acme, again.ID); err == nil {
				f.Fatal("the repeated start made a second run")
			}
		}},
		{"an idempotency key outlives the run", func(f *fixture) {
			r := f.newRun()
			r.IdempotencyKey, r.Key = "req-1", "k"
			f.create(r)
			f.commit(f.claim(f.register("n1")).Lease, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: []byte("out")}})
			r2 := r
			r2.ID = journal.NewRunID()
			got, created, err := f.Store.Create(f.Context(), r2)
			f.must(err)
			if created || got.ID != r.ID || got.State != journal.Completed {
				f.Fatalf("got created %v, run %s %s, want the completed run %s", created, got.ID, got.State, r.ID)
			}
		}},
		{"an idempotency key used for another start", createIdempotencyConflict},
		{"a key is unique among open runs", createKeyConflict},
		{"runs without a key do not collide", func(f *fixture) {
			f.create(f.newRun())
			f.create(f.newRun())
		}},
		{"the same id again", func(f *fixture) {
			r := f.newRun()
			first := f.create(r)
			got, created, err := f.Store.Create(f.Context(), r)
			f.must(err)
			if created {
				f.Fatal("created: got true for a start whose answer was lost, want false")
			}
			f.diff("run", got, first)
			r.Input = []byte("other")
			got, _, err = f.Store.Create(f.Context(), r)
			f.want("other content", err, journal.ErrConflict)
			f.diff("run in the way", got, first)
		}},
		{"an unknown module", func(f *fixture) {
			r := f.newRun()
			r.Digest = modules.DigestOf([]byte("nobody pushed this"))
			_, _, err := f.Store.Create(f.Context(), r)
			f.want("create", err, modules.ErrNotFound)
			r.Digest, r.Tenant = f.digest, other
			_, _, err = f.Store.Create(f.Context(), r)
			f.want("create with another tenant's module", err, modules.ErrNotFound)
			_, err = f.Store.Run(f.Context(), acme, r.ID)
			f.want("read", err, journal.ErrNotFound)
		}},
	})
}

func createIdempotencyConflict(f *fixture) {
	r := f.newRun()
	r.IdempotencyKey, r.Key, r.Entry = "req-1", "k", "main"
	first := f.create(r)
	for name, change := range map[string]func(*journal.Run){
		"workflow": func(r *journal.Run) { r.Workflow = "invoice" },
		"entry":    func(r *journal.Run) { r.Entry = "second" },
		"key":      func(r *journal.Run) { r.Key = "" },
		"input":    func(r *journal.Run) { r.Input = []byte(`{"n":2}`) },
		"no input": func(r *journal.Run) { r.Input = nil },
	} {
		r2 := r
		r2.ID = journal.NewRunID()
		change(&r2)
		got, created, err := f.Store.Create(f.Context(), r2)
		f.want(name, err, journal.ErrConflict)
		if created {
			f.Fatalf("%s: got created, want not", name)
		}
		f.diff(name+": the run in the way", got, first)
	}
}

func createKeyConflict(f *fixture) {
	r := f.newRun()
	r.Key = "order 17"
	first := f.create(r)
	second := r
	second.ID = journal.NewRunID()
	got, created, err := f.Store.Create(f.Context(), second)
	f.want("while the first is open", err, journal.ErrConflict)
	if created || got.ID != first.ID {
		f.Fatalf("got created %v and run %s, want the run in the way, %s", created, got.ID, first.ID)
	}
	f.putModule(other, wasm)
	theirs := second
	theirs.Tenant, theirs.ID = other, journal.NewRunID()
	f.create(theirs)
	n := f.register("n1")
	for _, c := range f.claims(n, 10).Claims {
		f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Failed, Reason: "code: text", Failure: []byte(`{"code":"x"}`)}})
	}
	f.create(second)
	third := second
	third.ID = journal.NewRunID()
	got, _, err = f.Store.Create(f.Context(), third)
	f.want("while the second is open", err, journal.ErrConflict)
	if got.ID != second.ID {
		f.Fatalf("got run %s, want the open one, %s", got.ID, second.ID)
	}
}

// createMany makes n runs, one after the other by the database's clock.
func (f *fixture) createMany(n int) []journal.Run {
	f.Helper()
	runs := make([]journal.Run, n)
	for i := range runs {
		r := f.newRun()
		r.Input = fmt.Appendf(nil, "%d", i)
		runs[i] = f.create(r)
		f.Advance(time.Millisecond)
	}
	return runs
}
