package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/internal/failpoint"
	"reprise/journal"
	"reprise/modules"
)

var (
	fpClaimed  = failpoint.New("exec.claimed")  // the claim is durable, nothing was executed
	fpReplayed = failpoint.New("exec.replayed") // the journal was read, the guest has not begun
)

// replayTries is how often a mismatch is tried again before the run is blocked: one odd replay, say by
// a damaged read, must not condemn a run.
const replayTries = 2

// Turn is one claimed run on its way to suspension or end.
type Turn struct {
	t     *Turner
	claim journal.Claim

	drain     chan struct{}
	drainOnce sync.Once
	logger    *slog.Logger
	guestLog  *guestLog

	end *journal.Run // the run as this turn has ended it, when that is known

	thawed  bool // this try goes on in an instance that was frozen
	replays bool // no checkpoint is used any more
	stays   bool // its instance is not evicted, because it is too large

	mu   sync.Mutex
	rec  *recorder // of the try that runs now
	mail int64
}

// Open makes the turn of a claim. Run must be called.
func (t *Turner) Open(c journal.Claim) *Turn {
	u := &Turn{t: t, claim: c, drain: make(chan struct{})}
	u.logger = t.cfg.Logger.With("run", c.Run.ID.String(), "tenant", string(c.Run.Tenant), "workflow", c.Run.Workflow, "module", c.Run.Digest.Short())
	u.guestLog = newGuestLog(u.logger, t.cfg.LogRate)
	return u
}

// Mail says that the run's inbox has something up to pos.
func (u *Turn) Mail(pos int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mail = max(u.mail, pos)
	if u.rec != nil {
		u.rec.Mail(pos)
	}
}

// Drain asks the turn to give its run back as soon as no effect is in flight.
func (u *Turn) Drain() { u.drainOnce.Do(func() { close(u.drain) }) }

// Run executes until the run is suspended, ends, is blocked, or may not go on here. ctx is done when the
// node may not go on: then nothing more is written, except that the run is given back if it still can be.
func (u *Turn) Run(ctx context.Context) {
	log := u.log()
	fpClaimed.Hit()
	if n := u.claim.Run.Attempts; n > u.t.cfg.MaxAttempts {
		u.block(ctx, fmt.Sprintf("crash_loop: %d turns in a row ended with their host", n-1), false)
		return
	}
	if err := u.claim.Unreadable; err != nil {
		u.settle(ctx, fmt.Errorf("input: %w", err), log)
		return
	}
	var err error
	for try := 0; try <= replayTries; try++ {
		err = u.once(ctx)
		if errors.Is(err, sandbox.ErrPressure) && ctx.Err() == nil {
			log.Info("the host has no memory for the guest; it begins again when there is room")
			try--
			continue
		}
		var odd *NondeterminismError
		if u.doubts() && doubtful(err) {
			u.distrust("odd", err)
			try--
			continue
		}
		if !errors.As(err, &odd) {
			break
		}
		log.Warn("replay does not match", "try", try+1, "seq", odd.Seq, "error", odd.Summary())
	}
	u.guestLog.tell()
	u.settle(ctx, err, log)
}

// settle acts on how the turn stopped.
func (u *Turn) settle(ctx context.Context, err error, log *slog.Logger) {
	var odd *NondeterminismError
	var refused *modules.RefusedError
	var full *fullError
	var pipeline *PipelineError
	switch {
	case err == nil:
		u.t.cfg.Ended(u.claim.Lease.Run, u.end)
	case errors.Is(err, errSuspended):
	case errors.Is(err, errFenced):
		log.Warn("lost the run to another owner", "error", err)
	case errors.Is(err, errReleased), errors.Is(err, errAborted):
		u.release(ctx, log, err)
	case errors.As(err, &odd):
		log.Error(odd.Error())
		u.block(ctx, odd.Summary(), false)
	case errors.As(err, &full):
		u.block(ctx, "journal_limit: "+full.Error(), true)
	case errors.As(err, &pipeline):
		u.block(ctx, "pipeline_changed: "+pipeline.Error(), false)
	case errors.Is(err, sandbox.ErrInterpreterDepth):
		u.block(ctx, "interpreter_depth: "+err.Error()+"; a node that compiles the module carries the run on", true)
	case errors.Is(err, journal.ErrPayload):
		u.block(ctx, "payload_unreadable: "+err.Error(), false)
	case errors.Is(err, modules.ErrNotFound):
		u.block(ctx, "module_missing: the store has no module "+string(u.claim.Run.Digest), false)
	case errors.As(err, &refused):
		u.block(ctx, refused.Code+": "+refused.Error(), false)
	case errors.Is(err, errCorrupt), errors.Is(err, journal.ErrConflict) && u.claim.Run.Attempts > 1: // once more the same is in the way
		u.block(ctx, "corrupt_history: "+err.Error(), false)
	default:
		log.Error("turn failed inside the host", "error", err)
		u.release(ctx, log, err)
	}
}

