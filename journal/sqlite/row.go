package sqlite

import (
	"errors"
	"strings"
	"time"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// micro is the stored form of a time.
func micro(t time.Time) int64 { return t.UnixMicro() }

// microUp rounds up, so that what is due is never due early.
func microUp(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 > 0 {
		us++
	}
	return us
}

// fromMicro reads a stored time; the zero time survives the round trip.
func fromMicro(us int64) time.Time { return time.UnixMicro(us).UTC() }

func fromMicroPtr(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return fromMicro(*us)
}

// blob is the stored form of bytes: absent is empty, never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// forPeople mends a line that a guest may have put into words, so that whoever prints it gets text.
func forPeople(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// run is a row of runs: what the contract shows and what the store keeps for itself.
type run struct {
	journal.Run
	n       int64
	mailPos int64
	queued
	large struct{ input, output, failure bool } // which of these are digests
}

// queued counts signals in the open part of an inbox, and the bytes of their payloads.
type queued struct{ count, bytes int64 }

// smallColumns are the columns of runs r that scanRun reads; the large ones come after them.
const smallColumns = `r.n, r.tenant, r.id, r.key, r.idempotency_key, r.workflow, r.digest, r.entry,
	r.state, r.reason, r.waiting, r.attempts, r.owner, r.token, r.next_seq, r.inbox_pos, r.mail_pos, r.queued, r.queued_bytes,
	r.checkpoint_seq, r.cancel_requested, r.parent, r.parent_op, r.depth, r.abandoned, r.successor, r.due_at, r.created_at, r.updated_at, r.finished_at`

// wholeRun selects a run with its large columns.
const wholeRun = `SELECT ` + smallColumns + `, i.bytes, i.large, coalesce(o.output, x''), coalesce(o.output_large, 0),
	coalesce(o.failure, x''), coalesce(o.failure_large, 0)
	FROM runs r JOIN inputs i ON i.run = r.n LEFT JOIN results o ON o.run = r.n `

func scanRun(row scanner, large ...any) (run, error) {
	var r run
	var id, parent, successor []byte
	var due, finished *int64
	var created, updated int64
	dest := []any{&r.n, &r.Tenant, &id, &r.Key, &r.IdempotencyKey, &r.Workflow, &r.Digest, &r.Entry,
		&r.State, &r.Reason, &r.Waiting, &r.Attempts, &r.Owner, &r.Token, &r.NextSeq, &r.InboxPos, &r.mailPos, &r.queued.count, &r.queued.bytes,
		&r.CheckpointSeq, &r.CancelRequested, &parent, &r.ParentOp, &r.Depth, &r.Abandoned, &successor, &due, &created, &updated, &finished}
	if err := row.Scan(append(dest, large...)...); err != nil {
		return run{}, err
	}
	copy(r.ID[:], id)
	copy(r.Parent[:], parent)
	copy(r.Successor[:], successor)
	r.CreatedAt, r.UpdatedAt, r.FinishedAt = fromMicro(created), fromMicro(updated), fromMicroPtr(finished)
	if r.State == journal.Waiting {
		r.WakeAt = fromMicroPtr(due)
	}
	return r, nil
}

func scanHeldRun(row scanner) (run, error) {
	var input, output, failure []byte
	var large struct{ input, output, failure bool }
	r, err := scanRun(row, &input, &large.input, &output, &large.output, &failure, &large.failure)
	r.Input, r.Output, r.Failure, r.large = input, output, failure, large
	return r, err
}

// oneRun runs a query of at most one run. Returns it also with journal.ErrPayload, without what cannot be read.
func (c *conn) oneRun(text string, args ...any) (r run, found bool, err error) {
	r, found, err = c.heldRun(text, args...)
	if err != nil || !found {
		return r, found, err
	}
	var w payload.Wanted
	w.Add(&r.Input, r.large.input)
	w.Add(&r.Output, r.large.output)
	w.Add(&r.Failure, r.large.failure)
	return r, true, c.fill(r.Tenant, &w)
}

// heldRun is oneRun of a run as its rows hold it.
func (c *conn) heldRun(text string, args ...any) (r run, found bool, err error) {
	err = c.each(text, args, func(row scanner) (bool, error) {
		var err error
		r, err = scanHeldRun(row)
		found = err == nil
		return false, err
	})
	return r, found, err
}

// runByID reads a run whole, by the unique index on (tenant, id). Returns journal.ErrNotFound.
func (c *conn) runByID(t tenant.ID, id journal.RunID) (run, error) {
	r, found, err := c.oneRun(wholeRun+`WHERE r.tenant = ? AND r.id = ?`, t, id[:])
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	return r, err
}

// readableRun is runByID for a call whose answer is what it did: what cannot be read is left out.
func (c *conn) readableRun(t tenant.ID, id journal.RunID) (run, error) {
	r, err := c.runByID(t, id)
	if errors.Is(err, journal.ErrPayload) {
		err = nil
	}
	return r, err
}

// runNumber finds a run's number, by the unique index on (tenant, id). Returns journal.ErrNotFound.
func (c *conn) runNumber(t tenant.ID, id journal.RunID) (n int64, err error) {
	found, err := c.row(`SELECT n FROM runs WHERE tenant = ? AND id = ?`, []any{t, id[:]}, &n)
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	return n, err
}
