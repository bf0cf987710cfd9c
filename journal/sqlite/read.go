package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// maxPageBytes bounds the bytes of one answer of Entries.
const maxPageBytes = 8 << 20

// Run implements journal.Reader.
func (s *Store) Run(ctx context.Context, t tenant.ID, id journal.RunID) (out journal.Run, err error) {
	err = s.readWhole(ctx, func(c *conn) error {
		r, err := c.runByID(t, id)
		out = r.Run
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read run %s: %w", id, err)
	}
	return out, nil
}

// Entries implements journal.Reader. Index entries_by_seq.
func (s *Store) Entries(ctx context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	var out []journal.Entry
	err := s.readRun(ctx, t, id, func(c *conn) (int, error) {
		var held []heldEntry
		var size int64
		err := c.each(`SELECT `+entryColumns+entryFlags+largeSizes+` FROM entries e WHERE run = `+numberOf+` AND seq >= ? ORDER BY seq LIMIT ?`,
			[]any{t, id[:], from, max(0, limit)}, func(row scanner) (bool, error) {
				var large int64
				e, err := scanEntry(withMore{row, &large})
				size += int64(len(e.Request)+len(e.Options)+len(e.Payload)) + large
				if err != nil || len(held) > 0 && size > maxPageBytes {
					return false, err
				}
				held = append(held, e)
				return true, nil
			})
		if err == nil {
			out, err = c.wholeEntries(t, held)
		}
		return len(out), err
	})
	if err != nil {
		return nil, fmt.Errorf("read entries of run %s from %d: %w", id, from, err)
	}
	return out, nil
}

// largeSizes is what an entry has beyond its row. The unique index on (tenant, digest) of payloads, whose tenant is the run's.
const largeSizes = `, CASE WHEN e.request_large + e.payload_large = 0 THEN 0 ELSE (
	SELECT coalesce(sum(p.size), 0) FROM runs r JOIN payloads p ON p.tenant = r.tenant
	WHERE r.n = e.run AND p.digest IN (CASE WHEN e.request_large THEN e.request END, CASE WHEN e.payload_large THEN e.payload END)) END`

// withMore scans a row that has one column more.
type withMore struct {
	scanner
	more any
}

func (w withMore) Scan(dest ...any) error { return w.scanner.Scan(append(dest, w.more)...) }

func (c *conn) wholeEntries(t tenant.ID, held []heldEntry) ([]journal.Entry, error) {
	es := make([]journal.Entry, len(held))
	var w payload.Wanted
	for i, h := range held {
		es[i] = h.Entry
		w.Add(&es[i].Request, h.requestLarge)
		w.Add(&es[i].Payload, h.payloadLarge)
	}
	return es, c.fill(t, &w)
}

// Arrivals implements journal.Reader. Index inbox_open.
func (s *Store) Arrivals(ctx context.Context, t tenant.ID, id journal.RunID, after int64) ([]journal.Arrival, error) {
	var out []journal.Arrival
	err := s.readRun(ctx, t, id, func(c *conn) (int, error) {
		out = nil
		var larges []bool
		err := c.each(`SELECT id, pos, kind, op, name, status, payload, payload_large, attempt, retry_at, at FROM inbox
			WHERE run = `+numberOf+` AND open = 1 AND pos > ? ORDER BY pos`, []any{t, id[:], after}, func(row scanner) (bool, error) {
			var a journal.Arrival
			var large bool
			var retryAt, at int64
			err := row.Scan(&a.ID, &a.Pos, &a.Kind, &a.Op, &a.Name, &a.Status, &a.Payload, &large, &a.Attempt, &retryAt, &at)
			a.RetryAt, a.At = fromMicro(retryAt), fromMicro(at)
			out, larges = append(out, a), append(larges, large)
			return true, err
		})
		var w payload.Wanted
		for i := range out {
			w.Add(&out[i].Payload, larges[i])
		}
		if err == nil {
			err = c.fill(t, &w)
		}
		return len(out), err
	})
	if err != nil {
		return nil, fmt.Errorf("read inbox of run %s after %d: %w", id, after, err)
	}
	return out, nil
}

// Published implements journal.Reader. Index published_by_key.
func (s *Store) Published(ctx context.Context, t tenant.ID, id journal.RunID) ([]journal.Published, error) {
	var out []journal.Published
	err := s.readRun(ctx, t, id, func(c *conn) (int, error) {
		out = nil
		var larges []bool
		err := c.each(`SELECT key, value, value_large, at FROM published WHERE run = `+numberOf+` ORDER BY key`, []any{t, id[:]}, func(row scanner) (bool, error) {
			var p journal.Published
			var large bool
			var at int64
			err := row.Scan(&p.Key, &p.Value, &large, &at)
			p.At = fromMicro(at)
			out, larges = append(out, p), append(larges, large)
			return true, err
		})
		var w payload.Wanted
		for i := range out {
			w.Add(&out[i].Value, larges[i])
		}
		if err == nil {
			err = c.fill(t, &w)
		}
		return len(out), err
	})
	if err != nil {
		return nil, fmt.Errorf("read published values of run %s: %w", id, err)
	}
	return out, nil
}

// numberOf is a run's number, by the unique index on (tenant, id). It is part of the query, so that a run is read whole or, when it is
// removed, not at all.
const numberOf = `(SELECT n FROM runs WHERE tenant = ? AND id = ?)`

// readRun runs a query about a run that yields a number of rows, and when there are none looks whether there is such a run.
func (s *Store) readRun(ctx context.Context, t tenant.ID, id journal.RunID, do func(c *conn) (int, error)) error {
	return s.readWhole(ctx, func(c *conn) error {
		if n, err := do(c); n > 0 || err != nil {
			return err
		}
		_, err := c.runNumber(t, id)
		return err
	})
}