func (u *Turn) log() *slog.Logger { return u.logger }

// once is one try: load, replay, go on. It returns nil when the run has ended.
func (u *Turn) once(ctx context.Context) error {
	tctx, cancel := context.WithCancel(ctx)
	defer cancel() // attempts still in flight are told to stop
	run, lease := u.claim.Run, u.claim.Lease
	rec := newRecorder(tctx, u.t, &lease, u.drain)
	u.mu.Lock()
	u.rec = rec
	rec.mail = max(u.mail, run.InboxPos)
	u.mu.Unlock()

	rec.durable, rec.last = run.NextSeq, run.CheckpointSeq
	defer func() { u.claim.Run.NextSeq = rec.durable }() // for another try

	x, mod, from, err := u.prepare(rec)
	if err != nil {
		return err
	}
	fpReplayed.Hit()
	if err := rec.collect(); err != nil {
		return err
	}
	if from == nil {
		if err := x.begin(); err != nil {
			return err
		}
	}
	for {
		var end sandbox.Ending
		if from != nil {
			end = mod.Thaw(tctx, x, from)
		} else {
			end = mod.Run(tctx, x, "")
		}
		if !errors.Is(end.Cause, errEvicted) {
			return u.finish(x, end)
		}
		if from, err = u.outside(x, end); err != nil {
			return err
		}
		u.thawed = true
	}
}

// prepare makes the execution, from the run's checkpoint, which it returns, or from its first entry.
func (u *Turn) prepare(rec *recorder) (x *execution, mod program, from *sandbox.Frozen, err error) {
	run := u.claim.Run
	load := func() error {
		return rec.persist(func(ctx context.Context) (err error) {
			mod, err = u.t.load(ctx, run.Tenant, run.Digest)
			return err
		})
	}
	var s *saved
	if run.CheckpointSeq > 0 && !u.replays && load() == nil {
		s = u.saved(rec, mod)
	}
	seq := int64(0)
	if s != nil {
		seq = s.seq
	}
	entries, err := u.entries(rec, seq)
	if err != nil {
		return nil, nil, nil, err
	}
	if u.thawed = s != nil; u.thawed {
		x, from = newExecution(run, run.Digest, s.pin, entries), s.frozen
		x.m, x.cur.base, rec.written = s.machine, s.seq, s.written
		u.log().Debug("goes on from its checkpoint", "seq", s.seq, "entries", len(entries), "bytes", s.packed)
	} else {
		pin, err := u.t.pinned(entries)
		if err != nil {
			return nil, nil, nil, err
		}
		if err := load(); err != nil {
			return nil, nil, nil, err
		}
		x = newExecution(run, run.Digest, pin, entries)
	}
	x.rec, x.idempotency, x.log = rec, string(run.Tenant)+"/"+run.ID.String(), u.guestLog.write
	rec.x, rec.seq, rec.freezable = x, seq+int64(len(entries)), !u.stays && mod.Freezable("") == nil
	for _, e := range entries {
		rec.written += entrySize(e)
	}
	return x, mod, from, nil
}

// entries are the run's journal from an entry on: what came with the claim, or what the store has.
func (u *Turn) entries(rec *recorder, from int64) (es []journal.Entry, err error) {
	if known := u.claim.Entries; from == 0 && int64(len(known)) == u.claim.Run.NextSeq {
		return known, nil
	}
	err = rec.persist(func(ctx context.Context) (err error) {
		es, err = u.t.history(ctx, u.claim.Run, from, u.claim.Run.NextSeq)
		return err
	})
	return es, err
}

// argv0 is the name that a program without SDK finds as its first argument.
func argv0(r journal.Run) string {
	if r.Entry != "" {
		return r.Entry
	}
	return r.Workflow
}

// finish turns an ending into the terminal entry, and checks or writes it.
func (u *Turn) finish(x *execution, end sandbox.Ending) error {
	if errors.Is(end.Cause, sandbox.ErrFreeze) {
		return u.suspend(x, end)
	}
	if u.doubts() && end.Failure != nil && end.Failure.Code == abi.CodeTrap {
		return fmt.Errorf("%w: %w", errTrapped, end.Failure)
	}
	e, err := x.terminal(end)
	if err != nil {
		return err
	}
	if x.cur.more() {
		if err := x.compareEnd(e); err != nil {
			return err
		}
		e = x.cur.last() // the journal has its end, the run's row has not
	} else {
		u.warnPending(x)
		x.warnUnlogged(u.log())
		e = x.rec.record(e, time.Time{})
	}
	if err := x.rec.endChildren(); err != nil {
		return err
	}
	next, err := x.rec.endBy(e)
	if err != nil {
		return err
	}
	var ended journal.Ended
	next.Ended = &ended
	if err := x.rec.flush(next); err != nil {
		return err
	}
	fpEnded.Hit()
	if !ended.At.IsZero() {
		u.end = endedAs(u.claim.Run, next, x.rec.seq)
	}
	return nil
}

