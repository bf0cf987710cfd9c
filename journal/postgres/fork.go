package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
)

// The run that is copied is locked against being removed, and its payloads are not swept as long as its rows name them. Primary keys, index
// payload_names_run; the unique indexes of runs decide what is in the way.
const forkSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
src AS MATERIALIZED (
  SELECT r.* FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $8 AND r.next_seq >= $9 FOR KEY SHARE
),
run AS (
  INSERT INTO reprise.runs AS r (tenant, id, key, idempotency_key, workflow, digest, entry, input_held, input_large, state, wake_at, created_at, updated_at,
    next_seq, checkpoint_seq, depth)
  SELECT $1, $2, $3, $4, $5, m.digest, $7, src.input_held, src.input_large, 'ready', clock.now, clock.now, clock.now, $9, $11::bigint, src.depth
  FROM src CROSS JOIN clock JOIN reprise.modules m ON m.tenant = $1 AND m.digest = $6
  ON CONFLICT DO NOTHING
  RETURNING r.*
),
entry AS (
  INSERT INTO reprise.entries (tenant, run, seq, trail, token, at, op, issued, status, kind, name, request_held, request_large, options, payload_held, payload_large)
  SELECT run.tenant, run.no, e.seq, e.trail, 0, e.at, e.op, e.issued, e.status, e.kind, e.name, e.request_held, e.request_large,
    CASE e.seq WHEN 0 THEN $10::bytea ELSE e.options END, e.payload_held, e.payload_large
  FROM run CROSS JOIN src CROSS JOIN LATERAL (SELECT * FROM reprise.entries e WHERE e.tenant = $1 AND e.run = src.no AND e.seq < $9) e
),
name AS (
  INSERT INTO reprise.payload_names (tenant, digest, place, run, id)
  SELECT run.tenant, n.digest, 0, run.no, '' FROM run CROSS JOIN src CROSS JOIN LATERAL (
    SELECT * FROM reprise.payload_names n WHERE n.tenant = $1 AND n.run = src.no AND n.place = 0) n
  ON CONFLICT DO NOTHING
),
checkpoint AS (
  INSERT INTO reprise.checkpoints (tenant, run, seq, key, packed) SELECT run.tenant, run.no, $11::bigint, $12, $13 FROM run WHERE $11::bigint > 0
)
SELECT ` + runColumns + ` FROM run r`

// Primary key.
const forkedSQL = `SELECT r.next_seq FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2`

// Fork implements journal.Forker.
func (s *Store) Fork(ctx context.Context, r journal.Run, f journal.Fork) (journal.Run, bool, error) {
	got, created, err := s.make(ctx, r.ID, func(ctx context.Context) (journal.Run, bool, error) { return s.forkOnce(ctx, r, f) })
	if err != nil {
		return got, false, fmt.Errorf("fork run %s as %s: %w", f.From, r.ID, err)
	}
	return got, created, nil
}

func (s *Store) forkOnce(ctx context.Context, r journal.Run, f journal.Fork) (journal.Run, bool, error) {
	c := journal.Checkpoint{Packed: []byte{}}
	if f.Checkpoint != nil {
		c = *f.Checkpoint
	}
	if f.Entries < 1 {
		return journal.Run{}, false, fmt.Errorf("%d entries: %w", f.Entries, journal.ErrState)
	}
	for range maxTries {
		got, err := s.oneRun(ctx, s.pool, forkSQL, string(r.Tenant), uuidOf(r.ID), []byte(r.Key), []byte(r.IdempotencyKey), r.Workflow, string(r.Digest), []byte(r.Entry),
			uuidOf(f.From), f.Entries, f.Options, c.Seq, c.Key, c.Packed)
		if err == nil {
			got.Input, got.large.input = r.Input, false
			return got.Run, true, nil
		}
		if !errors.Is(err, journal.ErrNotFound) {
			return journal.Run{}, false, err
		}
		var has int64
		switch err := s.pool.QueryRow(ctx, s.in(forkedSQL), string(r.Tenant), uuidOf(f.From)).Scan(&has); {
		case errors.Is(err, pgx.ErrNoRows):
			return journal.Run{}, false, journal.ErrNotFound
		case err != nil:
			return journal.Run{}, false, err
		case f.Entries > has:
			return journal.Run{}, false, fmt.Errorf("%d entries of %d: %w", f.Entries, has, journal.ErrState)
		}
		run, found, err := s.inTheWay(ctx, r)
		if found || err != nil {
			return run, false, err
		}
	}
	return journal.Run{}, false, fmt.Errorf("others start and end runs with its key: %w", journal.ErrConflict)
}
