package postgres

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

// holdAtMost bounds one statement, so that its locks and its transaction are short.
const holdAtMost = 1_000

const endNodesSQL = `UPDATE reprise.nodes SET ended = true WHERE NOT ended`

// $1 reason, $2 what is added to a token, $3 limit. Primary key, and an index for the runs of a state.
const (
	holdHead = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
picked AS MATERIALIZED (SELECT r.tenant, r.id FROM reprise.runs r WHERE `
	holdTail = ` LIMIT $3 FOR UPDATE)
UPDATE reprise.runs r SET state = 'paused', reason = $1, token = r.token + $2, owner = '', waiting = '', wake_at = NULL, updated_at = clock.now
FROM unnest(ARRAY(SELECT picked.tenant FROM picked), ARRAY(SELECT picked.id FROM picked)) AS p(tenant, id), clock
WHERE r.tenant = p.tenant AND r.id = p.id`
)

// Indexes runs_running, runs_held, runs_ready; an order that an index has is for the planner, which would read all of runs for what it takes for many.
const (
	holdRunningSQL = holdHead + `r.state = 'running' ORDER BY r.owner` + holdTail
	holdWaitingSQL = holdHead + `r.state = 'waiting' AND left(r.state, 16) = 'waiting'` + holdTail
	holdReadySQL   = holdHead + `r.state = 'ready' ORDER BY r.tenant` + holdTail
)

// Hold implements journal.Holder. Registrations end in a transaction of their own: who had a lease writes nothing from then on, so that a run
// is met in one state after the other in the order in which they move on by themselves.
func (s *Store) Hold(ctx context.Context, reason string, limit int) (out journal.Held, err error) {
	out.Nodes, err = s.hold(ctx, endNodesSQL)
	durable.HoldBefore.Hit()
	for _, sql := range []string{holdRunningSQL, holdWaitingSQL, holdReadySQL} {
		left := min(limit, holdAtMost) - out.Runs
		if err != nil || left <= 0 {
			break
		}
		var n int
		n, err = s.hold(ctx, sql, reason, journal.HoldTokens, left)
		out.Runs += n
	}
	if out.More = out.Runs > 0; out.More {
		durable.HoldAfter.Hit()
	}
	if err != nil {
		return out, fmt.Errorf("hold: %w", err)
	}
	return out, nil
}

// hold runs a statement that finds less of what it changes when it runs again. What a lost answer counted is not known.
func (s *Store) hold(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, s.in(sql), args...)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