// endedAs is a run's row after a transition has ended it.
func endedAs(r journal.Run, next *journal.Transition, entries int64) *journal.Run {
	r.State, r.Owner, r.Attempts, r.Waiting, r.WakeAt = next.State, "", 0, "", time.Time{}
	r.Reason, r.Output, r.Failure, r.NextSeq = next.Reason, next.Output, next.Failure, entries
	if next.Successor != nil {
		r.Successor = next.Successor.ID
	}
	r.InboxPos, r.CancelRequested = next.Ended.InboxPos, next.Ended.CancelRequested
	r.UpdatedAt, r.FinishedAt = next.Ended.At, next.Ended.At
	return &r
}

// warnPending tells the author that something was asked and never waited for.
func (u *Turn) warnPending(x *execution) {
	n := 0
	for _, o := range x.m.pendingOps() {
		if o.kind == journal.KindEffect || o.kind == journal.KindActivity {
			n++
		}
	}
	if n > 0 {
		u.log().Warn("the run ended while effects were pending; they are given up", "pending", n)
	}
}

// warnUnlogged tells the author that the log lacks lines.
func (x *execution) warnUnlogged(log *slog.Logger) {
	if n := x.m.unlogged; n > 0 {
		log.Warn("log lines beyond the limit were not written", "lines", n, "limit_bytes", x.m.limits.LogBytes)
	}
}

// maxReason bounds the one line that a run keeps of its failure.
const maxReason = 1000

func reasonOf(failure []byte) string {
	f := abi.DecodeFailure(failure)
	return printable(f.Error(), maxReason)
}

// terminal is the entry that an ending amounts to; an error when the guest did not end.
func (x *execution) terminal(end sandbox.Ending) (journal.Entry, error) {
	e := journal.Entry{Op: journal.NoOp, Status: abi.OK, Kind: journal.KindCompleted, Payload: end.Output}
	if end.Continues {
		e.Kind = journal.KindContinued
	}
	var ended *endError
	var odd *NondeterminismError
	switch {
	case errors.As(end.Cause, &ended):
		e.Kind, e.Payload = ended.kind, ended.payload
	case errors.As(end.Cause, &odd):
		odd.Stack = end.Stack
		return e, odd
	case errors.Is(end.Cause, sandbox.ErrNoExport):
		e.Kind, e.Payload = journal.KindFailed, abi.NewFailure(abi.CodeMisuse, "%s", end.Cause.Error()).Encode()
	case errors.Is(end.Cause, context.Canceled), errors.Is(end.Cause, context.DeadlineExceeded):
		return e, errAborted // it was computing when the node had to stop
	case end.Cause != nil:
		return e, end.Cause
	case end.Failure != nil:
		e.Kind, e.Payload = journal.KindFailed, end.Failure.Encode()
		if x.m.cancelled && end.Failure.Code == abi.CodeCancelled {
			e.Kind = journal.KindCancelled
		}
	}
	if e.Kind != journal.KindCompleted && e.Kind != journal.KindContinued {
		e.Status = abi.Failed
	}
	return e, nil
}

// compareEnd checks a guest's end against the journal's.
func (x *execution) compareEnd(got journal.Entry) error {
	e := x.cur.peek()
	if e.Kind != got.Kind {
		return x.mismatch(e, endStep(got.Kind, got.Payload), "")
	}
	if (e.Kind == journal.KindCompleted || e.Kind == journal.KindContinued) && string(e.Payload) != string(got.Payload) {
		at, what := firstDifference(e.Payload, got.Payload), "output"
		if e.Kind == journal.KindContinued {
			what = "successor's input"
		}
		return x.mismatch(e, endStep(got.Kind, got.Payload), fmt.Sprintf("the %s, from byte %d on", what, at))
	}
	if want, have := endStep(e.Kind, e.Payload), endStep(got.Kind, got.Payload); want.name != have.name {
		return x.mismatch(e, have, "the failure's code")
	}
	if err := x.compareTrail(e, endStep(got.Kind, got.Payload)); err != nil {
		return err
	}
	x.cur.pos++
	return nil
}
