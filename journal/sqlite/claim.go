package sqlite

import (
	"context"
	"fmt"
	"time"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

// Claim implements journal.Claimer.
func (s *Store) Claim(ctx context.Context, node string, limit int) (out journal.Claims, err error) {
	err = s.write(ctx, func(t *tx) error {
		out = journal.Claims{Now: t.now}
		if err := t.requireLive(node); err != nil {
			return err
		}
		if err := t.claim(&out, node, limit); err != nil {
			return err
		}
		out.NextDue, err = t.nextDue()
		return err
	})
	if err != nil {
		return journal.Claims{}, fmt.Errorf("claim for node %s: %w", node, err)
	}
	return out, nil
}

func (t *tx) claim(out *journal.Claims, node string, limit int) error {
	if limit <= 0 {
		return nil
	}
	cs, err := t.candidates(limit)
	if err != nil || len(cs) == 0 {
		return err
	}
	for _, c := range cs {
		_, err := t.exec(`UPDATE runs SET state = 'running', owner = ?, token = token + 1, attempts = attempts + 1, waiting = '', updated_at = ?
			WHERE n = ?`, node, micro(t.now), c.n)
		if err != nil {
			return err
		}
		r, _, err := t.oneRun(wholeRun+`WHERE r.n = ?`, c.n)
		if err != nil {
			return err
		}
		out.Claims = append(out.Claims, journal.Claim{Run: r.Run, StolenFrom: c.owner,
			Lease: journal.Lease{Tenant: r.Tenant, Run: r.ID, Node: node, Token: r.Token}})
	}
	t.step(durable.ClaimBefore, durable.ClaimAfter)
	return nil
}

type candidate struct {
	n     int64
	owner string // the dead one, of a running run
}

// candidates finds runs that may make progress, oldest due first. A ready run is due whatever the
// clock says, for the clock may have gone back since. Indexes runs_ready, runs_due, runs_owned.
const candidates = `
	SELECT n, owner FROM (
		SELECT * FROM (SELECT n, due_at, '' AS owner FROM runs WHERE state = 'ready' ORDER BY due_at, n LIMIT ?1)
		UNION ALL
		SELECT * FROM (SELECT n, due_at, '' FROM runs WHERE state = 'waiting' AND due_at <= ?2 ORDER BY due_at, n LIMIT ?1)
		UNION ALL
		SELECT * FROM (SELECT r.n, r.due_at, r.owner FROM nodes d CROSS JOIN runs r
			WHERE r.state = 'running' AND r.owner = d.id AND (d.ended_at IS NOT NULL OR d.expires_at <= ?2)
			ORDER BY r.due_at, r.n LIMIT ?1)
	) ORDER BY due_at, n LIMIT ?1`

func (t *tx) candidates(limit int) ([]candidate, error) {
	var cs []candidate
	err := t.each(candidates, []any{limit, micro(t.now)}, func(row scanner) (bool, error) {
		var c candidate
		err := row.Scan(&c.n, &c.owner)
		cs = append(cs, c)
		return true, err
	})
	return cs, err
}

// nextDue is how long until the earliest timer. Index runs_due.
func (t *tx) nextDue() (time.Duration, error) {
	var due *int64
	if _, err := t.row(`SELECT min(due_at) FROM runs WHERE state = 'waiting' AND due_at IS NOT NULL`, nil, &due); err != nil {
		return 0, err
	}
	if due == nil {
		return -1, nil
	}
	return max(0, fromMicro(*due).Sub(t.now)), nil
}

// Mail implements journal.Claimer.
func (s *Store) Mail(ctx context.Context, node string, seen map[journal.RunID]int64) (map[journal.RunID]int64, error) {
	out := map[journal.RunID]int64{}
	err := s.read(ctx, func(c *conn) error {
		// Index runs_owned.
		return c.each(`SELECT id, inbox_pos, mail_pos FROM runs WHERE state = 'running' AND owner = ? AND mail_pos > 0`, []any{node},
			func(row scanner) (bool, error) {
				var b []byte
				var id journal.RunID
				var newest, mail int64
				err := row.Scan(&b, &newest, &mail)
				if copy(id[:], b); mail > seen[id] {
					out[id] = newest
				}
				return true, err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("mail of node %s: %w", node, err)
	}
	return out, nil
}
