package binary

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over the bytes from pos to end of a file. The first error sticks: every later read gives
// zero, so that a decoder checks once for a group of reads. It must check before it loops over a count.
type reader struct {
	file     []byte
	pos, end int
	section  string
	err      *Error
	// refs hears of every function index outside of code, when it is not nil.
	refs func(start, end int, index uint32)
	// used are the figures of the module that is decoded, nil when a module is read again.
	used *[boundCount]figure
	// unbounded leaves the bounds out of what the module may declare.
	unbounded bool
}

func (r *reader) left() int { return r.end - r.pos }

func (r *reader) fail(at int, code, fix, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Code: code, What: fmt.Sprintf(format, args...), Section: r.section, Offset: at, Fix: fix}
	}
	r.pos = r.end
}

const fixTruncated = "build or copy the file again: it looks cut or damaged"

func (r *reader) truncated(what string) {
	r.fail(r.pos, "truncated", fixTruncated, "the bytes end inside %s", what)
}

func (r *reader) malformed(at int, format string, args ...any) {
	r.fail(at, "malformed", "build the module again with a current toolchain, and check it with wasm-validate", format, args...)
}

func (r *reader) byte(what string) byte {
	if r.left() < 1 {
		r.truncated(what)
		return 0
	}
	b := r.file[r.pos]
	r.pos++
	return b
}

func (r *reader) skip(n int, what string) {
	if n < 0 || n > r.left() {
		r.truncated(what)
		return
	}
	r.pos += n
}

// u32 reads an unsigned LEB128 of at most 5 bytes and 32 bits.
func (r *reader) u32(what string) uint32 {
	if r.pos < r.end && r.file[r.pos] < 0x80 { // most numbers in code
		r.pos++
		return uint32(r.file[r.pos-1])
	}
	return r.longU32(what)
}

func (r *reader) longU32(what string) uint32 {
	at := r.pos
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte(what)
		if r.err != nil {
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.malformed(at, "%s is not a 32-bit number", what)
	return 0
}

// funcIndex reads the index of a function.
func (r *reader) funcIndex(what string) uint32 {
	at := r.pos
	index := r.u32(what)
	if r.refs != nil && r.err == nil {
		r.refs(at, r.pos, index)
	}
	return index
}

// leb skips a signed or unsigned LEB128 of at most n bytes.
func (r *reader) leb(n int, what string) {
	if r.pos < r.end && r.file[r.pos] < 0x80 {
		r.pos++
		return
	}
	at := r.pos
	for range n {
		if b := r.byte(what); b < 0x80 {
			return
		}
	}
	r.malformed(at, "%s is a number of more than %d bytes", what, n)
}

// s33 reads a signed LEB128 of at most 5 bytes: a block's type.
func (r *reader) s33(what string) BlockType {
	at := r.pos
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte(what)
		if r.err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			unused := 64 - shift - 7
			return BlockType(v << unused >> unused)
		}
	}
	r.malformed(at, "%s is a number of more than 5 bytes", what)
	return 0
}

// count reads the number of elements of a vector whose elements take at least each bytes. A number that
// the bytes left cannot hold is refused here, before anybody allocates by it.
func (r *reader) count(limit, each int, what string) int {
	at := r.pos
	n := r.u32(what)
	if r.err != nil {
		return 0
	}
	if int64(n) > int64(limit) {
		r.fail(at, "too_many", "split the module or remove what it does not need", "the number of %s is %d, more than %d", what, n, limit)
		return 0
	}
	if int64(n)*int64(each) > int64(r.left()) {
		r.fail(at, "truncated", fixTruncated, "the number of %s is %d, more than the %d bytes left can hold", what, n, r.left())
		return 0
	}
	return int(n)
}

// name reads a length and that many bytes of UTF-8. The string is a copy.
func (r *reader) name(what string) string {
	n := r.count(len(r.file), 1, "bytes of "+what)
	b := r.file[r.pos : r.pos+n]
	if !utf8.Valid(b) {
		r.malformed(r.pos, "%s is not UTF-8", what)
		return ""
	}
	r.pos += n
	return string(b)
}

// within gives a reader over the next n bytes and moves behind them.
func (r *reader) within(n int) *reader {
	in := &reader{file: r.file, pos: r.pos, end: r.pos + n, section: r.section, refs: r.refs, used: r.used, unbounded: r.unbounded}
	r.pos += n
	return in
}
