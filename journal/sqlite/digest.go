package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"reprise/journal"
)

// digester names content. Each part goes in with its length, so that no two contents run into one, and
// times as they are stored, so that what comes again as it was read is the same.
type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) bytes(parts ...[]byte) {
	for _, p := range parts {
		d.ints(int64(len(p)))
		d.Write(p)
	}
}

func (d digester) ints(ns ...int64) {
	for _, n := range ns {
		d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

// arrivalDigest names what a sender or owner said; where and when the arrival was put is not in it.
func arrivalDigest(a journal.Arrival) []byte {
	d := newDigester()
	d.arrival(a)
	return d.Sum(nil)
}

func (d digester) arrival(a journal.Arrival) {
	d.bytes([]byte(a.ID), []byte(a.Kind), []byte(a.Name), a.Payload)
	d.ints(int64(a.Op), int64(a.Status), int64(a.Attempt), micro(a.RetryAt))
}

// releaseDigest names a batch that gives up its lease, so that the batch is known when it comes again.
func releaseDigest(b journal.Batch) []byte {
	d := newDigester()
	d.ints(int64(len(b.Entries)), int64(len(b.Stash)), int64(len(b.Observed)), int64(len(b.Published)))
	for _, e := range b.Entries {
		d.bytes([]byte(e.Kind), []byte(e.Name), e.Request, e.Options, e.Payload)
		d.ints(e.Seq, int64(e.Op), int64(e.Status), int64(e.Issued), int64(e.Trail), micro(e.At))
	}
	for _, a := range b.Stash {
		d.arrival(a)
	}
	for _, id := range b.Observed {
		d.bytes([]byte(id))
	}
	for _, p := range b.Published {
		d.bytes([]byte(p.Key), p.Value)
	}
	keep := int64(0)
	if b.Next.KeepAttempts {
		keep = 1
	}
	d.bytes([]byte(b.Next.State), []byte(b.Next.Waiting), []byte(b.Next.Reason), b.Next.Output, b.Next.Failure)
	d.ints(b.Next.SeenPos, microUp(b.Next.WakeAt), keep)
	return d.Sum(nil)
}
