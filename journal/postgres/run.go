package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/modules"
	"reprise/tenant"
)

// runColumns are a run's columns in the order of runRow.into. A ready run has wake_at too, to be found by; that is
// not its timer.
const runColumns = `r.tenant, r.id, r.key, r.idempotency_key, r.workflow, r.digest, r.entry, r.input_held, r.input_large,
  r.state, r.reason, r.waiting, r.output_held, r.output_large, r.failure_held, r.failure_large, r.attempts,
  r.owner, r.token, r.next_seq, r.inbox_pos, CASE WHEN r.finished_at IS NULL THEN r.checkpoint_seq ELSE 0 END, r.cancel_requested,
  r.parent, coalesce(r.parent_op, 0), coalesce(r.depth, 0), coalesce(r.abandoned, false), r.successor,
  CASE WHEN r.state = 'waiting' THEN r.wake_at END, r.created_at, r.updated_at, r.finished_at`

// heldRun is a run as its row holds it: what is large is a digest.
type heldRun struct {
	journal.Run
	large struct{ input, output, failure bool }
}

// wanted are the payloads that make the run whole.
func (r *heldRun) wanted() *payload.Wanted {
	var w payload.Wanted
	w.Add(&r.Input, r.large.input)
	w.Add(&r.Output, r.large.output)
	w.Add(&r.Failure, r.large.failure)
	return &w
}

// whole reads what the run's row holds the digests of. Returns the run also with journal.ErrPayload, without what cannot be read.
func (s *Store) whole(ctx context.Context, q querier, r heldRun) (journal.Run, error) {
	err := s.fill(ctx, q, r.Tenant, r.wanted())
	if err != nil && !errors.Is(err, journal.ErrPayload) {
		return journal.Run{}, err
	}
	return r.Run, err
}

// readable is whole for a call whose answer is what it did: what cannot be read is left out.
func (s *Store) readable(ctx context.Context, q querier, r heldRun) (journal.Run, error) {
	run, err := s.whole(ctx, q, r)
	if errors.Is(err, journal.ErrPayload) {
		err = nil
	}
	return run, err
}

// runRow holds what a row of runColumns is scanned into.
type runRow struct {
	r                                heldRun
	tenant, workflow, digest, state  string
	id, parent, successor            pgtype.UUID
	key, idempotencyKey, entry       []byte
	wake, created, updated, finished pgtype.Timestamptz
}

func (w *runRow) into() []any {
	r := &w.r
	return []any{&w.tenant, &w.id, &w.key, &w.idempotencyKey, &w.workflow, &w.digest, &w.entry, &r.Input, &r.large.input,
		&w.state, &r.Reason, &r.Waiting, &r.Output, &r.large.output, &r.Failure, &r.large.failure, &r.Attempts,
		&r.Owner, &r.Token, &r.NextSeq, &r.InboxPos, &r.CheckpointSeq, &r.CancelRequested,
		&w.parent, &r.ParentOp, &r.Depth, &r.Abandoned, &w.successor,
		&w.wake, &w.created, &w.updated, &w.finished}
}

func (w *runRow) run() heldRun {
	r := w.r
	r.Tenant, r.ID, r.State = tenant.ID(w.tenant), w.id.Bytes, journal.State(w.state)
	r.Parent, r.Successor = w.parent.Bytes, w.successor.Bytes
	r.Workflow, r.Digest = w.workflow, modules.Digest(w.digest)
	r.Key, r.IdempotencyKey, r.Entry = string(w.key), string(w.idempotencyKey), string(w.entry)
	r.WakeAt, r.CreatedAt, r.UpdatedAt, r.FinishedAt = fromTime(w.wake), fromTime(w.created), fromTime(w.updated), fromTime(w.finished)
	return r
}

func scanRun(row pgx.CollectableRow) (heldRun, error) {
	var w runRow
	err := row.Scan(w.into()...)
	return w.run(), err
}

// querier is the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// oneRun runs a query that yields runColumns of at most one run. Returns ErrNotFound when it yields none.
func (s *Store) oneRun(ctx context.Context, q querier, sql string, args ...any) (heldRun, error) {
	rows, err := q.Query(ctx, s.in(sql), args...)
	if err != nil {
		return heldRun{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, scanRun)
	if errors.Is(err, pgx.ErrNoRows) {
		return heldRun{}, journal.ErrNotFound
	}
	return r, err
}

// Primary key. What is looked up is a list of at most maxKeys.
const manyRunsSQL = `
SELECT ` + runColumns + ` FROM unnest($1::text[], $2::uuid[]) AS k(tenant, id)
JOIN reprise.runs r ON r.tenant = k.tenant AND r.id = k.id`

type runKey struct {
	tenant tenant.ID
	id     journal.RunID
}

// manyRuns reads runs by their keys.
func (s *Store) manyRuns(ctx context.Context, keys []runKey) (map[runKey]heldRun, error) {
	tenants, ids := make([]string, len(keys)), make([]pgtype.UUID, len(keys))
	for i, k := range keys {
		tenants[i], ids[i] = string(k.tenant), uuidOf(k.id)
	}
	rows, err := s.pool.Query(ctx, s.in(manyRunsSQL), tenants, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scanRun)
	got := make(map[runKey]heldRun, len(found))
	for _, r := range found {
		got[runKey{r.Tenant, r.ID}] = r
	}
	return got, err
}

// Primary key.
const runSQL = `SELECT ` + runColumns + ` FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2`

// Run implements journal.Reader.
func (s *Store) Run(ctx context.Context, t tenant.ID, id journal.RunID) (r journal.Run, err error) {
	err = s.read(ctx, func(ctx context.Context) error {
		held, there, err := s.runReads.get(ctx, runKey{t, id})
		if err == nil && !there {
			err = journal.ErrNotFound
		}
		if err == nil {
			r, err = s.whole(ctx, s.pool, held)
		}
		return err
	})
	if err != nil {
		return r, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}
