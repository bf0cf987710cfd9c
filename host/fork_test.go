package host_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"reprise/abi"
	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/tenant"
)

// TestForkBeforeAFailure forks a run that has failed, before the step that failed it: what came before is not done again, and the step is, under
// the copy's key.
func TestForkBeforeAFailure(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	broken := true
	n := newNode(t, effect.Registry{"bench.add": {Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[string(r.Input)]++
		if string(r.Input) == "2" && broken {
			return []byte("-1000000"), nil
		}
		return r.Input, nil
	})}})
	code, err := os.ReadFile("../testdata/guests/c/steps.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.PushModule(t.Context(), tenant.Default, "steps", code, ""); err != nil {
		t.Fatal(err)
	}
	id := n.start("steps", "4")
	if r := n.end(id); string(r.Output) != "-999996" {
		t.Fatalf("got %s %s", r.State, r.Output)
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	before := n.stored(id)
	fork, created, err := n.Fork(t.Context(), tenant.Default, id, host.ForkRun{Entries: 3, Key: "again", IdempotencyKey: "once"})
	if err != nil || !created || fork.Workflow != "steps" || fork.Key != "again" {
		t.Fatalf("got %+v, created %v, %v", fork, created, err)
	}
	if r := n.end(fork.ID); r.State != journal.Completed || string(r.Output) != "6" {
		t.Errorf("got %s %s %s, want the sum of 0 to 3", r.State, r.Output, r.Failure)
	}
	mu.Lock()
	defer mu.Unlock()
	for input, want := range map[string]int{"0": 1, "1": 1, "2": 2, "3": 2} {
		if calls[input] != want {
			t.Errorf("got effect %s done %d times, want %d", input, calls[input], want)
		}
	}
	if after := n.stored(id); after.Run.NextSeq != before.Run.NextSeq || after.Run.State != journal.Completed || len(after.Entries) != len(before.Entries) {
		t.Errorf("got %+v, want the run as it was", after.Run)
	}
	again, created, err := n.Fork(t.Context(), tenant.Default, id, host.ForkRun{Entries: 3, Key: "again", IdempotencyKey: "once"})
	if err != nil || created || again.ID != fork.ID {
		t.Errorf("again: got %s, created %v, %v, want the first copy", again.ID, created, err)
	}
	if rep, err := n.Replay(t.Context(), tenant.Default, fork.ID, ""); err != nil || !rep.OK {
		t.Errorf("got %+v, %v, want a copy that replays", rep, err)
	}
	for _, at := range []int64{-1, before.Run.NextSeq, 99} {
		_, _, err = n.Fork(t.Context(), tenant.Default, id, host.ForkRun{Entries: at})
		wantError(t, err, host.Conflict, "fork_position")
	}
	_, _, err = n.Fork(t.Context(), "other", id, host.ForkRun{})
	wantError(t, err, host.NotFound, "run_not_found")
	_, _, err = n.Fork(t.Context(), tenant.Default, id, host.ForkRun{Key: "a\x00"})
	wantError(t, err, host.Invalid, "invalid_name")
}

// TestForkOfAWait forks a run that waits for a signal, twice: each of the three takes its own.
func TestForkOfAWait(t *testing.T) {
	n := newNode(t, nil)
	n.push("signal", "signal")
	id := n.start("signal", "")
	n.waits(id, 1)
	ids := []journal.RunID{id}
	for range 2 {
		r, _, err := n.Fork(t.Context(), tenant.Default, id, host.ForkRun{})
		if err != nil {
			t.Fatal(err)
		}
		n.waits(r.ID, 1)
		ids = append(ids, r.ID)
	}
	for i, id := range ids {
		word := []byte{'"', byte('a' + i), '"'}
		if _, err := n.Signal(t.Context(), tenant.Default, id, "1", "go", word); err != nil {
			t.Fatal(err)
		}
		if r := n.end(id); string(r.Output) != string(word) {
			t.Errorf("got %s, want %s", r.Output, word)
		}
	}
	_, _, err := n.Fork(t.Context(), tenant.Default, journal.NewRunID(), host.ForkRun{Entries: abi.MaxEntries})
	wantError(t, err, host.NotFound, "run_not_found")
}

// TestForkOfAParent forks a run whose child is under way: the copy starts a child of its own, and each takes what its own ends with.
func TestForkOfAParent(t *testing.T) {
	n := family(t)
	id := n.start("family", "child(signal(go);out(hello););wait;")
	n.waits(id, 1)
	first := n.children(id)
	if len(first) != 1 {
		t.Fatalf("got %d children, want one", len(first))
	}
	fork, _, err := n.Fork(t.Context(), tenant.Default, id, host.ForkRun{})
	if err != nil {
		t.Fatal(err)
	}
	n.waits(fork.ID, 1)
	own := n.children(fork.ID)
	if len(own) != 1 || own[0].ID == first[0].ID || len(n.children(id)) != 1 {
		t.Fatalf("got children %v of the copy and %v of the run, want one each", own, n.children(id))
	}
	for _, child := range []journal.RunID{first[0].ID, own[0].ID} {
		n.waits(child, 1)
		n.signal(child, "go")
	}
	for _, id := range []journal.RunID{id, fork.ID} {
		if r := n.end(id); r.State != journal.Completed || !strings.Contains(string(r.Output), "ok hello") {
			t.Errorf("got %s %s, want what its child ended with", r.State, r.Output)
		}
	}
}
