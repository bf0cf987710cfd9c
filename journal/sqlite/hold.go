package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

// holdAtMost bounds one call: others wait for its transaction.
const holdAtMost = 500

// holding pauses runs of one state after the other, in the order in which they move on by themselves. Indexes runs_owned, runs_due, runs_ready.
var holding = []string{
	hold + `(SELECT n FROM runs INDEXED BY runs_owned WHERE state = 'running' LIMIT ?)`,
	hold + `(SELECT n FROM runs INDEXED BY runs_due WHERE state = 'waiting' LIMIT ?)`,
	hold + `(SELECT n FROM runs INDEXED BY runs_ready WHERE state = 'ready' LIMIT ?)`,
}

const hold = `UPDATE runs SET state = 'paused', reason = ?, token = token + ?, owner = '', waiting = '', due_at = NULL, updated_at = ? WHERE n IN `

// Hold implements journal.Holder.
func (s *Store) Hold(ctx context.Context, reason string, limit int) (out journal.Held, err error) {
	limit = min(limit, holdAtMost)
	err = s.write(ctx, func(t *tx) error {
		out = journal.Held{}
		now := micro(t.now)
		nodes, err := t.exec(`UPDATE nodes SET ended_at = ? WHERE ended_at IS NULL`, now)
		if err != nil {
			return err
		}
		out.Nodes = int(nodes)
		for _, text := range holding {
			if out.Runs >= limit {
				break
			}
			runs, err := t.exec(text, reason, journal.HoldTokens, now, limit-out.Runs)
			if err != nil {
				return err
			}
			out.Runs += int(runs)
		}
		if out.More = out.Runs > 0; out.More {
			t.step(durable.HoldBefore, durable.HoldAfter)
		}
		return nil
	})
	if err != nil {
		return journal.Held{}, fmt.Errorf("hold: %w", err)
	}
	return out, nil
}
