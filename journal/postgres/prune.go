package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Bounds of one call, so that its locks and its transactions are short: a few milliseconds each.
const (
	sweepAtOnce  = 100   // payloads
	namesLooked  = 1_000 // names of a payload that are looked at; with more it is looked at again
	retireAtMost = 1_000
)

// retireSQL takes runs away. Their rows in other tables stay, where nothing finds them without a run. A run that somebody has locked is left for the next
// call. Rows are removed by their place in the table, for which no plan reads all of it, whatever it takes $3 for. Index runs_finished; $1 and $2 states and how long they are kept, $3 limit.
const retireSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
picked AS MATERIALIZED (
  SELECT p.place FROM unnest($1::text[], $2::interval[]) AS k(state, keep) CROSS JOIN clock CROSS JOIN LATERAL (
    SELECT r.ctid AS place FROM reprise.runs r
    WHERE r.state = k.state AND r.finished_at IS NOT NULL AND r.finished_at <= clock.now - k.keep
    ORDER BY r.finished_at LIMIT $3 FOR UPDATE SKIP LOCKED
  ) p LIMIT $3
),
gone AS (
  DELETE FROM reprise.runs r WHERE r.ctid = ANY (ARRAY(SELECT p.place FROM picked p)) RETURNING r.tenant, r.no
)
INSERT INTO reprise.removed (tenant, run) SELECT gone.tenant, gone.no FROM gone`

// clearSQL removes rows of 500 removed runs, at most 5,000 of each table, and forgets the runs when they have none left. A payload that they named is
// looked at soon. Primary keys, index payload_names_run. The bounds stand in the text, for the planner.
const clearSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
picked AS MATERIALIZED (SELECT d.tenant, d.run, d.ctid AS place FROM reprise.removed d ORDER BY d.run LIMIT 500 FOR UPDATE SKIP LOCKED),
entry AS (
  DELETE FROM reprise.entries WHERE ctid = ANY (ARRAY(SELECT e.ctid FROM picked p CROSS JOIN LATERAL (
    SELECT e.ctid FROM reprise.entries e WHERE e.tenant = p.tenant AND e.run = p.run LIMIT 5000) e LIMIT 5000)) RETURNING 1
),
arrival AS (
  DELETE FROM reprise.inbox WHERE ctid = ANY (ARRAY(SELECT i.ctid FROM picked p CROSS JOIN LATERAL (
    SELECT i.ctid FROM reprise.inbox i WHERE i.tenant = p.tenant AND i.run = p.run LIMIT 5000) i LIMIT 5000)) RETURNING 1
),
value AS (
  DELETE FROM reprise.published WHERE ctid = ANY (ARRAY(SELECT v.ctid FROM picked p CROSS JOIN LATERAL (
    SELECT v.ctid FROM reprise.published v WHERE v.tenant = p.tenant AND v.run = p.run LIMIT 5000) v LIMIT 5000)) RETURNING 1
),
name AS (
  DELETE FROM reprise.payload_names WHERE ctid = ANY (ARRAY(SELECT n.ctid FROM picked p CROSS JOIN LATERAL (
    SELECT n.ctid FROM reprise.payload_names n WHERE n.tenant = p.tenant AND n.run = p.run LIMIT 5000) n LIMIT 5000)) RETURNING tenant, digest
),
checkpoint AS (
  DELETE FROM reprise.checkpoints WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM picked p CROSS JOIN LATERAL (
    SELECT c.ctid FROM reprise.checkpoints c WHERE c.tenant = p.tenant AND c.run = p.run LIMIT 1) c))
),
resting AS MATERIALIZED ( -- in one order, so that two calls do not wait for each other
  SELECT x.tenant, x.digest FROM (SELECT DISTINCT name.tenant, name.digest FROM name) n
  JOIN reprise.payloads x ON x.tenant = n.tenant AND x.digest = n.digest
  WHERE x.check_at IS NULL ORDER BY x.tenant, x.digest FOR NO KEY UPDATE OF x
),
woken AS (
  UPDATE reprise.payloads x SET check_at = clock.now FROM resting r, clock WHERE x.tenant = r.tenant AND x.digest = r.digest
),
counts AS MATERIALIZED (
  SELECT (SELECT count(*) FROM picked) AS runs, (SELECT count(*) FROM entry) AS entries, (SELECT count(*) FROM arrival) AS arrivals,
    (SELECT count(*) FROM value) AS published, (SELECT count(*) FROM name) AS names
),
done AS (
  DELETE FROM reprise.removed WHERE ctid = ANY (ARRAY(
    SELECT p.place FROM picked p, counts c WHERE greatest(c.entries, c.arrivals, c.published, c.names) < 5000))
)
SELECT c.entries + c.arrivals + c.published, c.runs = 500 OR greatest(c.entries, c.arrivals, c.published, c.names) >= 5000 FROM counts c`

// Index payloads_check. A payload that a writer has locked is about to be named, and is left.
const sweepPickSQL = `
SELECT p.tenant, p.digest FROM reprise.payloads p
WHERE p.check_at <= (SELECT reprise.reprise_now()) ORDER BY p.check_at LIMIT $1 FOR UPDATE SKIP LOCKED`

// sweepSQL removes those of locked payloads that no row names. It is a statement of its own, so that it sees whatever was committed by those who had a
// payload locked before. What a row that may change names is looked at again later; what a row that stays names, when its run is removed. Primary keys.
const sweepSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
c AS MATERIALIZED (
  SELECT c.tenant, c.digest, EXISTS (
    SELECT FROM reprise.payload_names n WHERE n.tenant = c.tenant AND n.digest = c.digest AND n.place = 0) AS stays
  FROM unnest($1::text[], $2::bytea[]) AS c(tenant, digest)
),
loose AS MATERIALIZED (
  SELECT c.tenant, c.digest, n.place, n.run, n.id, CASE n.place
    WHEN 1 THEN EXISTS (SELECT FROM reprise.inbox i
      WHERE i.tenant = c.tenant AND i.run = n.run AND i.id = n.id AND i.payload_large AND i.payload_held = c.digest)
    ELSE EXISTS (SELECT FROM reprise.published v
      WHERE v.tenant = c.tenant AND v.run = n.run AND v.key = n.id AND v.value_large AND v.value_held = c.digest)
    END AS holds
  FROM c CROSS JOIN LATERAL (
    SELECT n.place, n.run, n.id FROM reprise.payload_names n WHERE n.tenant = c.tenant AND n.digest = c.digest LIMIT $4) n
  WHERE NOT c.stays
),
named AS MATERIALIZED (
  SELECT l.tenant, l.digest FROM loose l GROUP BY l.tenant, l.digest HAVING bool_or(l.holds) OR count(*) >= $4
),
stale AS (
  DELETE FROM reprise.payload_names n USING loose l
  WHERE NOT l.holds AND n.tenant = l.tenant AND n.digest = l.digest AND n.place = l.place AND n.run = l.run AND n.id = l.id
),
kept AS (
  UPDATE reprise.payloads x SET check_at = CASE WHEN c.stays THEN NULL ELSE clock.now + $3::interval END
  FROM c CROSS JOIN clock
  WHERE x.tenant = c.tenant AND x.digest = c.digest AND (c.stays OR (c.tenant, c.digest) IN (SELECT named.tenant, named.digest FROM named))
)
DELETE FROM reprise.payloads x USING c
WHERE x.tenant = c.tenant AND x.digest = c.digest AND NOT c.stays AND (c.tenant, c.digest) NOT IN (SELECT named.tenant, named.digest FROM named)
RETURNING octet_length(x.bytes)`

// Prune implements journal.Pruner. What it removes is dead rows, which stay while somebody's old transaction could see them: it looks for that, too. Runs are taken away only when the rows of those before are gone, so that the list of removed runs stays short.
func (s *Store) Prune(ctx context.Context, r journal.Retention, limit int) (p journal.Pruned, err error) {
	s.lookAtSnapshots(ctx)
	step := func(do func(context.Context, *journal.Pruned) error) {
		if err == nil { // what a lost answer removed is not counted
			err = s.retry(ctx, true, func(ctx context.Context) error { return do(ctx, &p) })
		}
	}
	step(s.clear)
	if !p.More {
		step(func(ctx context.Context, p *journal.Pruned) error {
			return s.retire(ctx, p, r, min(limit, retireAtMost))
		})
	}
	if p.Runs > 0 {
		step(s.clear)
	}
	step(s.sweep)
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	return p, nil
}

func (s *Store) retire(ctx context.Context, p *journal.Pruned, r journal.Retention, limit int) error {
	var states []string
	var keep []time.Duration
	for _, state := range journal.States {
		if d := r.Of(state); d > 0 {
			states, keep = append(states, string(state)), append(keep, d)
		}
	}
	if limit <= 0 || len(states) == 0 {
		return nil
	}
	durable.PruneBefore.Hit()
	tag, err := s.pool.Exec(ctx, s.in(retireSQL), states, keep, limit)
	if err == nil {
		p.Runs = int(tag.RowsAffected())
		p.More = p.More || p.Runs == limit
	}
	if p.Runs > 0 {
		durable.PruneAfter.Hit()
	}
	return err
}

func (s *Store) clear(ctx context.Context, p *journal.Pruned) error {
	var rows int
	var more bool
	err := s.pool.QueryRow(ctx, s.in(clearSQL)).Scan(&rows, &more)
	p.Rows += rows
	p.More = p.More || more
	return err
}

func (s *Store) sweep(ctx context.Context, p *journal.Pruned) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		p.Payloads, p.Bytes = 0, 0
		rows, err := tx.Query(ctx, s.in(sweepPickSQL), sweepAtOnce)
		if err != nil {
			return err
		}
		var tenants []string
		var digests [][]byte
		var t string
		var digest []byte
		if _, err := pgx.ForEachRow(rows, []any{&t, &digest}, func() error {
			tenants, digests = append(tenants, t), append(digests, append([]byte(nil), digest...))
			return nil
		}); err != nil || len(digests) == 0 {
			return err
		}
		rows, err = tx.Query(ctx, s.in(sweepSQL), tenants, digests, payload.Grace, namesLooked)
		if err != nil {
			return err
		}
		var bytes int64
		_, err = pgx.ForEachRow(rows, []any{&bytes}, func() error {
			p.Payloads++
			p.Bytes += bytes
			return nil
		})
		p.More = p.More || len(digests) == sweepAtOnce
		return err
	})
}

// Primary key.
const deleteRunSQL = `
WITH gone AS (
  DELETE FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2 AND r.finished_at IS NOT NULL RETURNING r.tenant, r.no
)
INSERT INTO reprise.removed (tenant, run) SELECT gone.tenant, gone.no FROM gone`

// DeleteRun implements journal.Pruner.
func (s *Store) DeleteRun(ctx context.Context, t tenant.ID, run journal.RunID) error {
	durable.DeleteBefore.Hit()
	lostAnswer := false
	err := s.retry(ctx, true, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, s.in(deleteRunSQL), string(t), uuidOf(run))
		if err != nil {
			lostAnswer = lostAnswer || fateOf(err) == unknown
			return err
		}
		if tag.RowsAffected() == 1 {
			return nil
		}
		var there bool
		err = s.pool.QueryRow(ctx, s.in(runThereSQL), string(t), uuidOf(run)).Scan(&there)
		switch {
		case err != nil:
			return err
		case there:
			return fmt.Errorf("the run is open: %w", journal.ErrState)
		case lostAnswer:
			return nil // by this call
		}
		return journal.ErrNotFound
	})
	if err != nil {
		return fmt.Errorf("delete run %s: %w", run, err)
	}
	durable.DeleteAfter.Hit()
	return nil
}
