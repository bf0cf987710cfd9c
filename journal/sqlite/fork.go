package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/payload"
)

// Fork implements journal.Forker.
func (s *Store) Fork(ctx context.Context, r journal.Run, f journal.Fork) (out journal.Run, created bool, err error) {
	input := packOne(r.Input)
	err = s.write(ctx, func(t *tx) (err error) {
		out, created, err = t.fork(r, input, f)
		return err
	})
	if err != nil {
		return out, false, fmt.Errorf("fork run %s as %s: %w", f.From, r.ID, err)
	}
	return out, created, nil
}

// Primary keys and the unique indexes of runs and entries; index payload_names_run.
func (t *tx) fork(r journal.Run, input *payload.Set, f journal.Fork) (journal.Run, bool, error) {
	var from, has int64
	var depth int
	if found, err := t.row(`SELECT n, next_seq, depth FROM runs WHERE tenant = ? AND id = ?`, []any{r.Tenant, f.From[:]}, &from, &has, &depth); err != nil {
		return journal.Run{}, false, err
	} else if !found {
		return journal.Run{}, false, journal.ErrNotFound
	}
	if f.Entries < 1 || f.Entries > has {
		return journal.Run{}, false, fmt.Errorf("%d entries of %d: %w", f.Entries, has, journal.ErrState)
	}
	made, created, err := t.create(r, input, "")
	if err != nil || !created {
		return made, false, err
	}
	var n int64
	if _, err := t.row(`SELECT n FROM runs WHERE tenant = ? AND id = ?`, []any{r.Tenant, r.ID[:]}, &n); err != nil {
		return journal.Run{}, false, err
	}
	for _, copied := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO entries (run, seq, kind, op, name, request, request_large, options, status, payload, payload_large, issued, trail, token, at)
			SELECT ?, seq, kind, op, name, request, request_large, CASE seq WHEN 0 THEN ? ELSE options END, status, payload, payload_large, issued, trail, 0, at
			FROM entries WHERE run = ? AND seq < ?`, []any{n, blob(f.Options), from, f.Entries}},
		{`INSERT OR IGNORE INTO payload_names (payload, place, run, id) SELECT payload, place, ?, id FROM payload_names WHERE run = ? AND place = 0`, []any{n, from}},
		{`UPDATE runs SET next_seq = ?, depth = ? WHERE n = ?`, []any{f.Entries, depth, n}},
	} {
		if _, err := t.exec(copied.sql, copied.args...); err != nil {
			return journal.Run{}, false, err
		}
	}
	made.NextSeq, made.Depth = f.Entries, depth
	if c := f.Checkpoint; c != nil {
		if err := t.keepCheckpoint(n, journal.Batch{Checkpoint: c}); err != nil {
			return journal.Run{}, false, err
		}
		made.CheckpointSeq = c.Seq
	}
	return made, true, nil
}
