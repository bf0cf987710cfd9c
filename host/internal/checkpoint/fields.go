package checkpoint

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Writer appends fields. The same values always give the same bytes.
type Writer struct{ b []byte }

// Fields returns what was written.
func (w *Writer) Fields() []byte { return w.b }

// Uint writes a number without a sign.
func (w *Writer) Uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// Int writes a number with a sign.
func (w *Writer) Int(v int64) { w.b = binary.AppendVarint(w.b, v) }

// Bool writes one byte.
func (w *Writer) Bool(v bool) {
	var n byte
	if v {
		n = 1
	}
	w.b = append(w.b, n)
}

// Bytes writes the length and the bytes.
func (w *Writer) Bytes(b []byte) {
	w.Uint(uint64(len(b)))
	w.b = append(w.b, b...)
}

// String writes a string as Bytes does.
func (w *Writer) String(s string) {
	w.Uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// Words writes their number and the words.
func (w *Writer) Words(words []uint64) {
	w.Uint(uint64(len(words)))
	for _, v := range words {
		w.Uint(v)
	}
}

// Time writes an instant; the zero time is one.
func (w *Writer) Time(t time.Time) {
	if w.Bool(!t.IsZero()); !t.IsZero() {
		w.Int(t.Unix())
		w.Uint(uint64(t.Nanosecond()))
	}
}

// Reader reads fields in the order in which they were written. Its first error sticks, and what is read behind it is zero.
// Nothing that it makes is larger than the bytes that it was given.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads fields.
func NewReader(fields []byte) *Reader { return &Reader{b: fields} }

// Done returns nil when all fields were read and nothing is left, else ErrNoUse.
func (r *Reader) Done() error {
	if r.err == nil && len(r.b) > 0 {
		r.Fail("%d bytes are left", len(r.b))
	}
	return r.err
}

// Err returns nil, or ErrNoUse.
func (r *Reader) Err() error { return r.err }

// Fail says that what was read makes no sense.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrNoUse, fmt.Sprintf(format, args...))
	}
	r.b = nil
}

// Uint reads a number without a sign.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.Fail("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Int reads a number with a sign.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.Fail("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Within reads a number with a sign that must be from least to most.
func (r *Reader) Within(least, most int64) int64 {
	v := r.Int()
	if r.err == nil && (v < least || v > most) {
		r.Fail("%d is not between %d and %d", v, least, most)
	}
	if r.err != nil {
		return 0
	}
	return v
}

// Bool reads one byte, 0 or 1.
func (r *Reader) Bool() bool {
	if len(r.b) == 0 || r.b[0] > 1 {
		r.Fail("a truth value is none")
		return false
	}
	v := r.b[0] == 1
	r.b = r.b[1:]
	return v
}

// Bytes reads bytes, which it does not copy; nil when there are none.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.b)) {
		r.Fail("%d bytes of %d", n, len(r.b))
		return nil
	}
	if n == 0 {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// String reads a string.
func (r *Reader) String() string { return string(r.Bytes()) }

// Count reads how many elements follow, of which each takes least bytes or more.
func (r *Reader) Count(least int) int {
	n := r.Uint()
	if n > uint64(len(r.b)/least) {
		r.Fail("%d elements in %d bytes", n, len(r.b))
		return 0
	}
	return int(n)
}

// Words reads what Words wrote.
func (r *Reader) Words() []uint64 {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = r.Uint()
	}
	return words
}

// Time reads an instant, in UTC.
func (r *Reader) Time() time.Time {
	if !r.Bool() {
		return time.Time{}
	}
	s, ns := r.Int(), r.Uint()
	if ns >= uint64(time.Second) || s < -1<<40 || s > 1<<40 {
		r.Fail("an instant is none")
		return time.Time{}
	}
	return time.Unix(s, int64(ns)).UTC()
}
