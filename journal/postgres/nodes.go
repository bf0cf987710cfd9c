package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
)

// The table has a row a boot of a host and is read whole. Ending is a fact of its own, so that a clock
// that goes back brings nobody to life again. A registration is of one timeline of the server: a failover may
// take commits back, so that a token of before is given again, and ends every lease. What has ended and owns nothing
// is swept out by the next boot.
const (
	endNamesakesSQL = `UPDATE reprise.nodes SET ended = true WHERE name = $1 AND NOT ended`

	// Index runs_running.
	sweepNodesSQL = `
DELETE FROM reprise.nodes n WHERE (n.ended OR n.timeline <> reprise.reprise_timeline() OR n.expires_at <= reprise.reprise_now())
  AND NOT EXISTS (SELECT FROM reprise.runs r WHERE r.state = 'running' AND r.owner = n.id)`

	// The timeline is the column's default.
	registerSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now)
INSERT INTO reprise.nodes (id, name, started_at, expires_at)
SELECT $1, $2, clock.now, clock.now + $3::interval FROM clock
RETURNING started_at, expires_at`

	// Primary key.
	heartbeatSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline)
UPDATE reprise.nodes n SET expires_at = clock.now + $2::interval
FROM clock WHERE n.id = $1 AND NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now
RETURNING clock.now`

	// Primary key.
	unregisterSQL = `UPDATE reprise.nodes SET ended = true WHERE id = $1 AND NOT ended`

	// Index runs_running.
	listNodesSQL = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now, reprise.reprise_timeline() AS timeline),
owned AS (SELECT r.owner, count(*) AS runs FROM reprise.runs r WHERE r.state = 'running' GROUP BY r.owner)
SELECT n.id, n.name, n.started_at, n.expires_at, NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now, coalesce(o.runs, 0)
FROM clock CROSS JOIN reprise.nodes n LEFT JOIN owned o ON o.owner = n.id
WHERE NOT n.ended AND n.timeline = clock.timeline AND n.expires_at > clock.now OR o.runs > 0
ORDER BY n.started_at, n.id`

	nowSQL = `SELECT reprise.reprise_now()`
)

// Register implements journal.Nodes.
func (s *Store) Register(ctx context.Context, name string, ttl time.Duration) (journal.Node, error) {
	n := journal.Node{Name: name, Live: true}
	err := s.retry(ctx, true, func(ctx context.Context) error {
		// Each try is a boot of its own: it ends what a lost answer left.
		var nonce [8]byte
		_, _ = rand.Read(nonce[:]) // never fails
		n.ID = name + "#" + hex.EncodeToString(nonce[:])
		return s.inTx(ctx, func(tx pgx.Tx) error { return s.register(ctx, tx, &n, ttl) })
	})
	if err != nil {
		return journal.Node{}, fmt.Errorf("register node %s: %w", name, err)
	}
	s.tell() // the runs of the last boot may be claimed
	return n, nil
}

func (s *Store) register(ctx context.Context, tx pgx.Tx, n *journal.Node, ttl time.Duration) error {
	if _, err := tx.Exec(ctx, s.in(endNamesakesSQL), n.Name); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, s.in(sweepNodesSQL)); err != nil {
		return err
	}
	var started, expires pgtype.Timestamptz
	if err := tx.QueryRow(ctx, s.in(registerSQL), n.ID, n.Name, ttl).Scan(&started, &expires); err != nil {
		return err
	}
	n.StartedAt, n.ExpiresAt = fromTime(started), fromTime(expires)
	return nil
}

// Heartbeat implements journal.Nodes.
func (s *Store) Heartbeat(ctx context.Context, node string, ttl time.Duration) (time.Time, error) {
	var now pgtype.Timestamptz
	err := s.retry(ctx, true, func(ctx context.Context) error {
		return s.beats.QueryRow(ctx, s.in(heartbeatSQL), node, ttl).Scan(&now)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNodeLapsed
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("heartbeat of node %s: %w", node, err)
	}
	return fromTime(now), nil
}

// Unregister implements journal.Nodes.
func (s *Store) Unregister(ctx context.Context, node string) error {
	err := s.retry(ctx, true, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, s.in(unregisterSQL), node)
		return err
	})
	if err != nil {
		return fmt.Errorf("unregister node %s: %w", node, err)
	}
	s.tell()
	return nil
}

// ListNodes implements journal.Nodes.
func (s *Store) ListNodes(ctx context.Context) (nodes []journal.Node, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.in(listNodesSQL))
		if err != nil {
			return err
		}
		nodes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Node, error) {
			var n journal.Node
			var started, expires pgtype.Timestamptz
			err := row.Scan(&n.ID, &n.Name, &started, &expires, &n.Live, &n.Runs)
			n.StartedAt, n.ExpiresAt = fromTime(started), fromTime(expires)
			return n, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return nodes, nil
}

// Now implements journal.Nodes.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now pgtype.Timestamptz
	err := s.retry(ctx, true, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, s.in(nowSQL)).Scan(&now)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("database clock: %w", err)
	}
	return fromTime(now), nil
}
