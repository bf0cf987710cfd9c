package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"reprise/journal"
	"reprise/tenant"
)

// Runs implements journal.Reader. Newest first is by run number, which grows with creation. A number
// is looked for in the index of one filtered column: runs_by_key, runs_by_workflow, runs_by_state or
// runs_by_tenant.
func (s *Store) Runs(ctx context.Context, t tenant.ID, f journal.Filter) (journal.Page, error) {
	before := int64(math.MaxInt64)
	if f.Cursor != "" {
		var ok bool
		if before, ok = parseCursor(t, f.Cursor); !ok {
			return journal.Page{}, fmt.Errorf("list runs: cursor: %w", journal.ErrConflict)
		}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	text, args := listQuery(t, f, before, limit+1)
	var page journal.Page
	var last int64
	err := s.read(ctx, func(c *conn) error {
		return c.each(text, args, func(row scanner) (bool, error) {
			if len(page.Runs) == limit { // there is one more than fits
				page.Cursor = cursor(t, last)
				return false, nil
			}
			r, err := scanRun(row)
			page.Runs, last = append(page.Runs, r.Run), r.n
			return true, err
		})
	})
	if err != nil {
		return journal.Page{}, fmt.Errorf("list runs: %w", err)
	}
	return page, nil
}

func listQuery(t tenant.ID, f journal.Filter, before int64, rows int) (string, []any) {
	text := `SELECT ` + smallColumns + ` FROM runs r WHERE r.tenant = ? AND r.n < ? AND r.removed = 0`
	args := []any{t, before}
	if f.State != "" {
		text += ` AND r.state = ?`
		args = append(args, f.State)
	}
	if f.Workflow != "" {
		text += ` AND r.workflow = ?`
		args = append(args, f.Workflow)
	}
	if f.Key != "" {
		text += ` AND r.key = ? AND r.key <> ''`
		args = append(args, f.Key)
	}
	return text + ` ORDER BY r.n DESC LIMIT ?`, append(args, rows)
}

// A cursor is the number of the last run shown, 8 bytes, and 8 bytes of a SHA-256 over it and the
// tenant. The sum is no secret: it tells a mistake, and tenants are kept apart by the query.
func cursor(t tenant.ID, n int64) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	sum := sha256.Sum256(append([]byte(t), b...))
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:8]...))
}

func parseCursor(t tenant.ID, c string) (n int64, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(c)
	if err != nil || len(b) != 16 {
		return 0, false
	}
	n = int64(binary.BigEndian.Uint64(b))
	return n, cursor(t, n) == c
}
