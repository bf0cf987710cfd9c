package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

// Claim implements journal.Claimer.
func (s *Store) Claim(ctx context.Context, node string, w journal.Want) (out journal.Claims, err error) {
	err = s.write(ctx, func(t *tx) error {
		out = journal.Claims{Now: t.now}
		if err := t.requireLive(node); err != nil {
			return err
		}
		if err := t.claim(&out, node, w); err != nil {
			return err
		}
		out.NextDue, err = t.nextDue(len(out.Claims) >= w.Limit)
		return err
	})
	if err != nil {
		return journal.Claims{}, fmt.Errorf("claim for node %s: %w", node, err)
	}
	return out, nil
}

func (t *tx) claim(out *journal.Claims, node string, w journal.Want) error {
	if w.Limit <= 0 {
		return nil
	}
	cs, err := t.candidates(w)
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
		var unreadable error
		if errors.Is(err, journal.ErrPayload) {
			unreadable, err = err, nil
		}
		if err != nil {
			return err
		}
		out.Claims = append(out.Claims, journal.Claim{Run: r.Run, StolenFrom: c.owner, Unreadable: unreadable,
			Lease: journal.Lease{Tenant: r.Tenant, Run: r.ID, Node: node, Token: r.Token}})
	}
	t.step(durable.ClaimBefore, durable.ClaimAfter)
	return nil
}

// nextDue is how long until the earliest timer; what is due already is left out when the claim could not take
// it. Index runs_due.
func (t *tx) nextDue(full bool) (time.Duration, error) {
	after := int64(math.MinInt64)
	if !full {
		after = micro(t.now)
	}
	var due *int64
	if _, err := t.row(`SELECT min(due_at) FROM runs WHERE state = 'waiting' AND due_at > ?`, []any{after}, &due); err != nil {
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
