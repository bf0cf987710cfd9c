package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
)

// normalise gives a batch in the form in which it is stored, so that what is read back can be compared
// with it: times in microseconds, of each id and key only the last value, of the transition only
// the fields that its state has. It refuses what no state of the database could accept.
func normalise(b journal.Batch) (journal.Batch, error) {
	es := make([]journal.Entry, len(b.Entries))
	for i, e := range b.Entries {
		if e.Seq != b.Entries[0].Seq+int64(i) || e.Seq < 0 {
			return b, fmt.Errorf("entry %d of the batch has seq %d, which is not dense: %w", i, e.Seq, journal.ErrConflict)
		}
		e.At = micros(e.At)
		es[i] = e
	}
	b.Entries = es
	var err error
	if b.Stash, err = lastStash(b.Stash); err != nil {
		return b, err
	}
	b.Published = lastPublished(b.Published)
	if c := b.Checkpoint; c != nil && len(c.Packed) > journal.MaxCheckpoint {
		return b, fmt.Errorf("a checkpoint of %d bytes, more than %d: %w", len(c.Packed), journal.MaxCheckpoint, journal.ErrQuota)
	}
	if b.Next == nil {
		return b, nil
	}
	if b.Next.State.Terminal() {
		b.Checkpoint = nil
	}
	n := *b.Next
	if n.State == journal.Running || !journal.Running.Can(n.State) {
		return b, fmt.Errorf("transition from running to %.40q: %w", n.State, journal.ErrState)
	}
	if n.State != journal.Waiting {
		n.SeenPos, n.WakeAt, n.Waiting = 0, time.Time{}, ""
	}
	if n.State != journal.Blocked && n.State != journal.Failed {
		n.Reason = ""
	}
	if n.State != journal.Completed {
		n.Output = nil
	}
	if n.State != journal.Failed && n.State != journal.Cancelled {
		n.Failure = nil
	}
	n.WakeAt, n.Waiting, n.Reason = micros(n.WakeAt), people(n.Waiting), people(n.Reason)
	b.Next = &n
	return b, nil
}

func lastStash(as []journal.Arrival) ([]journal.Arrival, error) {
	last := make(map[string]int, len(as))
	for i, a := range as {
		if a.Kind != journal.ArrivalDone && a.Kind != journal.ArrivalRetry && a.Kind != journal.ArrivalChild {
			return nil, fmt.Errorf("stash %q is of kind %.40q: only done, retry and child come from an owner", a.ID, a.Kind)
		}
		last[a.ID] = i
	}
	var out []journal.Arrival
	for i, a := range as {
		if last[a.ID] == i {
			a.RetryAt = micros(a.RetryAt)
			out = append(out, a)
		}
	}
	return out, nil
}

func lastPublished(ps []journal.Published) []journal.Published {
	last := make(map[string]int, len(ps))
	for i, p := range ps {
		last[p.Key] = i
	}
	var out []journal.Published
	for i, p := range ps {
		if last[p.Key] == i {
			out = append(out, p)
		}
	}
	return out
}

// releaseHash identifies a normalised batch that gives up its lease, so that a repeat is recognised
// by what it says. Zero is no hash.
func releaseHash(l journal.Lease, b journal.Batch) int64 {
	n := b.Next
	if n == nil {
		return 0
	}
	h := hasher{sha256.New()}
	h.text(l.Node)
	h.number(int64(len(b.Entries)))
	for _, e := range b.Entries {
		h.number(e.Seq, int64(e.Op), int64(e.Status), int64(e.Issued), int64(e.Trail), e.At.UnixMicro())
		h.text(string(e.Kind), e.Name)
		h.bytes(e.Request, e.Options, e.Payload)
	}
	h.number(int64(len(b.Stash)))
	for _, a := range b.Stash {
		h.number(int64(a.Op), int64(a.Status), int64(a.Attempt), a.RetryAt.UnixMicro())
		h.text(a.ID, string(a.Kind), a.Name)
		h.bytes(a.Payload)
	}
	h.number(int64(len(b.Observed)))
	h.text(b.Observed...)
	h.number(int64(len(b.Published)))
	for _, p := range b.Published {
		h.text(p.Key)
		h.bytes(p.Value)
	}
	h.number(n.SeenPos, n.WakeAt.UnixMicro())
	h.text(string(n.State), n.Waiting, n.Reason, strconv.FormatBool(n.KeepAttempts))
	h.bytes(n.Output, n.Failure)
	return int64(binary.LittleEndian.Uint64(h.Sum(nil)) | 1)
}

// hasher hashes values so that no two lists of values give the same bytes.
type hasher struct{ hash.Hash }

func (h hasher) number(ns ...int64) {
	var b [8]byte
	for _, n := range ns {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
}

func (h hasher) bytes(bs ...[]byte) {
	for _, b := range bs {
		h.number(int64(len(b)))
		h.Write(b)
	}
}

func (h hasher) text(ss ...string) {
	for _, s := range ss {
		h.bytes([]byte(s))
	}
}

// weight is about how many bytes a batch adds to a statement.
func weight(b journal.Batch) int {
	n := 256
	for _, e := range b.Entries {
		n += 128 + len(e.Name) + len(e.Request) + len(e.Options) + len(e.Payload)
	}
	for _, a := range b.Stash {
		n += 64 + len(a.Payload)
	}
	for _, p := range b.Published {
		n += 64 + len(p.Key) + len(p.Value)
	}
	if b.Next != nil {
		n += len(b.Next.Output) + len(b.Next.Failure)
	}
	if b.Checkpoint != nil {
		n += len(b.Checkpoint.Packed)
	}
	return n
}

// micros cuts a time to what the database keeps.
func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// people makes text for people storable: Postgres refuses NUL and what is not UTF-8.
func people(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// nullTime is NULL for the zero time.
func nullTime(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func fromTime(t pgtype.Timestamptz) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

func uuidOf(id journal.RunID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }
