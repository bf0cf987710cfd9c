package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// runColumns are a run's columns in the order of runRow.into. A ready run has wake_at too, to be found by; that is
// not its timer.
const runColumns = `r.tenant, r.id, r.key, r.idempotency_key, r.workflow, r.digest, r.entry, r.input,
  r.state, r.reason, r.waiting, r.output, r.failure, r.attempts,
  r.owner, r.token, r.next_seq, r.inbox_pos, r.cancel_requested,
  CASE WHEN r.state = 'waiting' THEN r.wake_at END, r.created_at, r.updated_at, r.finished_at`

// runRow holds what a row of runColumns is scanned into.
type runRow struct {
	r                                journal.Run
	tenant, workflow, digest, state  string
	id                               pgtype.UUID
	key, idempotencyKey, entry       []byte
	wake, created, updated, finished pgtype.Timestamptz
}

func (w *runRow) into() []any {
	r := &w.r
	return []any{&w.tenant, &w.id, &w.key, &w.idempotencyKey, &w.workflow, &w.digest, &w.entry, &r.Input,
		&w.state, &r.Reason, &r.Waiting, &r.Output, &r.Failure, &r.Attempts,
		&r.Owner, &r.Token, &r.NextSeq, &r.InboxPos, &r.CancelRequested,
		&w.wake, &w.created, &w.updated, &w.finished}
}

func (w *runRow) run() journal.Run {
	r := w.r
	r.Tenant, r.ID, r.State = tenant.ID(w.tenant), w.id.Bytes, journal.State(w.state)
	r.Workflow, r.Digest = w.workflow, modules.Digest(w.digest)
	r.Key, r.IdempotencyKey, r.Entry = string(w.key), string(w.idempotencyKey), string(w.entry)
	r.WakeAt, r.CreatedAt, r.UpdatedAt, r.FinishedAt = fromTime(w.wake), fromTime(w.created), fromTime(w.updated), fromTime(w.finished)
	return r
}

func scanRun(row pgx.CollectableRow) (journal.Run, error) {
	var w runRow
	err := row.Scan(w.into()...)
	return w.run(), err
}

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// oneRun runs a query that yields runColumns of at most one run. Returns ErrNotFound when it yields none.
func (s *Store) oneRun(ctx context.Context, q querier, sql string, args ...any) (journal.Run, error) {
	rows, err := q.Query(ctx, s.in(sql), args...)
	if err != nil {
		return journal.Run{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, scanRun)
	if errors.Is(err, pgx.ErrNoRows) {
		return journal.Run{}, journal.ErrNotFound
	}
	return r, err
}

// Primary key.
const runSQL = `SELECT ` + runColumns + ` FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2`

// Run implements journal.Reader.
func (s *Store) Run(ctx context.Context, t tenant.ID, id journal.RunID) (r journal.Run, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		r, err = s.oneRun(ctx, s.pool, runSQL, string(t), uuidOf(id))
		return err
	})
	if err != nil {
		return journal.Run{}, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}
