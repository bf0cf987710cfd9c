package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/abi"
	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/tenant"
)

const cancelID = "cancel"

// Primary key.
const lockRunSQL = runSQL + ` FOR UPDATE`

// Primary key. The run is locked and in a state in which nobody owns it.
const cancelAtOnceSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now)
UPDATE reprise.runs r SET state = 'cancelled', cancel_requested = true, failure_held = $3, reason = '', waiting = '', wake_at = NULL,
  updated_at = clock.now, finished_at = clock.now
FROM clock WHERE r.tenant = $1 AND r.id = $2
RETURNING ` + runColumns

// Primary key. The run is locked and was not asked before, so that the arrival is its first of this id.
const cancelRequestSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
run AS (
  UPDATE reprise.runs r SET
    cancel_requested = true,
    inbox_pos = r.inbox_pos + 1,
    mail_pos = r.inbox_pos + 1,
    updated_at = clock.now,
    state = CASE WHEN r.state = 'waiting' THEN 'ready' ELSE r.state END,
    wake_at = CASE WHEN r.state = 'waiting' THEN clock.now ELSE r.wake_at END,
    waiting = CASE WHEN r.state = 'waiting' THEN '' ELSE r.waiting END
  FROM clock WHERE r.tenant = $1 AND r.id = $2
  RETURNING r.*
), arrival AS (
  INSERT INTO reprise.inbox (tenant, run, id, pos, kind, op, name, payload_held, at)
  SELECT run.tenant, run.no, $3, run.inbox_pos, 'cancel', $5, '', $4, clock.now FROM run, clock
)
SELECT ` + runColumns + ` FROM run r`

// RequestCancel implements journal.Inbox.
func (s *Store) RequestCancel(ctx context.Context, t tenant.ID, run journal.RunID, reason string) (r journal.Run, err error) {
	durable.CancelBefore.Hit()
	err = s.retry(ctx, true, func(ctx context.Context) error {
		return s.inTx(ctx, func(tx pgx.Tx) error {
			r, err = s.cancelLocked(ctx, tx, t, run, reason)
			return err
		})
	})
	if err != nil {
		return journal.Run{}, fmt.Errorf("cancel run %s: %w", run, err)
	}
	durable.CancelAfter.Hit()
	s.tell()
	return r, nil
}

func (s *Store) cancelLocked(ctx context.Context, tx pgx.Tx, t tenant.ID, run journal.RunID, reason string) (journal.Run, error) {
	r, err := s.oneRun(ctx, tx, lockRunSQL, string(t), uuidOf(run))
	switch {
	case err != nil:
		return r.Run, err
	case r.State.Terminal() && r.CancelRequested:
		return s.readable(ctx, tx, r)
	case r.State.Terminal():
		return r.Run, fmt.Errorf("the run has ended as %s: %w", r.State, journal.ErrState)
	case r.State == journal.Blocked || r.State == journal.Paused || r.State == journal.Ready && r.NextSeq == 0:
		failure := abi.NewFailure(abi.CodeCancelled, "%s", reason).Encode()
		had := r.CheckpointSeq > 0
		r, err = s.oneRun(ctx, tx, cancelAtOnceSQL, string(t), uuidOf(run), failure)
		if err == nil {
			err = s.unlink(ctx, tx, r.Run)
		}
		if had && err == nil {
			_, err = tx.Exec(ctx, s.in(forgetCheckpointsSQL), []string{string(t)}, []pgtype.UUID{uuidOf(run)})
		}
	case !r.CancelRequested:
		r, err = s.oneRun(ctx, tx, cancelRequestSQL, string(t), uuidOf(run), []byte(cancelID), []byte(reason), journal.NoOp)
	}
	if err != nil {
		return journal.Run{}, err
	}
	return s.readable(ctx, tx, r)
}

// Primary key.
const resumeSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now)
UPDATE reprise.runs r SET state = 'ready', reason = '', attempts = 0, wake_at = clock.now, updated_at = clock.now
FROM clock WHERE r.tenant = $1 AND r.id = $2 AND r.state IN ('blocked', 'paused')
RETURNING ` + runColumns

// Resume implements journal.Inbox. A lost answer is not asked for again: the run may have been held a
// second time meanwhile, for another reason.
func (s *Store) Resume(ctx context.Context, t tenant.ID, run journal.RunID) (r journal.Run, err error) {
	durable.ResumeBefore.Hit()
	var held heldRun
	err = s.retry(ctx, false, func(ctx context.Context) error {
		held, err = s.oneRun(ctx, s.pool, resumeSQL, string(t), uuidOf(run))
		return err
	})
	if err == nil {
		r, err = s.readable(ctx, s.pool, held)
	}
	if err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			if there, rerr := s.Run(ctx, t, run); rerr == nil {
				err = fmt.Errorf("the run is %s, neither blocked nor paused: %w", there.State, journal.ErrState)
			}
		}
		return journal.Run{}, fmt.Errorf("resume run %s: %w", run, err)
	}
	durable.ResumeAfter.Hit()
	s.tell()
	return r, nil
}
