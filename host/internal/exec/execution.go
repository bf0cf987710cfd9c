package exec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// execution is one guest's world: the machine that it acts on, the journal that it replays, and the
// recorder that goes on when the journal ends. Without a recorder it stops there.
type execution struct {
	run    journal.Run
	digest modules.Digest
	pin    pinned
	m      *machine
	cur    cursor
	rec    *recorder
	entry  sandbox.Entry
	// idempotency begins the keys of this execution's effects.
	idempotency string
	log         func(level int32, source, line string)
	// freezes asks for the instance where the journal ends.
	freezes bool
}

var _ sandbox.World = (*execution)(nil)

// newExecution makes a workflow's execution, which stops where its journal ends and says nothing.
func newExecution(run journal.Run, digest modules.Digest, pin pinned, entries []journal.Entry) *execution {
	known := pin.as(run)
	x := &execution{run: run, digest: digest, pin: pin, m: newMachine(known.ID[:]), cur: cursor{entries: entries},
		entry: sandbox.Entry{Tenant: string(run.Tenant), Kind: abi.EntryWorkflow, Name: run.Entry, Input: run.Input, Info: about(known, run.Digest, 0), Args: []string{argv0(run)}, Limits: pin.Limits},
		log:   func(int32, string, string) {}}
	x.m.limits = pin.Limits
	return x
}

// begin consumes or records entry 0.
func (x *execution) begin() error {
	first := firstEntry(x.run, x.pin)
	if x.cur.more() {
		e := x.cur.peek()
		if e.Kind != first.Kind || e.Name != first.Name || string(e.Request) != string(first.Request) {
			return x.mismatch(e, stepOf(first), "what the run was started with")
		}
		x.cur.pos++
		first = e
	} else {
		if x.rec == nil {
			return errLive
		}
		first = x.rec.record(first, time.Time{})
	}
	x.m.started, x.m.now = first.At, first.At
	return nil
}

// firstEntry says what a run was started with, and what binds it.
func firstEntry(r journal.Run, pin pinned) journal.Entry {
	return journal.Entry{Kind: journal.KindStarted, Op: journal.NoOp, Name: r.Entry, Status: abi.OK,
		Request: fmt.Appendf(nil, `"sha256:%x"`, sha256.Sum256(r.Input)), Options: pin.encode()}
}

// First is entry 0 of a run that begins here, for journal.Store.Begin.
func (t *Turner) First(r journal.Run) journal.Entry {
	return firstEntry(r, pinned{Pipeline: modules.PipelineVersion, Limits: t.cfg.Limits})
}

// next finds what becomes visible at a wait: from the journal while it lasts, then live.
func (x *execution) next(w waitSet) (journal.Entry, error) {
	if w.hopeless(x.m) {
		f := abi.NewFailure(abi.CodeDeadlock, "the guest waits, but nothing is pending that could wake it")
		return journal.Entry{}, &endError{kind: journal.KindFailed, payload: f.Encode()}
	}
	if x.cur.more() {
		return x.replay(w)
	}
	switch {
	case x.freezes:
		return journal.Entry{}, errFreezing
	case x.rec == nil:
		return journal.Entry{}, errLive
	}
	return x.rec.next(w)
}

// Entry is part of sandbox.World.
func (x *execution) Entry() sandbox.Entry { return x.entry }

// Progress is part of sandbox.World: the entries that the guest has seen.
func (x *execution) Progress() int64 {
	if x.rec != nil && !x.cur.more() {
		return x.rec.seq
	}
	return x.cur.seen()
}

// Replays is part of sandbox.World.
func (x *execution) Replays() bool { return x.cur.more() }

