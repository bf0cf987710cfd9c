// Package payload owns the stored form of large payloads: they stand in a table of their own, named by the SHA-256 of
// their bytes and compressed, and the rows that have them hold the digest. It knows no database; the stores call it
// before they write and after they read.
package payload

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"reprise/journal"
)

// Inline is the size of the largest payload that stands in its row. A larger one costs a row elsewhere and a second
// query when it is read, which is little beside its own bytes.
const Inline = 64 << 10

// Grace is how long a payload is kept after it was named, before anybody looks whether a row still names it. It is
// longer than a statement may last: one that has found a payload there, and has not committed, is not overtaken.
const Grace = 10 * time.Minute

// Codec says how the bytes of a payload are stored.
type Codec int16

// The codecs.
const (
	Plain Codec = 0 // as they are, since they do not get shorter
	Zstd  Codec = 1
)

// Packed is a payload as it is stored.
type Packed struct {
	Digest []byte // SHA-256 of the payload
	Size   int64  // of the payload
	Codec  Codec
	Bytes  []byte
}

// Large says whether a payload stands out of line.
func Large(b []byte) bool { return len(b) > Inline }

// Digest names a payload.
func Digest(b []byte) []byte {
	d := sha256.Sum256(b)
	return d[:]
}

// One of each for the process: both are safe for concurrent use and keep buffers between calls.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		// Without Write the encoder starts no goroutine; one at a time, since callers are many.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // an option is wrong
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		// Damaged bytes may claim any size: nothing beyond the buffer that is given is written.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // an option is wrong
		}
		return d
	})
)

// Pack gives the stored form of a payload.
func Pack(b []byte) Packed {
	p := Packed{Digest: Digest(b), Size: int64(len(b)), Codec: Plain, Bytes: b}
	if z := encoder().EncodeAll(b, make([]byte, 0, len(b)/2)); len(z) < len(b) {
		p.Codec, p.Bytes = Zstd, z
	}
	return p
}

// maxSize is more than any payload has, so that a damaged size takes no memory.
const maxSize = 1 << 30

// Unpack gives the payload of its stored form. Returns journal.ErrPayload when that is not what was packed.
func Unpack(p Packed) ([]byte, error) {
	b := p.Bytes
	switch {
	case p.Size < 0 || p.Size > maxSize:
		return nil, damaged(p.Digest, fmt.Sprintf("its size is %d", p.Size))
	case p.Codec == Zstd:
		var err error
		if b, err = decoder().DecodeAll(p.Bytes, make([]byte, 0, p.Size)); err != nil {
			return nil, damaged(p.Digest, err.Error())
		}
	case p.Codec != Plain:
		return nil, damaged(p.Digest, fmt.Sprintf("codec %d is unknown", p.Codec))
	}
	if int64(len(b)) != p.Size || string(Digest(b)) != string(p.Digest) {
		return nil, damaged(p.Digest, fmt.Sprintf("its %d bytes are not the %d that it is named after", len(b), p.Size))
	}
	return b, nil
}

func damaged(digest []byte, why string) error {
	return fmt.Errorf("payload sha256:%x: %s: %w", digest, why, journal.ErrPayload)
}

// Missing is the error of a payload that a row names and that is not there.
func Missing(digest []byte) error { return damaged(digest, "the store does not have it") }

// Set holds the large payloads of one write, each once.
type Set struct {
	Packed []Packed
	known  map[span]int // index in Packed
}

// span is a byte string in memory, by where it is: hashing it once is enough.
type span struct {
	first *byte
	n     int
}

// Put packs a payload, unless it is small, which is nil, or there. b must not change as long as the set is in use.
func (s *Set) Put(b []byte) *Packed {
	if !Large(b) {
		return nil
	}
	at := span{&b[0], len(b)}
	if i, ok := s.known[at]; ok {
		return &s.Packed[i]
	}
	if s.known == nil {
		s.known = map[span]int{}
	}
	digest := Digest(b)
	for i, p := range s.Packed {
		if string(p.Digest) == string(digest) {
			s.known[at] = i
			return &s.Packed[i]
		}
	}
	s.known[at] = len(s.Packed)
	s.Packed = append(s.Packed, Pack(b))
	return &s.Packed[len(s.Packed)-1]
}

// Wanted gathers fields that hold digests, until they are replaced by what the digests name.
type Wanted struct {
	fields  []*[]byte
	digests [][]byte
}

// Add notes a field, if it is large; it must not move before Fill.
func (w *Wanted) Add(field *[]byte, large bool) {
	if !large {
		return
	}
	w.fields = append(w.fields, field)
	for _, d := range w.digests {
		if string(d) == string(*field) {
			return
		}
	}
	w.digests = append(w.digests, *field)
}

// Digests are the payloads to read, each once.
func (w *Wanted) Digests() [][]byte { return w.digests }

// Fill replaces the digests by the payloads. Fields whose payload is not found, or damaged, become nil, and the
// error wraps journal.ErrPayload. Fields with the same payload share its bytes.
func (w *Wanted) Fill(found []Packed) (err error) {
	have := make(map[string][]byte, len(found))
	for _, p := range found {
		b, perr := Unpack(p)
		if perr != nil {
			err = perr
			continue
		}
		have[string(p.Digest)] = b
	}
	for _, field := range w.fields {
		b, ok := have[string(*field)]
		if !ok && err == nil {
			err = Missing(*field)
		}
		*field = b
	}
	return err
}
