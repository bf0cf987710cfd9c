package host_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// stored is all that a store has of a run.
type stored struct {
	Run       journal.Run
	Entries   []journal.Entry
	Inbox     []journal.Arrival
	Published []journal.Published
}

func (n *node) stored(id journal.RunID) (s stored) {
	n.t.Helper()
	ctx := n.t.Context()
	var errs [4]error
	s.Run, errs[0] = n.store.Run(ctx, tenant.Default, id)
	s.Entries, errs[1] = n.store.Entries(ctx, tenant.Default, id, 0, 1000)
	s.Inbox, errs[2] = n.store.Arrivals(ctx, tenant.Default, id, 0)
	s.Published, errs[3] = n.store.Published(ctx, tenant.Default, id)
	for _, err := range errs {
		if err != nil {
			n.t.Fatal(err)
		}
	}
	return s
}

func TestQueryChangesNothing(t *testing.T) {
	n := newNode(t, nil)
	code, err := os.ReadFile("../testdata/guests/c/query.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.PushModule(t.Context(), tenant.Default, "sums", code, ""); err != nil {
		t.Fatal(err)
	}
	id := n.start("sums", "10")
	if _, err := n.Signal(t.Context(), tenant.Default, id, "1", "add", []byte("4")); err != nil {
		t.Fatal(err)
	}
	n.waits(id, 2)
	before := n.stored(id)
	for range 3 {
		out, failure, err := n.Query(t.Context(), tenant.Default, id, "sum", []byte("1"))
		if want := `{"kind":2,"sum":5,"taken":1,"asked":1}`; err != nil || failure != nil || string(out) != want {
			t.Fatalf("got %s, %v, %v, want %s", out, failure, err, want)
		}
	}
	if _, failure, err := n.Query(t.Context(), tenant.Default, id, "effect", nil); err != nil || failure == nil || failure.Code != abi.CodeMisuse {
		t.Errorf("got %v, %v, want an effect to be refused", failure, err)
	}
	if diff := cmp.Diff(before, n.stored(id)); diff != "" {
		t.Errorf("what the store has of the run (-before +after):\n%s", diff)
	}
	if c := n.Checkpoints(); c.Queries != 4 {
		t.Errorf("got %d queries counted, want 4", c.Queries)
	}
	_, _, err = n.Query(t.Context(), "other", id, "sum", nil)
	wantError(t, err, host.NotFound, "run_not_found")
	_, _, err = n.Query(t.Context(), tenant.Default, journal.NewRunID(), "sum", nil)
	wantError(t, err, host.NotFound, "run_not_found")
	_, _, err = n.Query(t.Context(), tenant.Default, id, "", nil)
	wantError(t, err, host.Invalid, "invalid_name")
	_, _, err = n.Query(t.Context(), tenant.Default, id, "sum", make([]byte, abi.MaxPayload+1))
	wantError(t, err, host.TooLarge, "payload_too_large")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := n.Query(gone, tenant.Default, id, "sum", nil); err == nil {
		t.Error("got an answer for a caller that is gone")
	}
	if _, err := n.Signal(t.Context(), tenant.Default, id, "2", "add", []byte("6")); err != nil {
		t.Fatal(err)
	}
	if r := n.end(id); r.State != journal.Completed || string(r.Output) != "10" {
		t.Errorf("got %s %s, want 10", r.State, r.Output)
	}
	_, _, err = n.Query(t.Context(), tenant.Default, id, "sum", nil)
	wantError(t, err, host.Conflict, "run_ended")

	n.push("signal", "signal")
	silent := n.start("signal", "")
	n.waits(silent, 1)
	_, _, err = n.Query(t.Context(), tenant.Default, silent, "sum", nil)
	wantError(t, err, host.Conflict, "query_unsupported")
}
