package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/tenant"
)

// maxPageBytes bounds the bytes of one answer of Entries.
const maxPageBytes = 8 << 20

// Run implements journal.Reader.
func (s *Store) Run(ctx context.Context, t tenant.ID, id journal.RunID) (out journal.Run, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.runByID(t, id)
		out = r.Run
		return err
	})
	if err != nil {
		return journal.Run{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return out, nil
}

// Entries implements journal.Reader. Index entries_by_seq.
func (s *Store) Entries(ctx context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	var out []journal.Entry
	err := s.readRun(ctx, t, id, func(c *conn, n int64) error {
		size := 0
		return c.each(`SELECT `+entryColumns+` FROM entries WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?`,
			[]any{n, from, max(0, limit)}, func(row scanner) (bool, error) {
				e, err := scanEntry(row)
				size += len(e.Request) + len(e.Options) + len(e.Payload)
				if err != nil || len(out) > 0 && size > maxPageBytes {
					return false, err
				}
				out = append(out, e)
				return true, nil
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read entries of run %s from %d: %w", id, from, err)
	}
	return out, nil
}

// Arrivals implements journal.Reader. Index inbox_open.
func (s *Store) Arrivals(ctx context.Context, t tenant.ID, id journal.RunID, after int64) ([]journal.Arrival, error) {
	var out []journal.Arrival
	err := s.readRun(ctx, t, id, func(c *conn, n int64) error {
		return c.each(`SELECT id, pos, kind, op, name, status, payload, attempt, retry_at, at FROM inbox
			WHERE run = ? AND open = 1 AND pos > ? ORDER BY pos`, []any{n, after}, func(row scanner) (bool, error) {
			var a journal.Arrival
			var retryAt, at int64
			err := row.Scan(&a.ID, &a.Pos, &a.Kind, &a.Op, &a.Name, &a.Status, &a.Payload, &a.Attempt, &retryAt, &at)
			a.RetryAt, a.At = fromMicro(retryAt), fromMicro(at)
			out = append(out, a)
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read inbox of run %s after %d: %w", id, after, err)
	}
	return out, nil
}

// Published implements journal.Reader. Index published_by_key.
func (s *Store) Published(ctx context.Context, t tenant.ID, id journal.RunID) ([]journal.Published, error) {
	var out []journal.Published
	err := s.readRun(ctx, t, id, func(c *conn, n int64) error {
		return c.each(`SELECT key, value, at FROM published WHERE run = ? ORDER BY key`, []any{n}, func(row scanner) (bool, error) {
			var p journal.Published
			var at int64
			err := row.Scan(&p.Key, &p.Value, &at)
			p.At = fromMicro(at)
			out = append(out, p)
			return true, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read published values of run %s: %w", id, err)
	}
	return out, nil
}

// readRun finds a run's number and reads by it. The two need no common snapshot: no run is ever removed.
func (s *Store) readRun(ctx context.Context, t tenant.ID, id journal.RunID, do func(c *conn, n int64) error) error {
	return s.read(ctx, func(c *conn) error {
		n, err := c.runNumber(t, id)
		if err != nil {
			return err
		}
		return do(c, n)
	})
}
