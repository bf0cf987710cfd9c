package postgres

import (
	"context"
	"errors"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

// Primary key of modules; the unique indexes of runs decide what is in the way.
const createSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now)
INSERT INTO reprise.runs AS r (tenant, id, key, idempotency_key, workflow, digest, entry, input, state, wake_at, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, m.digest, $7, $8, 'ready', clock.now, clock.now, clock.now
FROM reprise.modules m, clock
WHERE m.tenant = $1 AND m.digest = $6
ON CONFLICT DO NOTHING
RETURNING ` + runColumns

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
	durable.CreateBefore.Hit()
	var got journal.Run
	var created bool
	lostAnswer := false
	err := s.retry(ctx, true, func(ctx context.Context) error {
		var err error
		got, created, err = s.createOnce(ctx, r)
		// What is there under this id after a lost answer was made by this call.
		created = created || lostAnswer && err == nil && got.ID == r.ID
		lostAnswer = lostAnswer || err != nil && fateOf(err) == unknown
		return err
	})
	if err != nil {
		return got, false, fmt.Errorf("create run %s of %s: %w", r.ID, r.Workflow, err)
	}
	if created {
		durable.CreateAfter.Hit()
		s.tell()
	}
	return got, created, nil
}

func (s *Store) createOnce(ctx context.Context, r journal.Run) (journal.Run, bool, error) {
	// What is in the way of an insert may be gone when one looks for it; then the insert is tried again.
	for range maxTries {
		got, err := s.oneRun(ctx, s.pool, createSQL, string(r.Tenant), uuidOf(r.ID), []byte(r.Key), []byte(r.IdempotencyKey),
			r.Workflow, string(r.Digest), []byte(r.Entry), r.Input)
		if !errors.Is(err, journal.ErrNotFound) {
			return got, err == nil, err
		}
		got, err = s.oneRun(ctx, s.pool, inTheWaySQL, string(r.Tenant), uuidOf(r.ID), []byte(r.IdempotencyKey), []byte(r.Key))
		switch {
		case err == nil && sameStart(got, r):
			return got, false, nil
		case err == nil:
			return got, false, fmt.Errorf("run %s is in the way: %w", got.ID, journal.ErrConflict)
		case !errors.Is(err, journal.ErrNotFound):
			return journal.Run{}, false, err
		}
		if _, err := s.module(ctx, r.Tenant, r.Digest); err != nil {
			return journal.Run{}, false, err
		}
	}
	return journal.Run{}, false, fmt.Errorf("others start and end runs with its key: %w", journal.ErrConflict)
}

// sameStart says whether got answers the start r: it was made by the same request, under the same
// idempotency key or else the same id.
func sameStart(got, r journal.Run) bool {
	same := got.Workflow == r.Workflow && got.Entry == r.Entry && got.Key == r.Key && string(got.Input) == string(r.Input)
	if r.IdempotencyKey != "" && got.IdempotencyKey == r.IdempotencyKey {
		return same
	}
	return same && got.ID == r.ID && got.IdempotencyKey == r.IdempotencyKey && got.Digest == r.Digest
}
