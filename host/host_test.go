package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/abi"
	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait; only a hang meets it.
const patience = time.Minute

// node is a host on a journal in memory.
type node struct {
	*host.Host
	t     *testing.T
	store *sqlite.Store
}

func newNode(t *testing.T, effects effect.Registry) *node {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, Effects: effects, Poll: 20 * time.Millisecond, HoldFor: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &node{Host: h, t: t, store: store}
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testdata/wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (n *node) push(name, file string) modules.Digest {
	n.t.Helper()
	p, err := n.PushModule(n.t.Context(), tenant.Default, name, fixture(n.t, file), "")
	if err != nil {
		n.t.Fatal(err)
	}
	return p.Module.Digest
}

func (n *node) start(workflow, input string) journal.RunID {
	n.t.Helper()
	run, created, err := n.StartRun(n.t.Context(), tenant.Default, host.StartRun{Workflow: workflow, Input: []byte(input)})
	if err != nil || !created {
		n.t.Fatalf("start %s: created %v, %v", workflow, created, err)
	}
	return run.ID
}

func (n *node) end(id journal.RunID) journal.Run {
	n.t.Helper()
	run, err := n.Result(n.t.Context(), tenant.Default, id, patience)
	if err != nil {
		n.t.Fatal(err)
	}
	return run
}

// until polls a run until it is in a state.
func (n *node) until(id journal.RunID, s journal.State) journal.Run {
	n.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		v, err := n.Run(n.t.Context(), tenant.Default, id)
		if err != nil {
			n.t.Fatal(err)
		}
		if v.Run.State == s {
			return v.Run
		}
		if v.Run.State.Terminal() {
			n.t.Fatalf("got %s (%s), want %s", v.Run.State, v.Run.Reason, s)
		}
	}
	n.t.Fatalf("the run does not become %s", s)
	return journal.Run{}
}

func step(_ context.Context, r effect.Request) ([]byte, error) {
	return fmt.Appendf(nil, "[%s]", r.Input), nil
}

func steps() effect.Registry {
	e := effect.Effect{Handler: effect.HandlerFunc(step)}
	return effect.Registry{"test.step": e, "test.a": e, "test.b": e, "test.cleanup": e}
}

// TestRunStaysOnItsDigest moves the name while a run of it waits.
func TestRunStaysOnItsDigest(t *testing.T) {
	n := newNode(t, steps())
	first := n.push("flow", "divergeA")
	id := n.start("flow", "")
	n.until(id, journal.Waiting)
	second := n.push("flow", "divergeB")
	if first == second {
		t.Fatal("the two modules are the same")
	}
	if _, err := n.Signal(t.Context(), tenant.Default, id, "1", "go", nil); err != nil {
		t.Fatal(err)
	}
	if run := n.end(id); run.State != journal.Completed || run.Digest != first {
		t.Errorf("got %s on %s (%s), want completed on %s", run.State, run.Digest, run.Reason, first)
	}
	other := n.start("flow", "")
	if run := n.until(other, journal.Waiting); run.Digest != second {
		t.Errorf("a new run is on %s, want %s", run.Digest, second)
	}
	v, err := n.Module(t.Context(), tenant.Default, "flow")
	if err != nil || len(v.History) != 2 || v.History[0].Digest != second || v.History[1].Digest != first {
		t.Errorf("got history %+v, %v; want both digests, newest first", v.History, err)
	}
}

func TestReplayAgainstAnotherModule(t *testing.T) {
	n := newNode(t, steps())
	first, second := n.push("flow", "divergeA"), n.push("other", "divergeB")
	id := n.start("flow", "")
	n.until(id, journal.Waiting)
	if rep, err := n.Replay(t.Context(), tenant.Default, id, ""); err != nil || !rep.OK || rep.Ending != "live" || rep.Digest != first {
		t.Errorf("got %+v, %v; want a match to the journal's end", rep, err)
	}
	rep, err := n.Replay(t.Context(), tenant.Default, id, second)
	if err != nil || rep.OK || rep.Seq != 1 || !strings.Contains(rep.Mismatch, "test.b") {
		t.Errorf("got %+v, %v; want a mismatch at seq 1", rep, err)
	}
	if run := n.until(id, journal.Waiting); run.NextSeq != 3 {
		t.Errorf("got %d entries after replays, want 3 untouched", run.NextSeq)
	}
}

func TestStartIsIdempotent(t *testing.T) {
	n := newNode(t, nil)
	n.push("echo", "echo")
	req := host.StartRun{Workflow: "echo", Input: []byte("a"), IdempotencyKey: "k"}
	first, created, err := n.StartRun(t.Context(), tenant.Default, req)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	again, created, err := n.StartRun(t.Context(), tenant.Default, req)
	if err != nil || created || again.ID != first.ID {
		t.Errorf("got %s, created %v, %v; want the first run", again.ID, created, err)
	}
	req.Input = []byte("b")
	in, _, err := n.StartRun(t.Context(), tenant.Default, req)
	wantError(t, err, host.Conflict, "idempotency_conflict")
	if in.ID != first.ID {
		t.Errorf("got %s in the way, want %s", in.ID, first.ID)
	}
}

