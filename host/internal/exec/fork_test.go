package exec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/journal"
)

// forked is a harness whose run is a copy of another's first entries, as a store makes it.
func forked(t *testing.T, from *harness, into *harness, n int64) journal.Fork {
	t.Helper()
	run := from.snapshot()
	id := journal.RunID{9, 9, byte(n)}
	f, err := from.turner.Fork(t.Context(), run, id, n)
	if err != nil {
		t.Fatal(err)
	}
	s := into.store
	s.run.ID, s.run.NextSeq = id, f.Entries
	s.entries = slices.Clone(from.store.entries[:f.Entries])
	for i := range s.entries {
		s.entries[i].Token = 0
	}
	s.entries[0].Options = f.Options
	if s.cp = f.Checkpoint; s.cp != nil {
		s.run.CheckpointSeq = s.cp.Seq
	}
	s.now = from.store.now
	return f
}

// TestForkAnywhere forks a run of a Go program, which uses random numbers, goroutines and timers, behind each of its entries. Each copy comes to
// the same end, with effects under its own keys; a copy of a copy does, too.
func TestForkAnywhere(t *testing.T) {
	plain := tortured(t, Checkpoints{})
	want := plain.drive()
	plain.check(want, journal.Completed, string(want.Output))
	last := want.NextSeq - 1 // the end itself
	for n := int64(1); n <= last; n += 10 {
		h := tortured(t, Checkpoints{})
		if f := forked(t, plain, h, n); f.Entries != n || f.Checkpoint != nil {
			t.Fatalf("got %d entries, checkpoint %v, want %d and none", f.Entries, f.Checkpoint, n)
		}
		h.check(h.drive(), journal.Completed, string(want.Output))
		h.replays()
		for _, call := range h.calls {
			if !strings.Contains(call, h.store.run.ID.String()) {
				t.Errorf("got the effect %s, want one under the copy's key", call)
			}
		}
		if n == 11 {
			again := tortured(t, Checkpoints{})
			forked(t, h, again, 20)
			again.check(again.drive(), journal.Completed, string(want.Output))
		}
	}
	f, err := plain.turner.Fork(t.Context(), plain.snapshot(), journal.RunID{9}, 0)
	if err != nil || f.Entries != last {
		t.Errorf("without a place: got %d entries, %v, want all but the end, %d", f.Entries, err, last)
	}
	for _, n := range []int64{-1, want.NextSeq, want.NextSeq + 1} {
		if _, err := plain.turner.Fork(t.Context(), plain.snapshot(), journal.RunID{9}, n); !errors.Is(err, ErrForkAt) {
			t.Errorf("%d entries: got %v, want ErrForkAt", n, err)
		}
	}
}

// TestForkFromCheckpoint forks an open run: its copy goes on from a checkpoint of its own, which is what a replay of the copy gives.
func TestForkFromCheckpoint(t *testing.T) {
	plain := tortured(t, Checkpoints{})
	want := plain.drive()
	open := tortured(t, Checkpoints{Every: 6})
	for open.snapshot().NextSeq < 20 {
		open.onward()
	}
	r := open.snapshot()
	before := open.digest()
	for _, n := range []int64{r.CheckpointSeq, r.NextSeq} {
		h := tortured(t, Checkpoints{Every: 1000, Verify: 1})
		if f := forked(t, open, h, n); f.Checkpoint == nil || f.Checkpoint.Seq != r.CheckpointSeq {
			t.Fatalf("got checkpoint %v, want one at %d", f.Checkpoint, r.CheckpointSeq)
		}
		h.check(h.drive(), journal.Completed, string(want.Output))
		if c := h.turner.Counts(); c.Thawed == 0 || c.Verified != c.Thawed || c.Different != 0 || c.ThawedBytes == 0 || c.Verifying <= 0 || len(c.Fallbacks) > 0 {
			t.Errorf("got %+v, want a copy that goes on from a checkpoint that is what a replay gives", c)
		}
	}
	if f, err := open.turner.Fork(t.Context(), r, journal.RunID{9}, r.CheckpointSeq-1); err != nil || f.Checkpoint != nil {
		t.Errorf("before the checkpoint: got %v, %v, want none", f.Checkpoint, err)
	}
	if c := open.turner.Counts(); c.Forked != 3 || c.ForkedThawed != 2 {
		t.Errorf("got %d forks counted, %d with a checkpoint, want 3 and 2", c.Forked, c.ForkedThawed)
	}
	if diff := cmp.Diff(before, open.digest()); diff != "" {
		t.Error("forking has changed the run")
	}
}

// TestForkOfPublished has no checkpoint: the copy is replayed, and publishes what had been published by then.
func TestForkOfPublished(t *testing.T) {
	open := summing(t, 4, 1)
	h := summing(t, 0, 0)
	if f := forked(t, open, h, 5); f.Checkpoint != nil {
		t.Fatal("got a checkpoint, want none")
	}
	h.store.pub = map[string]string{}
	h.turn()
	if got := h.store.pub["sum"]; len(got) == 0 || got[0] != 20 {
		t.Errorf("got published %q, want the sum of four signals", got)
	}
	if n := open.turner.Counts().Fallbacks["fork"]; n != 1 {
		t.Errorf("got %d fallbacks, want 1", n)
	}
}
