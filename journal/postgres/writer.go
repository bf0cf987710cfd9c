package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
)

// Bounds of one group: enough to share an fsync among many runs, few enough to stay far from
// Postgres' limits and to answer the first before the last is old.
const (
	maxGroup      = 256
	maxGroupBytes = 4 << 20
)

// writeLoop takes the commits that wait, all that there are, and writes them as one group. Nothing
// waits for a group to fill: while one group is written the next gathers by itself.
func (s *Store) writeLoop() {
	var next *commit
	in := make(map[runKey]bool, maxGroup)
	for {
		if next == nil {
			select {
			case next = <-s.commits:
			case <-s.ctx.Done():
				return
			}
		}
		var group []*commit
		group, next = s.gather(next, in)
		s.writeGroup(group)
	}
}

// gather returns a group and the commit that must begin the next one: a statement sees each run once,
// so a second commit of a run waits. in is the writer's, to be used again.
func (s *Store) gather(first *commit, in map[runKey]bool) (group []*commit, next *commit) {
	clear(in)
	bytes := 0
	for c := first; ; {
		k := runKey{c.lease.Tenant, c.lease.Run}
		w := weight(c.batch)
		if in[k] || len(group) > 0 && bytes+w > maxGroupBytes {
			return group, c
		}
		in[k] = true
		bytes += w
		group = append(group, c)
		if len(group) == maxGroup {
			return group, nil
		}
		select {
		case c = <-s.commits:
		default:
			return group, nil
		}
	}
}

// writeGroup writes a group and answers each of its commits. When the database refuses the statement,
// each commit is written alone, so that one cannot take the others down.
func (s *Store) writeGroup(group []*commit) {
	var results []result
	err := s.retry(s.ctx, true, func(ctx context.Context) (err error) {
		results, err = s.execGroup(ctx, s.pool, group)
		return err
	})
	if err != nil && len(group) > 1 && fateOf(err) == refused && s.ctx.Err() == nil {
		for i := range group {
			s.writeGroup(group[i : i+1])
		}
		return
	}
	var ended []journal.Lease
	for i, c := range group {
		switch {
		case err != nil:
			c.done <- result{err: conflictOf(err)}
		default:
			c.done <- results[i]
			if results[i].forget {
				ended = append(ended, c.lease)
			}
		}
	}
	if len(ended) > 0 {
		s.forgetCheckpoints(ended)
	}
}

// conflictOf tells what is in the way of a commit that is alone: only entries have a key that may be.
func conflictOf(err error) error {
	if isState(err, uniqueViolation) {
		return fmt.Errorf("the journal has entries beyond its row's next seq: %w: %w", journal.ErrConflict, err)
	}
	return err
}

// execGroup runs the statement. It may be repeated: a commit that was taken before is then not taken,
// and its caller finds out that it is there.
func (s *Store) execGroup(ctx context.Context, q querier, group []*commit) ([]result, error) {
	sql, args := groupStatement(group)
	rows, err := q.Query(ctx, s.in(sql), s.params(args)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	results := make([]result, len(group))
	for rows.Next() {
		var n int64
		var at pgtype.Timestamptz
		var ended journal.Ended
		var checkpoint int64
		r := result{written: true}
		if err := rows.Scan(&n, &r.state, &at, &ended.InboxPos, &ended.CancelRequested, &checkpoint); err != nil {
			return nil, err
		}
		if r.state.Terminal() {
			ended.At = fromTime(at)
			r.ended, r.forget = ended, checkpoint > 0
		}
		results[n-1] = r
	}
	return results, rows.Err()
}
