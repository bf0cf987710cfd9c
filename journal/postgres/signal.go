package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

const signalPrefix = "signal:"

// Primary keys of runs and inbox; index inbox_open for the count, which is only taken when the run has
// had as many arrivals as may wait. Two senders of one id that do not see each other meet at the
// primary key of inbox, and the second one's whole statement is undone: a position is never left empty.
const signalText = `
WITH clock AS MATERIALIZED (SELECT reprise.reprise_now() AS now),
run AS (
  UPDATE reprise.runs r SET
    inbox_pos = r.inbox_pos + 1,
    mail_pos = r.inbox_pos + 1,
    queued_bytes = r.queued_bytes + {$9|octet_length($5::bytea)},
    updated_at = clock.now,
    state = CASE WHEN r.state = 'waiting' THEN 'ready' ELSE r.state END,
    wake_at = CASE WHEN r.state = 'waiting' THEN clock.now ELSE r.wake_at END,
    waiting = CASE WHEN r.state = 'waiting' THEN '' ELSE r.waiting END
  FROM clock
  WHERE r.tenant = $1 AND r.id = $2 AND r.finished_at IS NULL
    AND NOT EXISTS (SELECT FROM reprise.inbox i WHERE i.tenant = r.tenant AND i.run = r.no AND i.id = $3)
    AND r.queued_bytes + {$9|octet_length($5::bytea)} <= $8
    AND (r.inbox_pos < $6 OR $6 > (
      SELECT count(*) FROM reprise.inbox i WHERE i.tenant = r.tenant AND i.run = r.no AND i.open AND i.kind = 'signal'))
  RETURNING r.no, r.inbox_pos
){,
p AS MATERIALIZED (SELECT $1::text AS tenant, $5::bytea AS digest, $9::bigint AS size, $10::smallint AS codec, $11::bytea AS bytes, $12::interval AS grace),
named AS MATERIALIZED (SELECT $1::text AS tenant, run.no AS run, $5::bytea AS digest, 1::smallint AS place, $3::bytea AS id FROM run),` +
	storePayloads + `}
INSERT INTO reprise.inbox (tenant, run, id, pos, kind, op, name, payload_held, at{, payload_large})
SELECT $1, run.no, $3, run.inbox_pos, 'signal', $7, $4, $5, clock.now{, true} FROM run, clock`

// Of a large payload $5 is the digest.
var (
	signalSQL      = choose(false, signalText)
	signalLargeSQL = choose(true, signalText)
)

// Primary keys of runs and inbox, index inbox_open. A payload that is large and was written before such payloads stood out of line
// is compared by its digest. Of a large payload $5 is the digest, and $6 true.
const explainSignalSQL = `
SELECT r.finished_at IS NOT NULL, i.id IS NOT NULL, coalesce(i.name = $4 AND CASE
    WHEN i.payload_large = $6 THEN coalesce(i.payload_held, '') = $5
    WHEN $6 THEN sha256(i.payload_held) = $5
    ELSE false END, false), (
  SELECT count(*) FROM reprise.inbox q WHERE q.tenant = r.tenant AND q.run = r.no AND q.open AND q.kind = 'signal'), r.queued_bytes
FROM reprise.runs r LEFT JOIN reprise.inbox i ON i.tenant = r.tenant AND i.run = r.no AND i.id = $3
WHERE r.tenant = $1 AND r.id = $2`

// Signal implements journal.Inbox.
func (s *Store) Signal(ctx context.Context, t tenant.ID, run journal.RunID, id, name string, payload []byte) (duplicate bool, err error) {
	durable.SignalBefore.Hit()
	err = s.retry(ctx, true, func(ctx context.Context) error {
		duplicate, err = s.signalOnce(ctx, t, run, id, name, payload)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("signal %q to run %s: %w", id, run, err)
	}
	durable.SignalAfter.Hit()
	s.tell() // also of a duplicate: it may be this call's own, whose first answer was lost
	return duplicate, nil
}

func (s *Store) signalOnce(ctx context.Context, t tenant.ID, run journal.RunID, id, name string, b []byte) (duplicate bool, err error) {
	if b == nil {
		b = []byte{}
	}
	key := []byte(signalPrefix + id)
	sql, held, large := signalSQL, b, payload.Large(b)
	args := []any{string(t), uuidOf(run), key, []byte(name), held, int64(journal.MaxQueued), journal.NoOp, int64(journal.MaxQueuedBytes)}
	if large {
		p := payload.Pack(b)
		sql, held = signalLargeSQL, p.Digest
		args[4] = held
		args = append(args, p.Size, int16(p.Codec), p.Bytes, payload.Grace)
	}
	for range maxTries {
		tag, err := s.pool.Exec(ctx, s.in(sql), args...)
		if err != nil && !isState(err, uniqueViolation) {
			return false, err
		}
		if err == nil && tag.RowsAffected() == 1 {
			return false, nil
		}
		var ended, there, same bool
		var queued, bytes int64
		err = s.pool.QueryRow(ctx, s.in(explainSignalSQL), string(t), uuidOf(run), key, []byte(name), held, large).Scan(&ended, &there, &same, &queued, &bytes)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return false, journal.ErrNotFound
		case err != nil:
			return false, err
		case there && same:
			return true, nil
		case there:
			return false, fmt.Errorf("the id was taken with another name or payload: %w", journal.ErrConflict)
		case ended:
			return false, fmt.Errorf("the run has ended: %w", journal.ErrState)
		case queued >= journal.MaxQueued:
			return false, fmt.Errorf("%d signals wait: %w", queued, journal.ErrQuota)
		case bytes+int64(len(b)) > journal.MaxQueuedBytes:
			return false, fmt.Errorf("signals of %d bytes wait: %w", bytes, journal.ErrQuota)
		}
	}
	return false, fmt.Errorf("other signals keep coming first: %w", journal.ErrQuota)
}
