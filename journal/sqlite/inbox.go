package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"reprise/abi"
	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Signal implements journal.Inbox. A repeat is told so whatever has become of the run.
func (s *Store) Signal(ctx context.Context, t tenant.ID, run journal.RunID, id, name string, payload []byte) (duplicate bool, err error) {
	a := journal.Arrival{ID: "signal:" + id, Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: name, Payload: payload}
	content := packOne(payload)
	err = s.write(ctx, func(x *tx) (err error) {
		duplicate, err = x.signal(t, run, a, content)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("signal run %s: %w", run, err)
	}
	return duplicate, nil
}

func (t *tx) signal(owner tenant.ID, id journal.RunID, a journal.Arrival, content *payload.Set) (duplicate bool, err error) {
	r, err := t.receiver(owner, id)
	if err != nil {
		return false, err
	}
	digest := arrivalDigest(a)
	var known []byte
	// Index inbox_by_id.
	found, err := t.row(`SELECT digest FROM inbox WHERE run = ? AND id = ?`, []any{r.n, a.ID}, &known)
	switch {
	case err != nil:
		return false, err
	case found && bytes.Equal(known, digest):
		return true, nil
	case found:
		return false, journal.ErrConflict
	case r.State.Terminal():
		return false, journal.ErrState
	case r.queued.count >= journal.MaxQueued, r.queued.bytes+int64(len(a.Payload)) > journal.MaxQueuedBytes:
		return false, journal.ErrQuota
	}
	if err := t.arrive(&r, a, digest, content); err != nil {
		return false, err
	}
	t.step(durable.SignalBefore, durable.SignalAfter)
	return false, nil
}

// receiver reads what an arrival needs to know of its run, by the unique index on (tenant, id).
// Returns journal.ErrNotFound.
func (t *tx) receiver(owner tenant.ID, id journal.RunID) (r run, err error) {
	r.Tenant = owner
	found, err := t.row(`SELECT n, state, inbox_pos, queued, queued_bytes FROM runs WHERE tenant = ? AND id = ?`, []any{owner, id[:]},
		&r.n, &r.State, &r.InboxPos, &r.queued.count, &r.queued.bytes)
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	return r, err
}

// arrive puts an arrival from outside at the end of the run's inbox and wakes the run if it waits.
func (t *tx) arrive(r *run, a journal.Arrival, digest []byte, content *payload.Set) error {
	r.InboxPos++
	a.Pos, a.At = r.InboxPos, t.now
	k := keeper{tx: t, owner: r.Tenant, run: r.n, set: content}
	held, large, err := k.held(a.Payload, placeInbox, a.ID)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO inbox (run, id, pos, kind, op, name, status, payload, payload_large, digest, attempt, retry_at, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.n, a.ID, a.Pos, a.Kind, a.Op, a.Name, a.Status, held, large, digest, a.Attempt, micro(a.RetryAt), micro(a.At))
	if err != nil {
		return fmt.Errorf("insert arrival: %w", err)
	}
	var q queued
	if a.Kind == journal.ArrivalSignal {
		q = queued{1, int64(len(a.Payload))}
	}
	_, err = t.exec(`UPDATE runs SET inbox_pos = ?, mail_pos = ?, queued = queued + ?, queued_bytes = queued_bytes + ?, updated_at = ? WHERE n = ?`,
		a.Pos, a.Pos, q.count, q.bytes, micro(t.now), r.n)
	if err == nil && r.State == journal.Waiting {
		err = t.makeReady(r.n)
	}
	t.hint = true
	return err
}

// makeReady moves a run that nobody owns to Ready.
func (t *tx) makeReady(n int64) error {
	now := micro(t.now)
	_, err := t.exec(`UPDATE runs SET state = 'ready', due_at = ?, waiting = '', reason = '', updated_at = ? WHERE n = ?`, now, now, n)
	return err
}

// RequestCancel implements journal.Inbox.
func (s *Store) RequestCancel(ctx context.Context, t tenant.ID, id journal.RunID, reason string) (out journal.Run, err error) {
	err = s.write(ctx, func(x *tx) error {
		r, err := x.readableRun(t, id)
		if err == nil {
			err = x.cancel(r, reason)
		}
		if err == nil {
			r, err = x.readableRun(t, id)
		}
		out = r.Run
		return err
	})
	if err != nil {
		return journal.Run{}, fmt.Errorf("cancel run %s: %w", id, err)
	}
	return out, nil
}

func (t *tx) cancel(r run, reason string) error {
	switch {
	case r.State.Terminal() && r.CancelRequested:
		return nil
	case r.State.Terminal():
		return journal.ErrState
	case r.State == journal.Blocked, r.State == journal.Paused, r.State == journal.Ready && r.NextSeq == 0:
		return t.cancelAtOnce(r, reason)
	case r.CancelRequested:
		return nil
	}
	if _, err := t.exec(`UPDATE runs SET cancel_requested = 1 WHERE n = ?`, r.n); err != nil {
		return err
	}
	a := journal.Arrival{ID: "cancel", Kind: journal.ArrivalCancel, Op: journal.NoOp, Payload: []byte(reason)}
	if err := t.arrive(&r, a, arrivalDigest(a), packOne(a.Payload)); err != nil {
		return err
	}
	t.step(durable.CancelBefore, durable.CancelAfter)
	return nil
}

// cancelAtOnce ends a run that no guest will run to its end.
func (t *tx) cancelAtOnce(r run, reason string) error {
	now := micro(t.now)
	if err := t.keepCheckpoint(r.n, journal.Batch{Next: &journal.Transition{State: journal.Cancelled}}); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE runs SET state = 'cancelled', cancel_requested = 1, reason = '', waiting = '', due_at = NULL,
		updated_at = ?, finished_at = ? WHERE n = ?`, now, now, r.n)
	if err == nil {
		k := keeper{tx: t, owner: r.Tenant, run: r.n, set: &payload.Set{}}
		err = k.putResult(nil, abi.NewFailure(abi.CodeCancelled, "%s", reason).Encode())
	}
	if err == nil {
		err = t.endBound(r)
	}
	if err == nil && r.Parent != (journal.RunID{}) {
		err = t.tellParent(r.n)
	}
	t.step(durable.CancelBefore, durable.CancelAfter)
	return err
}

// Resume implements journal.Inbox.
func (s *Store) Resume(ctx context.Context, t tenant.ID, id journal.RunID) (out journal.Run, err error) {
	err = s.write(ctx, func(x *tx) error {
		r, err := x.readableRun(t, id)
		if err == nil {
			err = x.resume(r)
		}
		if err == nil {
			r, err = x.readableRun(t, id)
		}
		out = r.Run
		return err
	})
	if err != nil {
		return journal.Run{}, fmt.Errorf("resume run %s: %w", id, err)
	}
	return out, nil
}

func (t *tx) resume(r run) error {
	if r.State != journal.Blocked && r.State != journal.Paused {
		return journal.ErrState
	}
	if _, err := t.exec(`UPDATE runs SET attempts = 0 WHERE n = ?`, r.n); err != nil {
		return err
	}
	t.step(durable.ResumeBefore, durable.ResumeAfter)
	t.hint = true
	return t.makeReady(r.n)
}
