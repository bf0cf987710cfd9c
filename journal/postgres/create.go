package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
)

// Primary key of modules; the unique indexes of runs decide what is in the way.
const createText = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now){,
run AS (}
INSERT INTO reprise.runs AS r (tenant, id, key, idempotency_key, workflow, digest, entry, input_held, state, wake_at, created_at, updated_at,
  parent, parent_op, depth, abandoned{, input_large})
SELECT $1, $2, $3, $4, $5, m.digest, $7, $8, 'ready', clock.now, clock.now, clock.now, $9, $10, $11, $12{, true}
FROM reprise.modules m, clock
WHERE m.tenant = $1 AND m.digest = $6
ON CONFLICT DO NOTHING
RETURNING {r.*
),
p AS MATERIALIZED (SELECT $1::text AS tenant, $8::bytea AS digest, $13::bigint AS size, $14::smallint AS codec, $15::bytea AS bytes, $16::interval AS grace),
named AS MATERIALIZED (SELECT run.tenant, run.no AS run, $8::bytea AS digest, 0::smallint AS place, ''::bytea AS id FROM run),` +
	storePayloads + `
SELECT ` + runColumns + ` FROM run r|` + runColumns + `}`

// Of a large input $8 is the digest.
var (
	createSQL      = choose(false, createText)
	createLargeSQL = choose(true, createText)
)

// Indexes runs_idempotency_key, runs_key and the primary key, the first that matches.
const inTheWaySQL = `
SELECT ` + runColumns + ` FROM reprise.runs r
WHERE r.tenant = $1 AND ($3::bytea <> '' AND r.idempotency_key = $3 AND r.idempotency_key <> ''
  OR r.id = $2
  OR $4::bytea <> '' AND r.key = $4 AND r.key <> '' AND r.finished_at IS NULL)
ORDER BY r.idempotency_key = $3 AND $3 <> '' DESC, r.id = $2 DESC
LIMIT 1`

// Create implements journal.Starter.
func (s *Store) Create(ctx context.Context, r journal.Run) (journal.Run, bool, error) {
	got, created, err := s.make(ctx, r.ID, func(ctx context.Context) (journal.Run, bool, error) { return s.createOnce(ctx, r) })
	if err != nil {
		return got, false, fmt.Errorf("create run %s of %s: %w", r.ID, r.Workflow, err)
	}
	return got, created, nil
}

// make makes a run of an id by once, which finds what is there already.
func (s *Store) make(ctx context.Context, id journal.RunID, once func(ctx context.Context) (journal.Run, bool, error)) (got journal.Run, created bool, err error) {
	durable.CreateBefore.Hit()
	lostAnswer := false
	err = s.retry(ctx, true, func(ctx context.Context) (err error) {
		got, created, err = once(ctx)
		// What is there under this id after a lost answer was made by this call.
		created = created || lostAnswer && err == nil && got.ID == id
		lostAnswer = lostAnswer || err != nil && fateOf(err) == unknown
		return err
	})
	if err == nil && created {
		durable.CreateAfter.Hit()
		s.tell()
	}
	return got, created, err
}

// createStatement is the statement that makes a run, and its parameters.
func createStatement(r journal.Run) (string, []any) {
	var parent pgtype.UUID
	var op, depth pgtype.Int4
	var abandoned pgtype.Bool
	if r.Parent != (journal.RunID{}) {
		parent, op, depth = uuidOf(r.Parent), pgtype.Int4{Int32: r.ParentOp, Valid: true}, pgtype.Int4{Int32: int32(r.Depth), Valid: true}
		abandoned = pgtype.Bool{Bool: r.Abandoned, Valid: r.Abandoned}
	}
	args := []any{string(r.Tenant), uuidOf(r.ID), []byte(r.Key), []byte(r.IdempotencyKey), r.Workflow, string(r.Digest), []byte(r.Entry), r.Input,
		parent, op, depth, abandoned}
	if !payload.Large(r.Input) {
		return createSQL, args
	}
	p := payload.Pack(r.Input)
	args[7] = p.Digest
	return createLargeSQL, append(args, p.Size, int16(p.Codec), p.Bytes, payload.Grace)
}

func (s *Store) createOnce(ctx context.Context, r journal.Run) (journal.Run, bool, error) {
	r.Parent = journal.RunID{} // a run that others start has no parent
	sql, args := createStatement(r)
	// What is in the way of an insert may be gone when one looks for it; then the insert is tried again.
	for range maxTries {
		got, err := s.oneRun(ctx, s.pool, sql, args...)
		if err == nil {
			got.Input, got.large.input = r.Input, false
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return got.Run, err == nil, err
		}
		run, found, err := s.inTheWay(ctx, r)
		if found || err != nil {
			return run, false, err
		}
	}
	return journal.Run{}, false, fmt.Errorf("others start and end runs with its key: %w", journal.ErrConflict)
}

// inTheWay says why a run was not made: found is the earlier start that it repeats, and an error names what is in its way or missing.
func (s *Store) inTheWay(ctx context.Context, r journal.Run) (run journal.Run, found bool, err error) {
	got, err := s.oneRun(ctx, s.pool, inTheWaySQL, string(r.Tenant), uuidOf(r.ID), []byte(r.IdempotencyKey), []byte(r.Key))
	switch {
	case err == nil && sameStart(got, r):
		run, err = s.whole(ctx, s.pool, got)
		return run, true, err
	case err == nil:
		run, err = s.whole(ctx, s.pool, got)
		return run, true, errors.Join(fmt.Errorf("run %s is in the way: %w", got.ID, journal.ErrConflict), err)
	case !errors.Is(err, journal.ErrNotFound):
		return journal.Run{}, false, err
	}
	_, err = s.module(ctx, r.Tenant, r.Digest)
	return journal.Run{}, false, err
}

// sameStart says whether got answers the start r: it was made by the same request, under the same
// idempotency key or else the same id.
func sameStart(got heldRun, r journal.Run) bool {
	input := r.Input
	if got.large.input {
		input = payload.Digest(input)
	}
	same := got.Workflow == r.Workflow && got.Entry == r.Entry && got.Key == r.Key && string(got.Input) == string(input)
	if r.IdempotencyKey != "" && got.IdempotencyKey == r.IdempotencyKey {
		return same
	}
	return same && got.ID == r.ID && got.IdempotencyKey == r.IdempotencyKey && got.Digest == r.Digest
}