// TestRepeatedStartAfterTheNameMoved: the first run's module had a workflow of another name.
func TestRepeatedStartAfterTheNameMoved(t *testing.T) {
	n := newNode(t, nil)
	n.push("flow", "manifest")
	req := host.StartRun{Workflow: "flow", Input: []byte("a"), IdempotencyKey: "k"}
	first, _, err := n.StartRun(t.Context(), tenant.Default, req)
	if err != nil {
		t.Fatal(err)
	}
	n.push("flow", "echo")
	if again, created, err := n.StartRun(t.Context(), tenant.Default, req); err != nil || created || again.ID != first.ID {
		t.Errorf("got %s, created %v, %v; want the first run", again.ID, created, err)
	}
}

func TestRunKeyIsUniqueAmongOpenRuns(t *testing.T) {
	n := newNode(t, nil)
	n.push("signal", "signal")
	req := host.StartRun{Workflow: "signal", Key: "order-7"}
	first, _, err := n.StartRun(t.Context(), tenant.Default, req)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = n.StartRun(t.Context(), tenant.Default, req)
	wantError(t, err, host.Conflict, "run_key_taken")
	if _, err := n.Signal(t.Context(), tenant.Default, first.ID, "1", "go", nil); err != nil {
		t.Fatal(err)
	}
	n.end(first.ID)
	if _, created, err := n.StartRun(t.Context(), tenant.Default, req); err != nil || !created {
		t.Errorf("after the end: created %v, %v; want a new run", created, err)
	}
}

func TestCancelledRun(t *testing.T) {
	n := newNode(t, steps())
	n.push("signal", "signal")
	n.push("aware", "cancelaware")
	for _, workflow := range []string{"signal", "aware"} {
		id := n.start(workflow, "86400000000000")
		n.until(id, journal.Waiting)
		for range 2 { // asking twice is no error
			if _, err := n.Cancel(t.Context(), tenant.Default, id, "enough"); err != nil {
				t.Fatal(err)
			}
		}
		run := n.end(id)
		if run.State != journal.Cancelled || abi.DecodeFailure(run.Failure).Code != abi.CodeCancelled {
			t.Errorf("%s: got %s %s, want cancelled", workflow, run.State, run.Failure)
		}
		_, err := n.Signal(t.Context(), tenant.Default, id, "2", "go", nil)
		wantError(t, err, host.Conflict, "run_ended")
	}
	done := n.start("signal", "")
	if _, err := n.Signal(t.Context(), tenant.Default, done, "1", "go", nil); err != nil {
		t.Fatal(err)
	}
	n.end(done)
	_, err := n.Cancel(t.Context(), tenant.Default, done, "")
	wantError(t, err, host.Conflict, "run_ended")
	_, err = n.Resume(t.Context(), tenant.Default, done)
	wantError(t, err, host.Conflict, "run_not_held")
}

func TestActivityOfAnotherModule(t *testing.T) {
	n := newNode(t, nil)
	n.push("activity", "activity")
	if run := n.end(n.start("activity", "xy")); string(run.Output) != "xyxy" {
		t.Errorf("got %s %q (%s), want xyxy", run.State, run.Output, run.Reason)
	}
}

func TestDescribedModule(t *testing.T) {
	n := newNode(t, nil)
	d := n.push("manifest", "manifest")
	v, err := n.Module(t.Context(), tenant.Default, string(d))
	if err != nil || len(v.Module.Manifest.Workflows) != 1 || v.Module.Manifest.Workflows[0] != "hello" || len(v.Module.Manifest.Activities) != 1 {
		t.Fatalf("got %+v, %v; want the workflow hello and one activity", v.Module.Manifest, err)
	}
	run, _, err := n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "manifest", Input: []byte("x")})
	if err != nil || run.Entry != "hello" {
		t.Errorf("got entry %q, %v; want the only workflow", run.Entry, err)
	}
	_, _, err = n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "manifest", Entry: "nope"})
	wantError(t, err, host.Invalid, "unknown_entry")
}

// TestStopGivesRunsBack: a second host on the same journal goes on where the first one stopped.
func TestStopGivesRunsBack(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	started, release := make(chan struct{}, 2), make(chan struct{})
	slow := effect.Registry{"test.step": {Handler: effect.HandlerFunc(func(ctx context.Context, r effect.Request) ([]byte, error) {
		started <- struct{}{}
		select {
		case <-release:
			return step(ctx, r)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}}
	cfg := host.Config{Store: store, Name: "a", Effects: slow, Poll: 20 * time.Millisecond, DrainTimeout: 50 * time.Millisecond}
	a, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.PushModule(ctx, tenant.Default, "steps", fixture(t, "steps"), ""); err != nil {
		t.Fatal(err)
	}
	run, _, err := a.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "steps", Input: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := store.Run(ctx, tenant.Default, run.ID); err != nil || r.State != journal.Ready || r.Owner != "" {
		t.Fatalf("after Stop: got %s owned by %q, %v; want ready and nobody's", r.State, r.Owner, err)
	}
	cfg.Name = "b"
	b, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	<-started
	close(release)
	if r, err := b.Result(ctx, tenant.Default, run.ID, patience); err != nil || string(r.Output) != "[1]" {
		t.Errorf("got %s %q, %v; want [1]", r.State, r.Output, err)
	}
	if err := b.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func wantError(t *testing.T, err error, kind host.ErrorKind, code string) {
	t.Helper()
	var e *host.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Code != code {
		t.Errorf("got %v, want %s %s", err, kind, code)
		return
	}
	if e.What == "" || e.Where == "" || e.Fix == "" {
		t.Errorf("%s: got what %q, where %q, fix %q; want all three", code, e.What, e.Where, e.Fix)
	}
}
