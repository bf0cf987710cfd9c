package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/abi"
	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Primary keys of runs and entries. The sizes of the entries before are summed without reading their
// bytes, and nothing beyond the bound is sent. Of a large payload it is the digest that is sent; its size is found by the
// primary key of payloads.
const entriesSQL = `
SELECT e.seq, e.kind, e.op, e.name, e.request_held, e.request_large, e.options, e.status, e.payload_held, e.payload_large, e.issued, e.trail, e.token, e.at
FROM (
  SELECT e.*, sum(coalesce(CASE WHEN e.request_large
        THEN (SELECT p.size FROM reprise.payloads p WHERE p.tenant = e.tenant AND p.digest = e.request_held) ELSE octet_length(e.request_held) END, 0)
      + coalesce(octet_length(e.options), 0)
      + coalesce(CASE WHEN e.payload_large
        THEN (SELECT p.size FROM reprise.payloads p WHERE p.tenant = e.tenant AND p.digest = e.payload_held) ELSE octet_length(e.payload_held) END, 0))
    OVER (ORDER BY e.seq) AS bytes
  FROM (
    SELECT e.* FROM reprise.entries e
    WHERE e.tenant = $1 AND e.run = (SELECT r.no FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2) AND e.seq >= $3
    ORDER BY e.seq LIMIT $4
  ) e
) e
WHERE e.bytes <= $5 OR e.seq = $3
ORDER BY e.seq`

const (
	maxEntries     = 10_000
	maxEntriesSize = 8 << 20
)

// Entries implements journal.Reader.
func (s *Store) Entries(ctx context.Context, t tenant.ID, run journal.RunID, from int64, limit int) (es []journal.Entry, err error) {
	limit = min(max(limit, 1), maxEntries)
	err = s.readOf(ctx, t, run, func(ctx context.Context) (int, error) {
		rows, err := s.pool.Query(ctx, s.in(entriesSQL), string(t), uuidOf(run), max(from, 0), limit, maxEntriesSize)
		if err != nil {
			return 0, err
		}
		held, err := pgx.CollectRows(rows, scanEntry)
		if err != nil {
			return 0, err
		}
		es, err = s.wholeEntries(ctx, t, held)
		return len(es), err
	})
	if err != nil {
		return nil, fmt.Errorf("entries of run %s: %w", run, err)
	}
	return es, nil
}

// heldEntry is an entry as its row holds it: what is large is a digest.
type heldEntry struct {
	journal.Entry
	large struct{ request, payload bool }
}

func (s *Store) wholeEntries(ctx context.Context, t tenant.ID, held []heldEntry) ([]journal.Entry, error) {
	es := make([]journal.Entry, len(held))
	var w payload.Wanted
	for i, h := range held {
		es[i] = h.Entry
		w.Add(&es[i].Request, h.large.request)
		w.Add(&es[i].Payload, h.large.payload)
	}
	return es, s.fill(ctx, s.pool, t, &w)
}

func scanEntry(row pgx.CollectableRow) (heldEntry, error) {
	var e heldEntry
	var name []byte
	var trail int64
	var status int32
	var at pgtype.Timestamptz
	err := row.Scan(&e.Seq, &e.Kind, &e.Op, &name, &e.Request, &e.large.request, &e.Options, &status, &e.Payload, &e.large.payload, &e.Issued, &trail, &e.Token, &at)
	e.Name, e.Trail, e.Status, e.At = string(name), uint64(trail), abi.Status(status), fromTime(at)
	return e, err
}

// readOf runs a query about a run that yields a number of rows, and when there are none looks whether there is such a
// run at all. Returns ErrNotFound when there is not.
func (s *Store) readOf(ctx context.Context, t tenant.ID, run journal.RunID, query func(ctx context.Context) (int, error)) error {
	return s.read(ctx, func(ctx context.Context) error {
		if n, err := query(ctx); n > 0 || err != nil {
			return err
		}
		var there bool
		err := s.pool.QueryRow(ctx, s.in(runThereSQL), string(t), uuidOf(run)).Scan(&there)
		if err == nil && !there {
			err = journal.ErrNotFound
		}
		return err
	})
}

// Primary key.
const runThereSQL = `SELECT EXISTS (SELECT FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2)`

// Primary key of runs, index inbox_open.
const arrivalsSQL = `
SELECT i.id, i.pos, i.kind, i.op, i.name, i.status, i.payload_held, i.payload_large, i.attempt, i.retry_at, i.at
FROM reprise.inbox i
WHERE i.tenant = $1 AND i.run = (SELECT r.no FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2) AND i.open AND i.pos > $3
ORDER BY i.pos`

// Arrivals implements journal.Reader.
func (s *Store) Arrivals(ctx context.Context, t tenant.ID, run journal.RunID, after int64) (as []journal.Arrival, err error) {
	err = s.readOf(ctx, t, run, func(ctx context.Context) (int, error) {
		rows, err := s.pool.Query(ctx, s.in(arrivalsSQL), string(t), uuidOf(run), after)
		if err != nil {
			return 0, err
		}
		var large []bool
		as, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Arrival, error) {
			large = append(large, false)
			var a journal.Arrival
			var id, name []byte
			var status int32
			var retry, at pgtype.Timestamptz
			err := row.Scan(&id, &a.Pos, &a.Kind, &a.Op, &name, &status, &a.Payload, &large[len(large)-1], &a.Attempt, &retry, &at)
			a.ID, a.Name, a.Status, a.RetryAt, a.At = string(id), string(name), abi.Status(status), fromTime(retry), fromTime(at)
			return a, err
		})
		if err != nil {
			return 0, err
		}
		var w payload.Wanted
		for i := range as {
			w.Add(&as[i].Payload, large[i])
		}
		return len(as), s.fill(ctx, s.pool, t, &w)
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals of run %s: %w", run, err)
	}
	return as, nil
}

