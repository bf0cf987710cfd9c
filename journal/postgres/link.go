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

// link writes a commit that changes other runs, too, in a transaction of its own. Runs are locked from the commit's own to the
// others; two that meet the other way round are a deadlock, which the server ends and retry repeats.
func (s *Store) link(ctx context.Context, c *commit) (r result) {
	err := s.retry(ctx, true, func(ctx context.Context) error {
		return s.inTx(ctx, func(tx pgx.Tx) (err error) {
			r, err = s.linkOnce(ctx, tx, c)
			return err
		})
	})
	if err != nil {
		return result{err: conflictOf(err)}
	}
	if r.forget {
		s.forgetCheckpoints([]journal.Lease{c.lease})
	}
	return r
}

// Primary key.
const selfSQL = `SELECT r.parent, r.parent_op, coalesce(r.depth, 0), coalesce(r.abandoned, false) FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2`

// What waits in the run's inbox goes over to its successor: signals, in their order. Both runs are locked. Primary keys, index inbox_open.
const succeedSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
old AS (UPDATE reprise.runs r SET successor = $3 WHERE r.tenant = $1 AND r.id = $2 RETURNING r.no),
new AS MATERIALIZED (SELECT r.no FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $3),
waits AS MATERIALIZED (
  SELECT i.*, row_number() OVER (ORDER BY i.pos) AS place, count(*) OVER () AS n,
    (sum(CASE WHEN i.payload_large THEN (SELECT p.size FROM reprise.payloads p WHERE p.tenant = i.tenant AND p.digest = i.payload_held)
      ELSE octet_length(i.payload_held) END) OVER ())::bigint AS bytes
  FROM old JOIN reprise.inbox i ON i.tenant = $1 AND i.run = old.no
  WHERE i.open AND i.kind = 'signal'
),
moved AS (
  INSERT INTO reprise.inbox (tenant, run, id, pos, kind, op, name, payload_held, payload_large, at)
  SELECT w.tenant, new.no, w.id, w.place, w.kind, w.op, w.name, w.payload_held, w.payload_large, w.at FROM waits w, new
  ON CONFLICT DO NOTHING
),
named AS (
  INSERT INTO reprise.payload_names (tenant, digest, place, run, id)
  SELECT w.tenant, w.payload_held, 1, new.no, w.id FROM waits w, new WHERE w.payload_large
  ON CONFLICT DO NOTHING
)
UPDATE reprise.runs r SET inbox_pos = w.n, mail_pos = w.n, queued_bytes = w.bytes
FROM (SELECT n, bytes FROM waits LIMIT 1) w WHERE r.tenant = $1 AND r.id = $3`

// Primary keys of runs and inbox, or index inbox_open. A request to end that nobody has seen.
const unseenCancelSQL = `
SELECT i.payload_held FROM reprise.runs r JOIN reprise.inbox i ON i.tenant = r.tenant AND i.run = r.no
WHERE r.tenant = $1 AND r.id = $2 AND i.id = $3 AND i.open`

// succeed lets a run that was made go on for the lease's.
func (s *Store) succeed(ctx context.Context, tx pgx.Tx, l journal.Lease, id journal.RunID) error {
	if _, err := tx.Exec(ctx, s.in(succeedSQL), string(l.Tenant), uuidOf(l.Run), uuidOf(id)); err != nil {
		return err
	}
	var reason []byte
	err := tx.QueryRow(ctx, s.in(unseenCancelSQL), string(l.Tenant), uuidOf(l.Run), []byte(cancelID)).Scan(&reason)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = s.cancelLocked(ctx, tx, l.Tenant, id, string(reason))
	}
	return err
}

func (s *Store) linkOnce(ctx context.Context, tx pgx.Tx, c *commit) (result, error) {
	results, err := s.execGroup(ctx, tx, []*commit{c})
	if err != nil || !results[0].written {
		return result{}, err
	}
	l, b := c.lease, c.batch
	var parent pgtype.UUID
	var op pgtype.Int4
	var self journal.Run
	if err := tx.QueryRow(ctx, s.in(selfSQL), string(l.Tenant), uuidOf(l.Run)).Scan(&parent, &op, &self.Depth, &self.Abandoned); err != nil {
		return result{}, err
	}
	for _, child := range b.Children {
		child.Parent, child.Depth = l.Run, self.Depth+1
		if err := s.follow(ctx, tx, l.Tenant, child); err != nil {
			return result{}, fmt.Errorf("child %d: %w", child.ParentOp, err)
		}
	}
	if n := b.Next; n != nil && n.Successor != nil {
		next := *n.Successor
		next.Parent, next.ParentOp, next.Depth, next.Abandoned = parent.Bytes, op.Int32, self.Depth, self.Abandoned
		if err := s.follow(ctx, tx, l.Tenant, next); err != nil {
			return result{}, fmt.Errorf("successor: %w", err)
		}
		if err := s.succeed(ctx, tx, l, next.ID); err != nil {
			return result{}, fmt.Errorf("successor: %w", err)
		}
	}
	for _, id := range b.Cancels {
		if err := s.cancelChild(ctx, tx, l.Tenant, id); err != nil {
			return result{}, fmt.Errorf("cancel %s: %w", id, err)
		}
	}
	if b.Next != nil && b.Next.Parent && results[0].state.Terminal() {
		err = s.tellParent(ctx, tx, journal.Run{Tenant: l.Tenant, ID: l.Run, Parent: parent.Bytes, ParentOp: op.Int32, State: results[0].state})
	}
	return results[0], err
}

// follow makes a run that follows from another, ready, unless it is there.
func (s *Store) follow(ctx context.Context, tx pgx.Tx, t tenant.ID, r journal.Run) error {
	r.Tenant, r.IdempotencyKey = t, ""
	sql, args := createStatement(r)
	_, err := s.oneRun(ctx, tx, sql, args...)
	if !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if _, err := s.oneRun(ctx, tx, runSQL, string(t), uuidOf(r.ID)); !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	return modules.ErrNotFound // nothing else keeps it from being made: its key is free since its predecessor ended
}

// parentGone is why a child is asked to end.
const parentGone = "its parent has ended, or has given it up"

// cancelChild asks a run to end, or who goes on for it.
func (s *Store) cancelChild(ctx context.Context, tx pgx.Tx, t tenant.ID, id journal.RunID) error {
	for {
		r, err := s.cancelLocked(ctx, tx, t, id, parentGone)
		switch {
		case (err == nil || errors.Is(err, journal.ErrState)) && r.State == journal.Continued && r.Successor != id:
			id = r.Successor
			continue
		case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrState):
			return nil
		}
		return err
	}
}

// Index runs_bound.
const boundSQL = `SELECT r.id FROM reprise.runs r WHERE r.tenant = $1 AND r.parent = $2 AND r.parent IS NOT NULL AND r.finished_at IS NULL AND r.abandoned IS NOT TRUE`

// unlink is what the end of a run without its guest is to other runs: its children that end with it are asked to end, and its parent
// is told.
func (s *Store) unlink(ctx context.Context, tx pgx.Tx, r journal.Run) error {
	rows, err := tx.Query(ctx, s.in(boundSQL), string(r.Tenant), uuidOf(r.ID))
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[pgtype.UUID])
	for _, id := range ids {
		if err == nil {
			err = s.cancelChild(ctx, tx, r.Tenant, id.Bytes)
		}
	}
	if err == nil && r.Parent != (journal.RunID{}) {
		err = s.tellParent(ctx, tx, r)
	}
	return err
}

// Primary key.
const lockOpenSQL = `SELECT r.no FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2 AND r.finished_at IS NULL FOR UPDATE`

// The parent is locked, so that what waits in its inbox is what it was when this began. A large payload is named by the child, whose
// row is locked, and so stays. Primary keys: runs, inbox.
const tellParentSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
child AS MATERIALIZED (
  SELECT c.tenant, CASE WHEN c.state = 'completed' THEN c.output_held ELSE c.failure_held END AS held,
    CASE WHEN c.state = 'completed' THEN c.output_large ELSE c.failure_large END AS large
  FROM reprise.runs c WHERE c.tenant = $1 AND c.id = $2
),
parent AS (
  UPDATE reprise.runs p SET
    inbox_pos = p.inbox_pos + 1,
    mail_pos = p.inbox_pos + 1,
    updated_at = clock.now,
    state = CASE WHEN p.state = 'waiting' THEN 'ready' ELSE p.state END,
    wake_at = CASE WHEN p.state = 'waiting' THEN clock.now ELSE p.wake_at END,
    waiting = CASE WHEN p.state = 'waiting' THEN '' ELSE p.waiting END
  FROM clock
  WHERE p.tenant = $1 AND p.id = $3 AND p.finished_at IS NULL
    AND EXISTS (SELECT FROM reprise.inbox i WHERE i.tenant = p.tenant AND i.run = p.no AND i.id = $4 AND i.open AND i.kind = 'child')
  RETURNING p.tenant, p.no, p.inbox_pos
),
named AS (
  INSERT INTO reprise.payload_names (tenant, digest, place, run, id)
  SELECT parent.tenant, child.held, 1, parent.no, $4 FROM parent, child WHERE child.large
  ON CONFLICT DO NOTHING
)
UPDATE reprise.inbox i SET pos = parent.inbox_pos, kind = 'done', name = '', status = $5, payload_held = child.held, payload_large = child.large, at = clock.now
FROM parent, child, clock WHERE i.tenant = $1 AND i.run = parent.no AND i.id = $4`

// tellParent puts the end of a run into its parent's inbox, if that waits for it. Of r it reads Tenant, ID, Parent, ParentOp and
// State.
func (s *Store) tellParent(ctx context.Context, tx pgx.Tx, r journal.Run) error {
	var no int64
	err := tx.QueryRow(ctx, s.in(lockOpenSQL), string(r.Tenant), uuidOf(r.Parent)).Scan(&no)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // it has ended, or is gone
	}
	if err == nil {
		_, err = tx.Exec(ctx, s.in(tellParentSQL), string(r.Tenant), uuidOf(r.ID), uuidOf(r.Parent), fmt.Appendf(nil, "op:%d", r.ParentOp), int32(journal.Outcome(r.State)))
	}
	return err
}
