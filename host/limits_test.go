package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// newLimited is a node whose runs have these limits.
func newLimited(t *testing.T, limits abi.Limits) *node {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Store: store, Effects: steps(), Limits: limits, Poll: 20 * time.Millisecond, HoldFor: 10 * time.Millisecond})
	if err == nil {
		err = h.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &node{Host: h, t: t, store: store}
}

func TestLimitsOutOfRange(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, limits := range []abi.Limits{{Gas: abi.MaxGas + 1}, {Gas: -1}} {
		if _, err := host.New(host.Config{Store: store, Limits: limits}); err == nil || !strings.Contains(err.Error(), "limit gas is ") {
			t.Errorf("%+v: got %v, want an error that names the limit", limits, err)
		}
	}
}

// TestPayloadFromOutside: what a host takes is what a run that begins there may hold.
func TestPayloadFromOutside(t *testing.T) {
	n := newLimited(t, abi.Limits{Payload: 100})
	n.push("echo", "echo")
	n.push("signal", "signal")
	fits, more := strings.Repeat("x", 100), strings.Repeat("x", 101)
	if run := n.end(n.start("echo", fits)); string(run.Output) != fits {
		t.Errorf("got %s (%s), want the input of 100 bytes", run.State, run.Reason)
	}
	_, _, err := n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "echo", Input: []byte(more)})
	wantError(t, err, host.TooLarge, "payload_too_large")
	id := n.start("signal", "")
	_, err = n.Signal(t.Context(), tenant.Default, id, "1", "go", []byte(more))
	wantError(t, err, host.TooLarge, "payload_too_large")
	if _, err := n.Signal(t.Context(), tenant.Default, id, "1", "go", []byte(fits)); err != nil {
		t.Fatal(err)
	}
	if run := n.end(id); run.State != journal.Completed {
		t.Errorf("got %s (%s), want completed", run.State, run.Reason)
	}
}

// TestOutputOverTheLimitOfItsRun: a run that began where more was allowed keeps that, and one that began where less was
// allowed fails at the same place everywhere.
func TestOutputOverTheLimitOfItsRun(t *testing.T) {
	n := newLimited(t, abi.Limits{Payload: 8})
	n.push("steps", "steps") // its output has three bytes a step
	for input, want := range map[string]journal.State{"2": journal.Completed, "3": journal.Failed} {
		id := n.start("steps", input)
		run := n.end(id)
		if run.State != want || want == journal.Failed && abi.DecodeFailure(run.Failure).Code != abi.CodeMisuse {
			t.Errorf("%s steps: got %s (%s), want %s", input, run.State, run.Reason, want)
		}
		other, err := host.New(host.Config{Store: n.store, Name: "other"})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := other.Replay(t.Context(), tenant.Default, id, "")
		if err != nil || !rep.OK || rep.Ending != string(want) {
			t.Errorf("%s steps, replayed under other limits: got %+v, %v, want %s", input, rep, err, want)
		}
		if err := other.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestQueuedBytes: signals that a run does not take are refused when their payloads would be more than an inbox may hold.
func TestQueuedBytes(t *testing.T) {
	n := newLimited(t, abi.Limits{})
	n.push("signal", "signal")
	id := n.start("signal", "")
	largest := make([]byte, abi.MaxPayload)
	for i := range journal.MaxQueuedBytes / abi.MaxPayload {
		if _, err := n.Signal(t.Context(), tenant.Default, id, fmt.Sprint(i), "other", largest); err != nil {
			t.Fatal(err)
		}
	}
	_, err := n.Signal(t.Context(), tenant.Default, id, "more", "go", []byte("x"))
	wantError(t, err, host.Quota, "signals_queued")
	if _, err := n.Signal(t.Context(), tenant.Default, id, "nothing", "go", nil); err != nil {
		t.Fatal(err)
	}
	if run := n.end(id); run.State != journal.Completed {
		t.Errorf("got %s (%s), want completed", run.State, run.Reason)
	}
}

// otherPipeline shows journals that began under another version of what is done to modules.
type otherPipeline struct{ journal.Store }

func (s otherPipeline) Entries(ctx context.Context, t tenant.ID, run journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	es, err := s.Store.Entries(ctx, t, run, from, limit)
	if len(es) > 0 && es[0].Seq == 0 {
		es[0].Options = []byte(strings.Replace(string(es[0].Options), `"pipeline":`, `"pipeline":9`, 1))
	}
	return es, err
}

// damagedPayloads shows runs whose payloads cannot be read.
type damagedPayloads struct{ journal.Store }

func (s damagedPayloads) Run(ctx context.Context, t tenant.ID, id journal.RunID) (journal.Run, error) {
	r, err := s.Store.Run(ctx, t, id)
	r.Input, r.Output = nil, nil
	return r, errors.Join(err, journal.ErrPayload)
}

func (s damagedPayloads) Entries(context.Context, tenant.ID, journal.RunID, int64, int) ([]journal.Entry, error) {
	return nil, journal.ErrPayload
}

// TestARunWithADamagedPayloadIsShown: what can be read of it is.
func TestARunWithADamagedPayloadIsShown(t *testing.T) {
	n := newNode(t, nil)
	n.push("echo", "echo")
	id := n.start("echo", "x")
	n.end(id)
	other, err := host.New(host.Config{Store: damagedPayloads{n.store}, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := other.Run(t.Context(), tenant.Default, id); err != nil || v.Run.ID != id || v.Run.State != journal.Completed {
		t.Errorf("run: got %s %s, %v; want it, completed", v.Run.ID, v.Run.State, err)
	}
	_, err = other.Result(t.Context(), tenant.Default, id, 0)
	wantError(t, err, host.Damaged, "payload_unreadable")
	_, err = other.Journal(t.Context(), tenant.Default, id, 0, 10)
	wantError(t, err, host.Damaged, "payload_unreadable")
	_, err = other.Replay(t.Context(), tenant.Default, id, "")
	wantError(t, err, host.Damaged, "payload_unreadable")
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReplayOfAnotherPipeline(t *testing.T) {
	n := newNode(t, nil)
	n.push("echo", "echo")
	id := n.start("echo", "x")
	n.end(id)
	other, err := host.New(host.Config{Store: otherPipeline{n.store}, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Replay(t.Context(), tenant.Default, id, "")
	wantError(t, err, host.Conflict, "pipeline_changed")
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
