package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite"

	"reprise/journal"
	"reprise/journal/internal/payload"
)

// writeBatch writes a batch under a lease that holds, and moves r to what the run is then.
func (t *tx) writeBatch(r *leasedRun, l journal.Lease, b journal.Batch, set *payload.Set) error {
	k := &keeper{tx: t, owner: l.Tenant, run: r.n, set: set}
	if err := k.insertEntries(l.Token, b.Entries); err != nil {
		return fmt.Errorf("insert entries: %w", err)
	}
	r.NextSeq += int64(len(b.Entries))
	for _, a := range b.Stash {
		if err := k.stash(r, a); err != nil {
			return fmt.Errorf("stash %s: %w", a.ID, err)
		}
	}
	seen, err := t.observe(r.n, b.Observed)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	for _, p := range b.Published {
		if err := k.publish(p); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if err := t.keepCheckpoint(r.n, b); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if b.Next != nil {
		return k.release(r, *b.Next, seen, releaseDigest(b))
	}
	_, err = t.exec(`UPDATE runs SET next_seq = ?, inbox_pos = ?, queued = queued - ?, queued_bytes = queued_bytes - ?, updated_at = ? WHERE n = ?`,
		r.NextSeq, r.inboxPos, seen.count, seen.bytes, micro(t.now), r.n)
	return err
}

const (
	entryColumns = `seq, kind, op, name, request, options, status, payload, issued, trail, token, at`
	entryFlags   = `, request_large, payload_large`
)

// heldEntry is an entry as its row holds it: what is large is a digest.
type heldEntry struct {
	journal.Entry
	requestLarge, payloadLarge bool
}

// scanEntry reads entryColumns and flags.
func scanEntry(row scanner) (heldEntry, error) {
	var e heldEntry
	var trail, at int64
	err := row.Scan(&e.Seq, &e.Kind, &e.Op, &e.Name, &e.Request, &e.Options, &e.Status, &e.Payload, &e.Issued, &trail, &e.Token, &at,
		&e.requestLarge, &e.payloadLarge)
	e.Trail, e.At = uint64(trail), fromMicro(at)
	return e, err
}

// uniqueViolation is SQLITE_CONSTRAINT_UNIQUE.
const uniqueViolation = 2067

// rowsPerInsert bounds the rows of one statement, and so the number of texts that are kept prepared.
const rowsPerInsert = 8

func (k *keeper) insertEntries(token int64, es []journal.Entry) error {
	for len(es) > 0 {
		part := es[:min(rowsPerInsert, len(es))]
		es = es[len(part):]
		flags := slices.ContainsFunc(part, func(e journal.Entry) bool { return payload.Large(e.Request) || payload.Large(e.Payload) })
		args := make([]any, 0, 15*len(part))
		for _, e := range part {
			request, requestLarge, err := k.held(e.Request, placeKept, "")
			if err != nil {
				return err
			}
			outcome, outcomeLarge, err := k.held(e.Payload, placeKept, "")
			if err != nil {
				return err
			}
			args = append(args, k.run, e.Seq, e.Kind, e.Op, e.Name, request, blob(e.Options), e.Status, outcome,
				e.Issued, int64(e.Trail), token, micro(e.At))
			if flags {
				args = append(args, requestLarge, outcomeLarge)
			}
		}
		_, err := k.exec(insertEntries(len(part), flags), args...)
		var refused *sqlite3.Error
		if errors.As(err, &refused) && refused.Code() == uniqueViolation {
			return fmt.Errorf("the journal has entries beyond its row's next seq: %w: %w", journal.ErrConflict, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insertEntries names the flags only when one is set.
func insertEntries(rows int, flags bool) string {
	columns, row := entryColumns, `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	if flags {
		columns, row = columns+entryFlags, `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	}
	return `INSERT INTO entries (run, ` + columns + `) VALUES ` + strings.Repeat(row+`, `, rows-1) + row
}

// stash writes an arrival of the owner's own at the next position. One that is there unchanged, or
// that an entry has made visible, stays as it is, and so does what a child's end has made of its arrival. Index inbox_by_id.
func (k *keeper) stash(r *leasedRun, a journal.Arrival) error {
	held, large, err := k.held(a.Payload, placeInbox, a.ID)
	if err != nil {
		return err
	}
	changed, err := k.exec(`INSERT INTO inbox (run, id, pos, kind, op, name, status, payload, payload_large, digest, attempt, retry_at, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, id) DO UPDATE SET pos = excluded.pos, kind = excluded.kind, op = excluded.op, name = excluded.name,
			status = excluded.status, payload = excluded.payload, payload_large = excluded.payload_large, digest = excluded.digest, attempt = excluded.attempt,
			retry_at = excluded.retry_at, at = excluded.at
		WHERE open = 1 AND digest <> excluded.digest AND excluded.kind <> 'child'`,
		r.n, a.ID, r.inboxPos+1, a.Kind, a.Op, a.Name, a.Status, held, large, arrivalDigest(a), a.Attempt, micro(a.RetryAt), micro(k.now))
	r.inboxPos += changed
	return err
}

// observe closes arrivals and returns what they leave of the queue. Index inbox_by_id, the unique index on (tenant, digest) of
// payloads.
func (t *tx) observe(n int64, ids []string) (seen queued, err error) {
	for _, id := range ids {
		var signal, size int64
		open, err := t.row(`SELECT kind = 'signal', CASE WHEN payload_large = 0 THEN length(payload)
				ELSE (SELECT p.size FROM payloads p JOIN runs r ON r.tenant = p.tenant WHERE r.n = run AND p.digest = payload) END
			FROM inbox WHERE run = ? AND id = ? AND open = 1`, []any{n, id}, &signal, &size)
		if err == nil && open {
			_, err = t.exec(`UPDATE inbox SET open = 0, payload = x'', payload_large = 0 WHERE run = ? AND id = ?`, n, id)
		}
		if err != nil {
			return seen, err
		}
		seen.count += signal
		seen.bytes += signal * size
	}
	return seen, nil
}

// publish writes a value. Index published_by_key.
func (k *keeper) publish(p journal.Published) error {
	held, large, err := k.held(p.Value, placePublished, p.Key)
	if err != nil {
		return err
	}
	_, err = k.exec(`INSERT INTO published (run, key, value, value_large, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (run, key) DO UPDATE SET value = excluded.value, value_large = excluded.value_large, at = excluded.at`,
		k.run, p.Key, held, large, micro(k.now))
	return err
}

// release moves the run to its next state and gives the lease up. A run that would wait while
// something from outside has not been seen is ready instead.
func (k *keeper) release(r *leasedRun, next journal.Transition, seen queued, digest []byte) error {
	r.State = next.State
	if next.State == journal.Waiting && r.mailPos > next.SeenPos {
		r.State = journal.Ready
	}
	now := micro(k.now)
	var due, finished *int64
	waiting := ""
	switch {
	case r.State == journal.Ready:
		due = &now
	case r.State == journal.Waiting:
		waiting = forPeople(next.Waiting)
		if !next.WakeAt.IsZero() {
			at := microUp(next.WakeAt)
			due = &at
		}
	case r.State.Terminal():
		finished = &now
	}
	_, err := k.exec(`UPDATE runs SET state = ?, released_by = ?, owner = '', attempts = CASE WHEN ? THEN attempts ELSE 0 END, reason = ?, waiting = ?,
			next_seq = ?, inbox_pos = ?, queued = queued - ?, queued_bytes = queued_bytes - ?, due_at = ?, updated_at = ?, finished_at = ? WHERE n = ?`,
		r.State, digest, next.KeepAttempts, forPeople(next.Reason), waiting, r.NextSeq, r.inboxPos, seen.count, seen.bytes, due, now, finished, r.n)
	if err == nil && r.State.Terminal() {
		err = k.putResult(next.Output, next.Failure)
		if next.Ended != nil {
			*next.Ended = journal.Ended{At: k.now, InboxPos: r.inboxPos, CancelRequested: r.cancel}
		}
	}
	return err
}

// putResult stores how a run ended.
func (k *keeper) putResult(output, failure []byte) error {
	out, outLarge, err := k.held(output, placeKept, "")
	if err != nil {
		return err
	}
	why, whyLarge, err := k.held(failure, placeKept, "")
	if err != nil {
		return err
	}
	_, err = k.exec(`INSERT INTO results (run, output, output_large, failure, failure_large) VALUES (?, ?, ?, ?, ?)`,
		k.run, out, outLarge, why, whyLarge)
	return err
}
