package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reprise/abi"
	"reprise/host/internal/exec"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// sameStart says that a request is a repeat of the one that started a run, although the workflow's name has
// moved meanwhile to a module whose only workflow has another name.
func sameStart(req StartRun, in journal.Run) bool {
	return req.IdempotencyKey != "" && req.IdempotencyKey == in.IdempotencyKey && req.Workflow == in.Workflow && req.Key == in.Key &&
		req.Entry == "" && bytes.Equal(req.Input, in.Input)
}

func startConflict(req StartRun, in journal.Run, err error) error {
	if req.IdempotencyKey != "" && in.IdempotencyKey == req.IdempotencyKey {
		return &Error{Kind: Conflict, Code: "idempotency_conflict", What: fmt.Sprintf("the idempotency key was used for another start: %s", in.ID),
			Where: "idempotency key", Fix: "use a new key for a new request", Err: err}
	}
	return &Error{Kind: Conflict, Code: "run_key_taken", What: fmt.Sprintf("the open run %s has the key %q", in.ID, in.Key),
		Where: "key", Fix: "use that run, wait for its end, or choose another key", Err: err}
}

func (h *Host) checkStart(req StartRun) error {
	if err := h.checkPayload("input", req.Input); err != nil {
		return err
	}
	fields := []struct{ name, value string }{{"workflow", req.Workflow}, {"entry", req.Entry}, {"key", req.Key}, {"idempotency key", req.IdempotencyKey}}
	for _, f := range fields {
		if err := checkText(f.name, f.value); err != nil {
			return err
		}
	}
	if req.Workflow == "" {
		return &Error{Kind: Invalid, Code: "invalid_name", What: "no workflow is named", Where: "workflow", Fix: "name a workflow or a digest; reprise module list shows them"}
	}
	return nil
}

// checkText refuses what a store or terminal cannot hold: over-long, not UTF-8, control characters.
func checkText(field, s string) error {
	switch {
	case len(s) > abi.MaxName:
		return &Error{Kind: Invalid, Code: "invalid_name", What: fmt.Sprintf("the %s has %d bytes, more than %d", field, len(s), abi.MaxName), Where: field, Fix: "shorten it"}
	case !utf8.ValidString(s):
		return &Error{Kind: Invalid, Code: "invalid_name", What: fmt.Sprintf("the %s is not valid UTF-8", field), Where: field, Fix: "send it as UTF-8"}
	case strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return &Error{Kind: Invalid, Code: "invalid_name", What: fmt.Sprintf("the %s has a control character", field), Where: field, Fix: "use printable characters"}
	}
	return nil
}

// checkPayload refuses what is longer than a payload of a run that begins here may be.
func (h *Host) checkPayload(field string, b []byte) error {
	if int64(len(b)) <= h.cfg.Limits.Payload {
		return nil
	}
	return &Error{Kind: TooLarge, Code: "payload_too_large", What: fmt.Sprintf("the %s has %d bytes, more than %d", field, len(b), h.cfg.Limits.Payload),
		Where: field, Fix: "store the data elsewhere and pass a reference"}
}

// entryOf picks the workflow inside the module: the one asked for, the only one, or the one that is named like the
// alias. A module that does not describe itself gets what was asked for.
func entryOf(m abi.Manifest, req StartRun) (string, error) {
	if len(m.Workflows) == 0 {
		return req.Entry, nil
	}
	want := req.Entry
	if want == "" && len(m.Workflows) == 1 {
		return m.Workflows[0], nil
	}
	if want == "" {
		want = req.Workflow
	}
	if slices.Contains(m.Workflows, want) {
		return want, nil
	}
	return "", &Error{Kind: Invalid, Code: "unknown_entry", What: fmt.Sprintf("the module has no workflow %.80q; it has %s", want, strings.Join(quoted(m.Workflows), ", ")),
		Where: "entry", Fix: "name one of them"}
}

func quoted(names []string) []string {
	const shown = 20
	var out []string
	for i, n := range names {
		if i == shown {
			return append(out, fmt.Sprintf("and %d more", len(names)-shown))
		}
		out = append(out, fmt.Sprintf("%.80q", n))
	}
	return out
}

// Run returns a run and what it publishes.
func (h *Host) Run(ctx context.Context, t tenant.ID, id journal.RunID) (RunView, error) {
	run, err := h.cfg.Store.Run(ctx, t, id)
	if unlessPayload(err) != nil {
		return RunView{}, runError(err, id)
	}
	pub, err := h.cfg.Store.Published(ctx, t, id)
	if unlessPayload(err) != nil {
		return RunView{}, runError(err, id)
	}
	v := RunView{Run: run, Published: pub}
	if !run.State.Terminal() && run.InboxPos > 0 {
		inbox, err := h.cfg.Store.Arrivals(ctx, t, id, 0)
		if unlessPayload(err) != nil {
			return RunView{}, runError(err, id)
		}
		v.Queued = len(inbox)
	}
	return v, nil
}

// unlessPayload takes it for no error that a payload cannot be read: the rest of a run is shown, and why it is blocked.
func unlessPayload(err error) error {
	if errors.Is(err, journal.ErrPayload) {
		return nil
	}
	return err
}

// Runs lists runs.
func (h *Host) Runs(ctx context.Context, t tenant.ID, f journal.Filter) (journal.Page, error) {
	if f.State != "" && !f.State.Valid() {
		return journal.Page{}, &Error{Kind: Invalid, Code: "unknown_state", What: fmt.Sprintf("there is no state %.40q", f.State), Where: "state", Fix: fmt.Sprintf("use one of %v", journal.States)}
	}
	if f.Limit < 0 || f.Limit > 1000 {
		return journal.Page{}, &Error{Kind: Invalid, Code: "invalid_limit", What: fmt.Sprintf("the limit is %d", f.Limit), Where: "limit", Fix: "use 1 to 1000"}
	}
	page, err := h.cfg.Store.Runs(ctx, t, f)
	if errors.Is(err, journal.ErrConflict) {
		return page, &Error{Kind: Invalid, Code: "invalid_cursor", What: "the cursor is not one of this list", Where: "cursor", Fix: "start again without a cursor", Err: err}
	}
	return page, err
}

// Journal returns entries of a run.
func (h *Host) Journal(ctx context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	if from < 0 || limit < 0 {
		return nil, &Error{Kind: Invalid, Code: "invalid_limit", What: "from and limit cannot be negative", Where: "from, limit", Fix: "start at 0"}
	}
	entries, err := h.cfg.Store.Entries(ctx, t, id, from, limit)
	if err != nil {
		return nil, runError(err, id)
	}
	return entries, nil
}

// Result waits for the end of a run, and of those that go on for it: the run that it returns is the last of them.
func (h *Host) Result(ctx context.Context, t tenant.ID, id journal.RunID, wait time.Duration) (journal.Run, error) {
	for until := time.Now().Add(wait); ; wait = time.Until(until) {
		run, err := h.resultOf(ctx, t, id, wait)
		if err != nil || run.State != journal.Continued || run.Successor == (journal.RunID{}) {
			return run, err
		}
		id = run.Successor
	}
}

// resultOf waits for the end of one run.
func (h *Host) resultOf(ctx context.Context, t tenant.ID, id journal.RunID, wait time.Duration) (journal.Run, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for look := false; ; look = true {
		ended, forget, open := h.ended.listen(t, id, h.cfg.Poll)
		var run journal.Run
		if look || !open || wait <= 0 {
			var err error
			if run, err = h.cfg.Store.Run(ctx, t, id); unlessPayload(err) != nil || err != nil && run.State == journal.Completed {
				forget()
				return run, runError(err, id)
			}
			if wait <= 0 || run.State.Terminal() || run.State == journal.Blocked || run.State == journal.Paused {
				forget()
				return run, nil
			}
		}
		select {
		case end, known := <-ended:
			if known {
				forget()
				return end, nil
			}
		case <-time.After(h.cfg.Poll): // it may end on another node
		case <-deadline.C:
			wait = 0 // look once more
		case <-ctx.Done():
			forget()
			return run, ctx.Err()
		}
		forget()
	}
}

// Signal queues a signal for a run, or for who goes on for it.
func (h *Host) Signal(ctx context.Context, t tenant.ID, id journal.RunID, signalID, name string, payload []byte) (bool, error) {
	if err := h.checkPayload("payload", payload); err != nil {
		return false, err
	}
	for _, f := range []struct{ name, value string }{{"signal name", name}, {"signal id", signalID}} {
		if f.value == "" {
			return false, &Error{Kind: Invalid, Code: "invalid_name", What: "the " + f.name + " is empty", Where: f.name, Fix: "give one"}
		}
		if err := checkText(f.name, f.value); err != nil {
			return false, err
		}
	}
	var dup bool
	err := h.onward(ctx, t, &id, func() (s journal.State, err error) {
		dup, err = h.cfg.Store.Signal(ctx, t, id, signalID, name, payload)
		return s, err
	})
	switch {
	case errors.Is(err, journal.ErrConflict):
		return false, &Error{Kind: Conflict, Code: "signal_conflict", What: fmt.Sprintf("the signal id %q was used for another signal to this run", signalID), Where: "signal id", Fix: "use a new id for a new signal", Err: err}
	case errors.Is(err, journal.ErrState):
		return false, &Error{Kind: Conflict, Code: "run_ended", What: "the run has ended and takes no signals", Where: id.String(), Fix: "start a new run", Err: err}
	case errors.Is(err, journal.ErrQuota):
		return false, &Error{Kind: Quota, Code: "signals_queued", What: fmt.Sprintf("signals wait in the run's inbox, and %d of them or %d bytes of their payloads are the limit", journal.MaxQueued, journal.MaxQueuedBytes), Where: id.String(), Fix: "send later", Err: err}
	case err != nil:
		return false, runError(err, id)
	}
	return dup, nil
}

