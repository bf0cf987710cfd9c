package exec

import (
	"context"
	"strings"
	"testing"

	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// byInterpreter makes the harness's node one that does not compile its module, until the function that it returns is called.
func (h *harness) byInterpreter() (compile func()) {
	h.t.Helper()
	ctx := context.Background()
	slow, err := sandbox.New(ctx, sandbox.Config{Interpreted: []modules.Digest{h.store.run.Digest}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = slow.Close(ctx) })
	compiling := h.turner
	cfg := compiling.cfg
	cfg.Engine = slow
	h.turner = New(cfg)
	return func() {
		h.turner.Wait(ctx)
		h.turner = compiling
	}
}

// TestInterpreterDepth: a run that this node's interpreter has no room for is blocked, keeps what it has done, and goes on
// where its module is compiled.
func TestInterpreterDepth(t *testing.T) {
	h := newHarness(t, "nested", "10000", nil)
	compile := h.byInterpreter()
	r := h.drive()
	if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "interpreter_depth: ") {
		t.Fatalf("got %s %q, want blocked for the interpreter's depth", r.State, r.Reason)
	}
	if r.NextSeq != 2 {
		t.Errorf("got %d entries, want the start and the effect", r.NextSeq)
	}
	compile()
	h.store.run.State, h.store.run.Reason = journal.Ready, "" // an operator resumes it
	h.check(h.drive(), journal.Completed, "\x10\x27\x00\x00")
	if len(h.calls) != 1 {
		t.Errorf("got effects %q, want one", h.calls)
	}
}

// TestInterpreterRuns: what is not so deep ends by interpreter as it does compiled.
func TestInterpreterRuns(t *testing.T) {
	h := newHarness(t, "nested", "1000", nil)
	h.byInterpreter()
	h.check(h.drive(), journal.Completed, "\xe8\x03\x00\x00")
}

// TestInterpreterDepthOfActivity: an activity fails inside the host, which is tried again.
func TestInterpreterDepthOfActivity(t *testing.T) {
	h := newHarness(t, "nested_activity", "x", nil)
	compile := h.byInterpreter()
	h.turn()
	for _, a := range h.store.inbox {
		if a.Kind != journal.ArrivalRetry || !strings.Contains(string(a.Payload), "interpreter_depth: ") {
			t.Errorf("got arrival %+v, want another attempt for the interpreter's depth", a)
		}
	}
	if len(h.store.inbox) != 1 {
		t.Fatalf("got %d arrivals and state %s, want the failed attempt", len(h.store.inbox), h.snapshot().State)
	}
	compile()
	h.check(h.drive(), journal.Completed, "x")
}
