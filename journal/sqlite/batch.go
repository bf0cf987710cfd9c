package sqlite

import (
	"fmt"
	"strings"

	"reprise/journal"
)

// writeBatch writes a batch under a lease that holds, and moves r to what the run is then.
func (t *tx) writeBatch(r *leasedRun, l journal.Lease, b journal.Batch) error {
	if err := t.insertEntries(r.n, l.Token, b.Entries); err != nil {
		return fmt.Errorf("insert entries: %w", err)
	}
	r.NextSeq += int64(len(b.Entries))
	for _, a := range b.Stash {
		if err := t.stash(r, a); err != nil {
			return fmt.Errorf("stash %s: %w", a.ID, err)
		}
	}
	seen, err := t.observe(r.n, b.Observed)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	for _, p := range b.Published {
		if err := t.publish(r.n, p); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if b.Next != nil {
		return t.release(r, *b.Next, seen, releaseDigest(b))
	}
	_, err = t.exec(`UPDATE runs SET next_seq = ?, inbox_pos = ?, queued = queued - ?, queued_bytes = queued_bytes - ?, updated_at = ? WHERE n = ?`,
		r.NextSeq, r.inboxPos, seen.count, seen.bytes, micro(t.now), r.n)
	return err
}

const entryColumns = `seq, kind, op, name, request, options, status, payload, issued, trail, token, at`

func scanEntry(row scanner) (journal.Entry, error) {
	var e journal.Entry
	var trail, at int64
	err := row.Scan(&e.Seq, &e.Kind, &e.Op, &e.Name, &e.Request, &e.Options, &e.Status, &e.Payload, &e.Issued, &trail, &e.Token, &at)
	e.Trail, e.At = uint64(trail), fromMicro(at)
	return e, err
}

// rowsPerInsert bounds the rows of one statement, and so the number of texts that are kept prepared.
const rowsPerInsert = 8

func (t *tx) insertEntries(n, token int64, es []journal.Entry) error {
	for len(es) > 0 {
		part := es[:min(rowsPerInsert, len(es))]
		es = es[len(part):]
		args := make([]any, 0, 13*len(part))
		for _, e := range part {
			args = append(args, n, e.Seq, e.Kind, e.Op, e.Name, blob(e.Request), blob(e.Options), e.Status, blob(e.Payload),
				e.Issued, int64(e.Trail), token, micro(e.At))
		}
		if _, err := t.exec(insertEntries(len(part)), args...); err != nil {
			return err
		}
	}
	return nil
}

func insertEntries(rows int) string {
	const row = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	return `INSERT INTO entries (run, ` + entryColumns + `) VALUES ` + strings.Repeat(row+`, `, rows-1) + row
}

// stash writes an arrival of the owner's own at the next position. One that is there unchanged, or
// that an entry has made visible, stays as it is. Index inbox_by_id.
func (t *tx) stash(r *leasedRun, a journal.Arrival) error {
	changed, err := t.exec(`INSERT INTO inbox (run, id, pos, kind, op, name, status, payload, digest, attempt, retry_at, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, id) DO UPDATE SET pos = excluded.pos, kind = excluded.kind, op = excluded.op, name = excluded.name,
			status = excluded.status, payload = excluded.payload, digest = excluded.digest, attempt = excluded.attempt,
			retry_at = excluded.retry_at, at = excluded.at
		WHERE open = 1 AND digest <> excluded.digest`,
		r.n, a.ID, r.inboxPos+1, a.Kind, a.Op, a.Name, a.Status, blob(a.Payload), arrivalDigest(a), a.Attempt, micro(a.RetryAt), micro(t.now))
	r.inboxPos += changed
	return err
}

// observe closes arrivals and returns what they leave of the queue. Index inbox_by_id.
func (t *tx) observe(n int64, ids []string) (seen queued, err error) {
	for _, id := range ids {
		var signal, size int64
		open, err := t.row(`SELECT kind = 'signal', length(payload) FROM inbox WHERE run = ? AND id = ? AND open = 1`, []any{n, id}, &signal, &size)
		if err == nil && open {
			_, err = t.exec(`UPDATE inbox SET open = 0, payload = x'' WHERE run = ? AND id = ?`, n, id)
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
func (t *tx) publish(n int64, p journal.Published) error {
	_, err := t.exec(`INSERT INTO published (run, key, value, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (run, key) DO UPDATE SET value = excluded.value, at = excluded.at`, n, p.Key, blob(p.Value), micro(t.now))
	return err
}

// release moves the run to its next state and gives the lease up. A run that would wait while
// something from outside has not been seen is ready instead.
func (t *tx) release(r *leasedRun, next journal.Transition, seen queued, digest []byte) error {
	r.State = next.State
	if next.State == journal.Waiting && r.mailPos > next.SeenPos {
		r.State = journal.Ready
	}
	now := micro(t.now)
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
	_, err := t.exec(`UPDATE runs SET state = ?, released_by = ?, owner = '', attempts = CASE WHEN ? THEN attempts ELSE 0 END, reason = ?, waiting = ?,
			next_seq = ?, inbox_pos = ?, queued = queued - ?, queued_bytes = queued_bytes - ?, due_at = ?, updated_at = ?, finished_at = ? WHERE n = ?`,
		r.State, digest, next.KeepAttempts, forPeople(next.Reason), waiting, r.NextSeq, r.inboxPos, seen.count, seen.bytes, due, now, finished, r.n)
	if err == nil && r.State.Terminal() {
		err = t.putResult(r.n, next.Output, next.Failure)
	}
	return err
}

// putResult stores how a run ended.
func (t *tx) putResult(n int64, output, failure []byte) error {
	_, err := t.exec(`INSERT INTO results (run, output, failure) VALUES (?, ?, ?)`, n, blob(output), blob(failure))
	return err
}