// Start is part of sandbox.World.
func (x *execution) Start(r sandbox.Request) (int32, error) {
	if limit := x.m.limits.Requests; int64(x.m.issued) >= limit {
		return 0, &sandbox.Misuse{Function: "request", Reason: fmt.Sprintf("more than %d requests in one run", limit)}
	}
	o := &op{name: r.Name, request: r.Input, options: r.Options}
	var refusal *abi.Failure
	switch r.Kind {
	case sandbox.OpEffect, sandbox.OpActivity, sandbox.OpChild:
		o.kind = map[sandbox.OpKind]journal.Kind{sandbox.OpEffect: journal.KindEffect, sandbox.OpActivity: journal.KindActivity, sandbox.OpChild: journal.KindChild}[r.Kind]
		var err error
		if strings.HasPrefix(string(r.Options), sandbox.OversizeMark) {
			refusal = abi.NewFailure(abi.CodePayloadLarge, "the request is too large: %s", strings.TrimPrefix(string(r.Options), sandbox.OversizeMark+" ")).Terminal()
		} else if o.opts, err = abi.DecodeOptions(r.Options); err != nil {
			refusal = abi.NewFailure(abi.CodeOptions, "%s", err.Error()).Terminal()
		} else if err = o.opts.CheckFor(o.kind == journal.KindChild); err != nil {
			refusal = abi.NewFailure(abi.CodeOptions, "%s", err.Error()).Terminal()
		} else if o.kind == journal.KindChild {
			refusal = x.mayHaveChildren()
		}
	case sandbox.OpTimer:
		o.kind = journal.KindTimer
		o.due = due(x.m.now.Add(time.Duration(r.After)))
		o.request = dueText(o.due)
	case sandbox.OpSignal:
		o.kind = journal.KindSignal
		if x.entry.Kind != abi.EntryWorkflow {
			refusal = abi.NewFailure(abi.CodeMisuse, "only a workflow receives signals, not %s", x.entry.Kind).Terminal()
		}
	}
	switch limits := x.m.limits; {
	case int64(x.m.open) >= limits.Pending:
		refusal = abi.NewFailure(abi.CodeTooMany, "%d requests are pending, which is the limit", limits.Pending).Terminal()
	case x.m.held+o.size() > limits.PendingBytes:
		refusal = noRoom(x.m)
	}
	h := x.m.add(o)
	if refusal != nil {
		x.m.settle(o, abi.Failed, refusal.Encode())
	}
	return h, nil
}

// noRoom is told of a request or an outcome that the handles have no room for.
func noRoom(m *machine) *abi.Failure {
	return abi.NewFailure(abi.CodePendingLarge, "the run's requests and outcomes may have %d bytes in all until they are dropped", m.limits.PendingBytes).Terminal()
}

// Wait is part of sandbox.World.
func (x *execution) Wait(handles []int32, timeout int64, max int) ([]int32, error) {
	w := waitSet{handles: handles, look: timeout == 0}
	for _, h := range handles {
		if h == abi.CancelHandle {
			w.cancel, x.m.cancelAware = true, true
		} else if x.m.get(h) == nil {
			return nil, unknownHandle("wait", h)
		}
	}
	if done := w.doneHandles(x.m, max); len(done) > 0 {
		return done, nil
	}
	if timeout > 0 {
		w.timed, w.deadline = true, due(x.m.now.Add(time.Duration(timeout)))
	}
	e, err := x.next(w)
	if err != nil {
		return nil, err
	}
	h := x.m.apply(e)
	switch h {
	case journal.NoOp:
		return nil, nil
	case abi.CancelHandle:
		x.m.cancelTaken = true
	default:
		x.m.get(h).taken = true
	}
	return []int32{h}, nil
}

// Poll is part of sandbox.World.
func (x *execution) Poll(p sandbox.Poll) (completion, timedOut bool, err error) {
	w := waitSet{all: p.Completions, cancel: p.Completions && x.m.cancelAware}
	if p.Timeout >= 0 {
		w.timed, w.deadline = true, due(x.m.now.Add(time.Duration(p.Timeout)))
	}
	e, err := x.next(w)
	if err != nil {
		return false, false, err
	}
	h := x.m.apply(e)
	return h != journal.NoOp, h == journal.NoOp, nil
}

// Completed is part of sandbox.World.
func (x *execution) Completed() bool { return x.m.completed() }

// Take is part of sandbox.World.
func (x *execution) Take() (int32, bool) { return x.m.take() }

// Status is part of sandbox.World.
func (x *execution) Status(h int32) (abi.Status, error) {
	if h == abi.CancelHandle {
		if x.m.cancelled {
			return abi.OK, nil
		}
		return abi.Pending, nil
	}
	o := x.m.get(h)
	if o == nil {
		return 0, unknownHandle("status", h)
	}
	return o.status, nil
}

// Result is part of sandbox.World.
func (x *execution) Result(h int32) ([]byte, error) {
	if h == abi.CancelHandle {
		return nil, nil
	}
	o := x.m.get(h)
	if o == nil {
		return nil, unknownHandle("result", h)
	}
	if o.pending() {
		return nil, &sandbox.Misuse{Function: "result", Reason: fmt.Sprintf("handle %d is pending", h)}
	}
	return o.payload, nil
}

// Cancel is part of sandbox.World.
func (x *execution) Cancel(h int32) error {
	o := x.m.get(h)
	if o == nil {
		return unknownHandle("cancel", h)
	}
	x.m.mark("cancel", []byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24)})
	if !o.pending() {
		return nil
	}
	x.m.settle(o, abi.Cancelled, abi.NewFailure(abi.CodeCancelled, "cancelled by the workflow").Encode())
	o.taken = true
	if x.rec != nil {
		x.rec.giveUp(o, !x.cur.more())
	}
	return nil
}

// Drop is part of sandbox.World.
func (x *execution) Drop(h int32) error {
	if err := x.Cancel(h); err != nil {
		return unknownHandle("drop", h)
	}
	x.m.drop(h)
	return nil
}

// CancelHandle is part of sandbox.World.
func (x *execution) CancelHandle() int32 {
	x.m.cancelAware = true
	return abi.CancelHandle
}

// Now is part of sandbox.World.
func (x *execution) Now() int64 { return x.m.now.UnixNano() }

// monotonicStart is where the guest's monotonic clock begins: Go's runtime refuses one that reads 0.
const monotonicStart = int64(time.Second)

// Monotonic is part of sandbox.World.
func (x *execution) Monotonic() int64 { return int64(x.m.now.Sub(x.m.started)) + monotonicStart }

// Random is part of sandbox.World.
func (x *execution) Random(p []byte) { _, _ = x.m.random.Read(p) }

// Log is part of sandbox.World.
func (x *execution) Log(level int32, source, line string) {
	ok, first := x.m.logs(line)
	switch {
	case x.cur.more(): // it was written by the turn that recorded this
	case ok:
		x.log(level, source, line)
	case first:
		x.log(abi.LogWarn, "host", fmt.Sprintf("the log has had its %d bytes; further lines are counted and not written", x.m.limits.LogBytes))
	}
}

// Publish is part of sandbox.World.
func (x *execution) Publish(key string, value []byte) error {
	if _, known := x.m.published[key]; !known && len(x.m.published) >= abi.MaxPublished {
		return &sandbox.Misuse{Function: "publish", Reason: fmt.Sprintf("more than %d keys", abi.MaxPublished)}
	}
	if !x.m.publish(key, value) {
		return &sandbox.Misuse{Function: "publish", Reason: fmt.Sprintf("keys and values of more than %d bytes", x.m.limits.PublishedBytes)}
	}
	x.m.mark("publish", []byte(key), value)
	if x.rec != nil {
		x.rec.publish(key, value)
	}
	return nil
}

func unknownHandle(function string, h int32) error {
	return &sandbox.Misuse{Function: function, Reason: fmt.Sprintf("handle %d was never given, or was dropped", h)}
}

func plural(journal, module int32) string {
	return fmt.Sprintf("the number of requests made before this point: journal %d, module %d", journal, module)
}

// about is what info tells a guest.
func about(r journal.Run, d modules.Digest, attempt int) []byte {
	b, err := json.Marshal(struct {
		Run      string `json:"run"`
		Tenant   string `json:"tenant"`
		Workflow string `json:"workflow"`
		Key      string `json:"key,omitempty"`
		Module   string `json:"module"`
		Attempt  int    `json:"attempt,omitempty"`
	}{r.ID.String(), string(r.Tenant), r.Workflow, r.Key, string(d), attempt})
	if err != nil {
		return []byte("{}") // every field is a string or a number
	}
	return b
}