// onward does something to a run, and when that has continued to the run that goes on for it. do says the run's state when it
// knows it.
func (h *Host) onward(ctx context.Context, t tenant.ID, id *journal.RunID, do func() (journal.State, error)) error {
	for {
		state, err := do()
		if err != nil && !errors.Is(err, journal.ErrState) || err == nil && state != journal.Continued {
			return err
		}
		run, rerr := h.cfg.Store.Run(ctx, t, *id)
		if unlessPayload(rerr) != nil || run.State != journal.Continued || run.Successor == (journal.RunID{}) {
			return err
		}
		*id = run.Successor
	}
}

// Cancel asks a run to end, or who goes on for it.
func (h *Host) Cancel(ctx context.Context, t tenant.ID, id journal.RunID, reason string) (journal.Run, error) {
	if err := checkText("reason", reason); err != nil {
		return journal.Run{}, err
	}
	var run journal.Run
	err := h.onward(ctx, t, &id, func() (_ journal.State, err error) {
		run, err = h.cfg.Store.RequestCancel(ctx, t, id, reason)
		return run.State, err
	})
	if errors.Is(err, journal.ErrState) {
		return run, &Error{Kind: Conflict, Code: "run_ended", What: "the run has ended", Where: id.String(), Fix: "nothing is left to cancel", Err: err}
	}
	if err != nil {
		return run, runError(err, id)
	}
	if run.State.Terminal() {
		h.ended.tell(id, nil)
	}
	return run, nil
}

// Resume lets a blocked or paused run go on.
func (h *Host) Resume(ctx context.Context, t tenant.ID, id journal.RunID) (journal.Run, error) {
	run, err := h.cfg.Store.Resume(ctx, t, id)
	if errors.Is(err, journal.ErrState) {
		return run, &Error{Kind: Conflict, Code: "run_not_held", What: "the run is neither blocked nor paused", Where: id.String(), Fix: "nothing is left to resume", Err: err}
	}
	if err != nil {
		return run, runError(err, id)
	}
	return run, nil
}

// DeleteRun removes a run that has ended.
func (h *Host) DeleteRun(ctx context.Context, t tenant.ID, id journal.RunID) error {
	err := h.cfg.Store.DeleteRun(ctx, t, id)
	if errors.Is(err, journal.ErrState) {
		return &Error{Kind: Conflict, Code: "run_open", What: "the run is open", Where: id.String(), Fix: "cancel it and wait for its end", Err: err}
	}
	if err != nil {
		return runError(err, id)
	}
	return nil
}

// Replay replays a run's journal without writing.
func (h *Host) Replay(ctx context.Context, t tenant.ID, id journal.RunID, digest modules.Digest) (Replay, error) {
	run, err := h.cfg.Store.Run(ctx, t, id)
	if err != nil {
		return Replay{}, runError(err, id)
	}
	if digest == "" {
		digest = run.Digest
	}
	rep, err := h.turner.Replay(ctx, run, digest)
	var pipeline *exec.PipelineError
	if errors.As(err, &pipeline) {
		return Replay{}, &Error{Kind: Conflict, Code: "pipeline_changed", What: pipeline.Error(), Where: id.String(), Fix: "replay it on a host of the version that it began on", Err: err}
	}
	if err != nil {
		return Replay{}, moduleError(runError(err, id), string(digest))
	}
	out := Replay{Run: id, Digest: digest, Entries: rep.Entries, OK: rep.Mismatch == nil, Ending: rep.Ending}
	if rep.Mismatch != nil {
		out.Mismatch, out.Seq = rep.Mismatch.Error(), rep.Mismatch.Seq
	}
	return out, nil
}

// runError translates what a store says of a run.
func runError(err error, id journal.RunID) error {
	if errors.Is(err, journal.ErrNotFound) {
		return &Error{Kind: NotFound, Code: "run_not_found", What: "there is no run " + id.String(), Where: "run id", Fix: "reprise run list shows the runs", Err: err}
	}
	if errors.Is(err, journal.ErrPayload) {
		return &Error{Kind: Damaged, Code: "payload_unreadable", What: "a payload of the run is damaged or missing in the journal's database", Where: id.String(),
			Fix: "restore it from a backup; the host's log names it", Err: err}
	}
	return err
}
