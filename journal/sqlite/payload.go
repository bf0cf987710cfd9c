package sqlite

import (
	"context"
	"errors"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Places of a payload's name, as in the schema.
const (
	placeKept = iota
	placeInbox
	placePublished
)

// keeper puts large payloads of one run out of line, each once.
type keeper struct {
	*tx
	owner tenant.ID
	run   int64
	set   *payload.Set // what was packed before the transaction, in which others wait
}

// pack packs the large payloads of a batch.
func pack(b journal.Batch) *payload.Set {
	s := &payload.Set{}
	for _, e := range b.Entries {
		s.Put(e.Request)
		s.Put(e.Payload)
	}
	for _, a := range b.Stash {
		s.Put(a.Payload)
	}
	for _, p := range b.Published {
		s.Put(p.Value)
	}
	if b.Next != nil {
		s.Put(b.Next.Output)
		s.Put(b.Next.Failure)
		if b.Next.Successor != nil {
			s.Put(b.Next.Successor.Input)
		}
	}
	for _, c := range b.Children {
		s.Put(c.Input)
	}
	return s
}

func packOne(b []byte) *payload.Set {
	s := &payload.Set{}
	s.Put(b)
	return s
}

// held gives what a row holds for a payload, and whether it is a digest. id names the row in its place. After an error nothing
// more may be written: SQLite may have ended the transaction, as it does when the disk is full.
func (k *keeper) held(b []byte, place int, id string) (held []byte, large bool, err error) {
	if !payload.Large(b) {
		return blob(b), false, nil
	}
	p := k.set.Put(b)
	if err := k.keep(p, place, id); err != nil {
		return nil, false, fmt.Errorf("store payload: %w", err)
	}
	return p.Digest, true, nil
}

// keep stores a payload unless it is there, and names it. It is looked at again later, whether rows still name it.
// The unique index on (tenant, digest).
func (k *keeper) keep(p *payload.Packed, place int, id string) error {
	var n int64
	check := micro(k.now.Add(payload.Grace))
	known, err := k.row(`UPDATE payloads SET check_at = coalesce(check_at, ?) WHERE tenant = ? AND digest = ? RETURNING n`, []any{check, k.owner, p.Digest}, &n)
	if err != nil {
		return err
	}
	if !known {
		_, err := k.row(`INSERT INTO payloads (tenant, digest, size, codec, check_at) VALUES (?, ?, ?, ?, ?) RETURNING n`,
			[]any{k.owner, p.Digest, p.Size, p.Codec, check}, &n)
		if err == nil {
			_, err = k.exec(`INSERT INTO payload_bytes (payload, bytes) VALUES (?, ?)`, n, blob(p.Bytes))
		}
		if err != nil {
			return err
		}
	}
	_, err = k.exec(`INSERT OR IGNORE INTO payload_names (payload, place, run, id) VALUES (?, ?, ?, ?)`, n, place, k.run, id)
	return err
}

// fill replaces digests by what they name, by the unique index on (tenant, digest). Returns journal.ErrPayload when one is
// missing or damaged, and leaves out its field.
func (c *conn) fill(t tenant.ID, w *payload.Wanted) error {
	var found []payload.Packed
	for _, digest := range w.Digests() {
		p := payload.Packed{Digest: digest}
		there, err := c.row(`SELECT p.size, p.codec, b.bytes FROM payloads p JOIN payload_bytes b ON b.payload = p.n WHERE p.tenant = ? AND p.digest = ?`,
			[]any{t, digest}, &p.Size, &p.Codec, &p.Bytes)
		if err != nil {
			return err
		}
		if there {
			found = append(found, p)
		}
	}
	return w.Fill(found)
}

// rereads is how often a read begins again when a payload is missing: a row may have been given another payload, or been pruned,
// between the query of the row and that of the payload.
const rereads = 3

// readWhole is read for what may have large payloads.
func (s *Store) readWhole(ctx context.Context, do func(*conn) error) (err error) {
	for range rereads {
		if err = s.read(ctx, do); !errors.Is(err, journal.ErrPayload) {
			return err
		}
	}
	return err
}
