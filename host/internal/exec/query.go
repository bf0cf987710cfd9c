package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// ErrNoWait says that a run cannot be asked because it does not wait: it has not begun, or is about to end.
var ErrNoWait = errors.New("the run does not wait")

// queryGas bounds what a query computes: about a second.
const queryGas = 1_000_000_000

// asker is a program whose runs can be asked.
type asker interface {
	Queryable() error
	Query(ctx context.Context, w sandbox.World, f *sandbox.Frozen) sandbox.Ending
}

var _ asker = (*sandbox.Module)(nil)

// Query asks a copy of a run, as the run is where its journal ends, and throws the copy away. Nothing of the run is changed, or
// read but its journal and its checkpoint. The answer is bytes, or the failure that the query came to. Returns ErrNoWait,
// sandbox.ErrNoQueries, and what Replay returns.
func (t *Turner) Query(ctx context.Context, run journal.Run, name string, input []byte) ([]byte, *abi.Failure, error) {
	mod, err := t.load(ctx, run.Tenant, run.Digest)
	if err != nil {
		return nil, nil, err
	}
	q, ok := mod.(asker)
	if !ok {
		return nil, nil, sandbox.ErrNoQueries
	}
	if err := q.Queryable(); err != nil {
		return nil, nil, err
	}
	begin := time.Now()
	defer func() { t.counts.add(func(n *Counts) { n.Asking += time.Since(begin) }) }()
	x, f, err := t.copyOf(ctx, run, mod)
	if err != nil {
		return nil, nil, err
	}
	t.counts.add(func(n *Counts) { n.Queries++ })
	limits := x.pin.Limits
	limits.Gas, limits.RunGas = queryGas, 0 // what the run has used is no part of it
	end := q.Query(ctx, &asked{execution: x, entry: sandbox.Entry{Tenant: string(run.Tenant), Kind: abi.EntryQuery, Name: name, Input: input,
		Info: x.entry.Info, Args: []string{name}, Limits: limits}, told: f.Kind != modules.FreezeGo, waits: f.Kind == modules.FreezeGo}, f)
	return end.Output, end.Failure, end.Cause
}

// copyOf freezes a run where its journal ends: from its checkpoint, when it has one that can be used, or from its first entry.
func (t *Turner) copyOf(ctx context.Context, run journal.Run, mod program) (*execution, *sandbox.Frozen, error) {
	if run.CheckpointSeq > 0 {
		x, f, err := t.copyFrom(ctx, run, mod)
		if err == nil {
			return x, f, nil
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		t.counts.fallback("query")
		t.cfg.Logger.Debug("a query replays its run from the first entry", "run", run.ID.String(), "error", err)
	}
	entries, err := t.history(ctx, run, 0, run.NextSeq)
	if err != nil {
		return nil, nil, err
	}
	if len(entries) == 0 {
		return nil, nil, fmt.Errorf("%w: it has not begun", ErrNoWait)
	}
	pin, err := t.pinned(entries)
	if err != nil {
		return nil, nil, err
	}
	x := newExecution(run, run.Digest, pin, entries)
	if err := x.begin(); err != nil {
		return nil, nil, err
	}
	x.freezes = true
	f, err := frozenAt(mod.Run(ctx, x, ""))
	return x, f, err
}

func (t *Turner) copyFrom(ctx context.Context, run journal.Run, mod program) (*execution, *sandbox.Frozen, error) {
	c, err := t.cfg.Store.Checkpoint(ctx, run.Tenant, run.ID)
	if err != nil {
		return nil, nil, err
	}
	s, err := openCheckpoint(t.packer, run, c)
	if err != nil {
		return nil, nil, err
	}
	if s.pin.Pipeline != modules.PipelineVersion {
		return nil, nil, &PipelineError{Run: s.pin.Pipeline, Host: modules.PipelineVersion}
	}
	entries, err := t.history(ctx, run, s.seq, run.NextSeq)
	if err != nil {
		return nil, nil, err
	}
	x := newExecution(run, run.Digest, s.pin, entries)
	x.m, x.cur.base, x.freezes = s.machine, s.seq, true
	if len(entries) == 0 {
		return x, s.frozen, nil
	}
	f, err := frozenAt(mod.Thaw(ctx, x, s.frozen))
	return x, f, err
}

func frozenAt(end sandbox.Ending) (*sandbox.Frozen, error) {
	switch {
	case end.Frozen != nil:
		return end.Frozen, nil
	case end.Cause != nil:
		return nil, end.Cause
	}
	return nil, fmt.Errorf("%w: it is about to end", ErrNoWait)
}

// asked is the world of a query: what its run has seen, and nothing that could be asked for.
type asked struct {
	*execution
	entry sandbox.Entry
	told  bool // the program knows by its descriptor that it is asked
	waits bool // it may wait again, and is through then
}

var _ sandbox.World = (*asked)(nil)

// refused is what a query is told that wants something of the world.
func refused(function string) error {
	return &sandbox.Misuse{Function: function, Reason: "a query answers from what its run has seen, and may not ask for anything"}
}

// Entry is part of sandbox.World.
func (q *asked) Entry() sandbox.Entry { return q.entry }

// Progress is part of sandbox.World: the query is a stretch of its own.
func (q *asked) Progress() int64 { return -1 }

// Replays is part of sandbox.World.
func (q *asked) Replays() bool { return false }

// Start is part of sandbox.World.
func (q *asked) Start(r sandbox.Request) (int32, error) {
	function := "request"
	switch r.Kind {
	case sandbox.OpEffect:
		function = "effect"
	case sandbox.OpActivity:
		function = "activity"
	case sandbox.OpTimer:
		function = "timer"
	case sandbox.OpSignal:
		function = "signal"
	}
	return 0, refused(function)
}

// Completed is part of sandbox.World.
func (q *asked) Completed() bool { return !q.told }

// Take is part of sandbox.World.
func (q *asked) Take() (int32, bool) {
	fresh := !q.told
	q.told = true
	return abi.QueryHandle, fresh
}

// Wait is part of sandbox.World.
func (q *asked) Wait([]int32, int64, int) ([]int32, error) { return nil, refused("wait") }

// Poll is part of sandbox.World.
func (q *asked) Poll(sandbox.Poll) (completion, timedOut bool, err error) {
	if q.waits {
		return false, false, sandbox.ErrAnswered
	}
	return false, false, refused("poll_oneoff")
}

// Cancel is part of sandbox.World.
func (q *asked) Cancel(int32) error { return refused("cancel") }

// Drop is part of sandbox.World.
func (q *asked) Drop(int32) error { return refused("drop") }

// Publish is part of sandbox.World.
func (q *asked) Publish(string, []byte) error { return refused("publish") }

// Log is part of sandbox.World. A query leaves no trace.
func (q *asked) Log(int32, string, string) {}