// Primary keys of runs and published.
const publishedSQL = `
SELECT p.key, p.value_held, p.value_large, p.at FROM reprise.published p
WHERE p.tenant = $1 AND p.run = (SELECT r.no FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2)
ORDER BY p.key`

// Published implements journal.Reader.
func (s *Store) Published(ctx context.Context, t tenant.ID, run journal.RunID) (ps []journal.Published, err error) {
	err = s.readOf(ctx, t, run, func(ctx context.Context) (int, error) {
		rows, err := s.pool.Query(ctx, s.in(publishedSQL), string(t), uuidOf(run))
		if err != nil {
			return 0, err
		}
		var large []bool
		ps, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Published, error) {
			large = append(large, false)
			var p journal.Published
			var key []byte
			var at pgtype.Timestamptz
			err := row.Scan(&key, &p.Value, &large[len(large)-1], &at)
			p.Key, p.At = string(key), fromTime(at)
			return p, err
		})
		if err != nil {
			return 0, err
		}
		var w payload.Wanted
		for i := range ps {
			w.Add(&ps[i].Value, large[i])
		}
		return len(ps), s.fill(ctx, s.pool, t, &w)
	})
	if err != nil {
		return nil, fmt.Errorf("published values of run %s: %w", run, err)
	}
	return ps, nil
}

// Newest first: ids sort by time of creation. What is long is not read.
const runsSQL = `
SELECT ` + runColumns + `
FROM (
  SELECT r.no, r.tenant, r.id, r.key, r.idempotency_key, r.workflow, r.digest, r.entry, NULL::bytea AS input_held, false AS input_large,
    r.state, r.reason, r.waiting, NULL::bytea AS output_held, false AS output_large, NULL::bytea AS failure_held, false AS failure_large, r.attempts,
    r.owner, r.token, r.next_seq, r.inbox_pos, r.checkpoint_seq, r.cancel_requested, r.parent, r.parent_op, r.depth, r.abandoned, r.successor, r.wake_at, r.created_at, r.updated_at, r.finished_at
  FROM reprise.runs r
) r
WHERE r.tenant = $1 AND r.id < $2`

// listSQL is the list that a filter asks for. A state stands in the text, since a plan for any state could use none of the
// indexes that know of some. Primary key, or one of runs_ended, runs_held, runs_ready, runs_running, runs_workflow, runs_of_key; of two filters
// the rows of one are read.
func listSQL(t tenant.ID, f journal.Filter, before pgtype.UUID, rows int) (string, []any) {
	sql, args := runsSQL, []any{string(t), before}
	if f.State != "" {
		switch f.State {
		case journal.Waiting, journal.Paused, journal.Blocked:
			sql += ` AND left(r.state, 16) = '` + string(f.State) + `'` // as runs_held has it
		default:
			sql += ` AND r.state = '` + string(f.State) + `'`
		}
		if f.State.Terminal() {
			sql += ` AND r.finished_at IS NOT NULL`
		}
	}
	if f.Workflow != "" {
		args = append(args, f.Workflow)
		sql += fmt.Sprintf(` AND r.workflow = $%d AND r.workflow <> ''`, len(args)) // as runs_workflow has it
	}
	if f.Key != "" {
		args = append(args, []byte(f.Key))
		sql += fmt.Sprintf(` AND r.key = $%d AND r.key <> ''`, len(args))
	}
	args = append(args, rows)
	return sql + fmt.Sprintf(` ORDER BY r.id DESC LIMIT $%d`, len(args)), args
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// Runs implements journal.Reader.
func (s *Store) Runs(ctx context.Context, t tenant.ID, f journal.Filter) (journal.Page, error) {
	limit := min(f.Limit, maxPage)
	if limit < 1 {
		limit = defaultPage
	}
	before, err := parseCursor(f.Cursor)
	if err != nil {
		return journal.Page{}, fmt.Errorf("list runs: %w", err)
	}
	if f.State != "" && !f.State.Valid() {
		return journal.Page{}, nil
	}
	var p journal.Page
	// One more than asked for tells whether there is another page.
	sql, args := listSQL(t, f, before, limit+1)
	err = s.retry(ctx, true, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.in(sql), args...)
		if err != nil {
			return err
		}
		p.Runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Run, error) {
			r, err := scanRun(row)
			return r.Run, err
		})
		return err
	})
	if err != nil {
		return journal.Page{}, fmt.Errorf("list runs: %w", err)
	}
	if len(p.Runs) > limit {
		p.Runs = p.Runs[:limit]
		p.Cursor = cursorAfter(p.Runs[limit-1].ID)
	}
	return p, nil
}

// A cursor is "p1." and the hex digits of the last run's id.
const cursorPrefix = "p1."

func cursorAfter(id journal.RunID) string { return cursorPrefix + hex.EncodeToString(id[:]) }

var errCursor = errors.New("the cursor is not from an earlier page")

// newest comes after every id.
var newest = pgtype.UUID{Bytes: [16]byte(bytes.Repeat([]byte{0xff}, 16)), Valid: true}

func parseCursor(s string) (id pgtype.UUID, err error) {
	if s == "" {
		return newest, nil
	}
	h, ok := strings.CutPrefix(s, cursorPrefix)
	b, err := hex.DecodeString(h)
	if !ok || err != nil || len(b) != len(id.Bytes) || cursorAfter(journal.RunID(b)) != s {
		return id, fmt.Errorf("%w: %.80q: %w", errCursor, s, journal.ErrConflict)
	}
	return pgtype.UUID{Bytes: [16]byte(b), Valid: true}, nil
}
