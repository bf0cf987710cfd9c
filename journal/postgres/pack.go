package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Places of a payload's name, as in the schema.
const (
	placeKept int16 = iota
	placeInbox
	placePublished
)

// name says that a row of a run names a payload.
type name struct {
	digest []byte
	place  int16
	id     string
}

// packed holds the large payloads of one batch. Nil when it has none.
type packed struct {
	payload.Set
	names []name
}

// pack packs a batch's large payloads, in the goroutine of the call: a writer has others to serve.
func pack(b journal.Batch) (p *packed) {
	put := func(b []byte, place int16, id string) {
		if !payload.Large(b) {
			return
		}
		if p == nil {
			p = &packed{}
		}
		p.names = append(p.names, name{p.Put(b).Digest, place, id})
	}
	for _, e := range b.Entries {
		put(e.Request, placeKept, "")
		put(e.Payload, placeKept, "")
	}
	for _, a := range b.Stash {
		put(a.Payload, placeInbox, a.ID)
	}
	for _, v := range b.Published {
		put(v.Value, placePublished, v.Key)
	}
	if b.Next != nil {
		put(b.Next.Output, placeKept, "")
		put(b.Next.Failure, placeKept, "")
	}
	return p
}

// held is what a row holds for one of the batch's payloads.
func (p *packed) held(b []byte) []byte {
	if !payload.Large(b) {
		return b
	}
	return p.Put(b).Digest
}

// The part of a statement that stores payloads. p are payloads, named is what rows name them that the statement writes. What
// is there already is locked against the sweeper, in the mode that others may share, and looked at again later. Runs are
// locked before payloads, and payloads are inserted in one order, so that no two statements wait for each other.
// Primary key of payloads.
//
// A payload that another statement has inserted since this one began is not locked here. It is not swept either, before
// payload.Grace has passed.
const storePayloads = `
known AS MATERIALIZED (
  SELECT x.tenant, x.digest, x.check_at IS NULL AS rests
  FROM p JOIN reprise.payloads x ON x.tenant = p.tenant AND x.digest = p.digest
  FOR KEY SHARE OF x
),
woken AS (
  UPDATE reprise.payloads x SET check_at = clock.now + p.grace
  FROM p JOIN known k USING (tenant, digest) CROSS JOIN clock
  WHERE x.tenant = p.tenant AND x.digest = p.digest AND k.rests AND x.check_at IS NULL
),
stored AS (
  INSERT INTO reprise.payloads (tenant, digest, size, codec, bytes, check_at)
  SELECT p.tenant, p.digest, p.size, p.codec, p.bytes, clock.now + p.grace
  FROM p CROSS JOIN clock
  WHERE (p.tenant, p.digest) IN (SELECT named.tenant, named.digest FROM named)
    AND (p.tenant, p.digest) NOT IN (SELECT known.tenant, known.digest FROM known)
  ORDER BY p.tenant, p.digest
  ON CONFLICT DO NOTHING
),
names AS (
  INSERT INTO reprise.payload_names (tenant, digest, place, run, id)
  SELECT named.tenant, named.digest, named.place, named.run, named.id FROM named
  ON CONFLICT DO NOTHING
)`

// Primary key.
const payloadsSQL = `SELECT p.digest, p.size, p.codec, p.bytes FROM reprise.payloads p WHERE p.tenant = $1 AND p.digest = ANY ($2)`

// fill replaces digests by what they name; no query when there are none. Returns journal.ErrPayload when one is missing or
// damaged, and leaves out its field.
func (s *Store) fill(ctx context.Context, q querier, t tenant.ID, w *payload.Wanted) error {
	if len(w.Digests()) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, s.in(payloadsSQL), string(t), w.Digests())
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p payload.Packed, err error) {
		err = row.Scan(&p.Digest, &p.Size, &p.Codec, &p.Bytes)
		return p, err
	})
	if err != nil {
		return err
	}
	return w.Fill(found)
}

// rereads is how often a read begins again when a payload is missing: a row may have been given another payload, or been pruned,
// between the query of the row and that of the payload.
const rereads = 3

// read runs a query until it is answered.
func (s *Store) read(ctx context.Context, do func(ctx context.Context) error) (err error) {
	for range rereads {
		if err = s.retry(ctx, true, do); !errors.Is(err, journal.ErrPayload) {
			return err
		}
	}
	return err
}
