package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"reprise/journal"
)

// requireLive returns journal.ErrNodeLapsed unless the registration is live by the database's clock.
func (t *tx) requireLive(node string) error {
	var live bool
	_, err := t.row(`SELECT ended_at IS NULL AND expires_at > ? FROM nodes WHERE id = ?`, []any{micro(t.now), node}, &live)
	if err == nil && !live {
		err = journal.ErrNodeLapsed
	}
	return err
}

// Register implements journal.Nodes. It also forgets registrations that have ended and own nothing.
func (s *Store) Register(ctx context.Context, name string, ttl time.Duration) (out journal.Node, err error) {
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return journal.Node{}, fmt.Errorf("register node %s: %w", name, err)
	}
	id := name + "#" + hex.EncodeToString(nonce)
	err = s.write(ctx, func(t *tx) error {
		now, expires := micro(t.now), micro(t.now.Add(ttl))
		if _, err := t.exec(`UPDATE nodes SET ended_at = ? WHERE name = ? AND ended_at IS NULL`, now, name); err != nil {
			return err
		}
		// Index runs_owned. The table of nodes is as small as the fleet, so it has no index but its key.
		if _, err := t.exec(`DELETE FROM nodes WHERE (ended_at IS NOT NULL OR expires_at <= ?)
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.state = 'running' AND r.owner = nodes.id)`, now); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO nodes (id, name, started_at, expires_at) VALUES (?, ?, ?, ?)`, id, name, now, expires)
		out = journal.Node{ID: id, Name: name, StartedAt: t.now, ExpiresAt: fromMicro(expires), Live: ttl > 0}
		t.hint = true // the runs of earlier boots may be claimed
		return err
	})
	if err != nil {
		return journal.Node{}, fmt.Errorf("register node %s: %w", name, err)
	}
	return out, nil
}

// Heartbeat implements journal.Nodes.
func (s *Store) Heartbeat(ctx context.Context, node string, ttl time.Duration) (now time.Time, err error) {
	err = s.write(ctx, func(t *tx) error {
		now = t.now
		n, err := t.exec(`UPDATE nodes SET expires_at = ? WHERE id = ? AND ended_at IS NULL AND expires_at > ?`,
			micro(t.now.Add(ttl)), node, micro(t.now))
		if err == nil && n == 0 {
			err = journal.ErrNodeLapsed
		}
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("heartbeat of node %s: %w", node, err)
	}
	return now, nil
}

// Unregister implements journal.Nodes.
func (s *Store) Unregister(ctx context.Context, node string) error {
	err := s.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE nodes SET ended_at = ? WHERE id = ? AND ended_at IS NULL`, micro(t.now), node)
		t.hint = true // what it still owns may be claimed
		return err
	})
	if err != nil {
		return fmt.Errorf("unregister node %s: %w", node, err)
	}
	return nil
}

// ListNodes implements journal.Nodes.
func (s *Store) ListNodes(ctx context.Context) ([]journal.Node, error) {
	var out []journal.Node
	err := s.read(ctx, func(c *conn) error {
		// Index runs_owned.
		return c.each(`SELECT * FROM (
				SELECT id, name, started_at, expires_at, ended_at IS NULL AND expires_at > ? AS live,
					(SELECT count(*) FROM runs r WHERE r.state = 'running' AND r.owner = nodes.id) AS owned
				FROM nodes) WHERE live OR owned > 0 ORDER BY started_at, id`, []any{micro(s.now())},
			func(row scanner) (bool, error) {
				var n journal.Node
				var started, expires int64
				err := row.Scan(&n.ID, &n.Name, &started, &expires, &n.Live, &n.Runs)
				n.StartedAt, n.ExpiresAt = fromMicro(started), fromMicro(expires)
				out = append(out, n)
				return true, err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return out, nil
}

// endEarlierBoots ends every registration. It is called when the file's lock has been won, which
// proves that nobody lives who registered before.
func (s *Store) endEarlierBoots(ctx context.Context) (ended int64, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		ended, err = t.exec(`UPDATE nodes SET ended_at = ? WHERE ended_at IS NULL`, micro(t.now))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("end earlier boots: %w", err)
	}
	return ended, nil
}
