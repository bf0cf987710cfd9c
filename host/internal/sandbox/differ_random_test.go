//go:build !race

package sandbox

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	wasm "reprise/modules/binary"
)

// signatures are those of all numeric instructions, each a range of opcodes: parameters, then the result. The prefix 0xfc
// has the opcodes from 0xfc00 on.
var signatures = []struct {
	first, last int
	types       string // i, l, f, d for i32, i64, f32, f64
}{
	{0x45, 0x45, "ii"}, {0x46, 0x4f, "iii"}, {0x50, 0x50, "li"}, {0x51, 0x5a, "lli"}, {0x5b, 0x60, "ffi"}, {0x61, 0x66, "ddi"},
	{0x67, 0x69, "ii"}, {0x6a, 0x78, "iii"}, {0x79, 0x7b, "ll"}, {0x7c, 0x8a, "lll"}, {0x8b, 0x91, "ff"}, {0x92, 0x98, "fff"},
	{0x99, 0x9f, "dd"}, {0xa0, 0xa6, "ddd"}, {0xa7, 0xa7, "li"}, {0xa8, 0xa9, "fi"}, {0xaa, 0xab, "di"}, {0xac, 0xad, "il"},
	{0xae, 0xaf, "fl"}, {0xb0, 0xb1, "dl"}, {0xb2, 0xb3, "if"}, {0xb4, 0xb5, "lf"}, {0xb6, 0xb6, "df"}, {0xb7, 0xb8, "id"},
	{0xb9, 0xba, "ld"}, {0xbb, 0xbb, "fd"}, {0xbc, 0xbc, "fi"}, {0xbd, 0xbd, "dl"}, {0xbe, 0xbe, "if"}, {0xbf, 0xbf, "ld"},
	{0xc0, 0xc1, "ii"}, {0xc2, 0xc4, "ll"},
	{0xfc00, 0xfc01, "fi"}, {0xfc02, 0xfc03, "di"}, {0xfc04, 0xfc05, "fl"}, {0xfc06, 0xfc07, "dl"},
}

// mayTrap says whether an instruction has operands that it does not take.
func mayTrap(op int) bool {
	return op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}

// Loads and stores by the type of the value.
var (
	loads  = map[byte][]byte{'i': {0x28, 0x2c, 0x2d, 0x2e, 0x2f}, 'l': {0x29, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35}, 'f': {0x2a}, 'd': {0x2b}}
	stores = map[byte][]byte{'i': {0x36, 0x3a, 0x3b}, 'l': {0x37, 0x3c, 0x3d, 0x3e}, 'f': {0x38}, 'd': {0x39}}
	valueT = map[byte]byte{'i': 0x7f, 'l': 0x7e, 'f': 0x7d, 'd': 0x7c}
)

// Bit patterns at which arithmetic has its edges: zeros, ones, infinities, quiet and signalling NaNs with payloads, the
// smallest and largest numbers, and the bounds of integers.
var (
	edges32 = []uint32{0, 1 << 31, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fc12345, 0x7f812345, 0xff812345,
		1, 0x807fffff, 0x7f7fffff, 0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000, 0x40200000, 0xffffffff, 0x7fffffff, 2, 31}
	edges64 = []uint64{0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
		0xfff8000000000000, 0x7ff8000012345678, 0x7ff0000012345678, 0xfff0000012345678, 1, 0x7fefffffffffffff, 0x41e0000000000000,
		0xc3e0000000000000, 0x3fe0000000000000, 0x4004000000000000, 0x36a0000000000000, 0x47efffffe0000000, math.MaxUint64, math.MaxInt64, 2, 63}
)

const (
	ofType     = 8 // locals of each type: more than there are registers
	letters    = "ilfd"
	turnsLocal = 4 * ofType
)

// numeric writes a program of all numeric instructions, loads and stores, on values at the edges. What it computes is in its
// memory at the end.
type numeric struct {
	*rand.Rand
	code      []byte
	favourite int // an instruction that is there many times, and its types
	liked     string
}

func (g *numeric) put(b ...byte) { g.code = append(g.code, b...) }

// local is one of the locals of a type.
func (g *numeric) local(letter byte) byte {
	for i := range letters {
		if letters[i] == letter {
			return byte(i*ofType + g.IntN(ofType))
		}
	}
	panic("no such type")
}

func (g *numeric) get(letter byte) { g.put(0x20, g.local(letter)) }
func (g *numeric) set(letter byte) { g.put(0x21, g.local(letter)) }

func (g *numeric) constant(letter byte) {
	switch letter {
	case 'i':
		g.put(wasm.AppendInt([]byte{0x41}, int64(int32(edges32[g.IntN(len(edges32))])))...)
	case 'l':
		g.put(wasm.AppendInt([]byte{0x42}, int64(edges64[g.IntN(len(edges64))]))...)
	case 'f':
		g.put(binary.LittleEndian.AppendUint32([]byte{0x43}, edges32[g.IntN(len(edges32))])...)
	case 'd':
		g.put(binary.LittleEndian.AppendUint64([]byte{0x44}, edges64[g.IntN(len(edges64))])...)
	}
}

func (g *numeric) address() {
	g.get('i')
	g.put(0x41, 0xf8, 0x1f, 0x71) // i32.const 4088, i32.and
}

func (g *numeric) statement() {
	letter := letters[g.IntN(len(letters))]
	switch g.IntN(12) {
	case 0:
		g.constant(letter)
		g.set(letter)
	case 1:
		g.address()
		g.put(loads[letter][g.IntN(len(loads[letter]))], 0, 0)
		g.set(letter)
	case 2, 3:
		g.address()
		g.get(letter)
		g.put(stores[letter][g.IntN(len(stores[letter]))], 0, 0)
	case 4:
		g.get(letter)
		g.get(letter)
		g.get('i')
		g.put(0x1b) // select
		g.set(letter)
	case 5: // through a call, with values of every type
		g.get('i')
		g.get('l')
		g.get('f')
		g.get('d')
		g.put(0x10, 1)
		for i := range letters {
			g.set(letters[len(letters)-1-i])
		}
	default:
		g.instruction()
	}
}

// any is one of the numeric instructions.
func (g *numeric) any() (op int, types string) {
	s := signatures[g.IntN(len(signatures))]
	return s.first + g.IntN(s.last-s.first+1), s.types
}

func (g *numeric) instruction() {
	op, types := g.any()
	if g.IntN(2) == 0 {
		op, types = g.favourite, g.liked
	}
	if mayTrap(op) && g.IntN(10) > 0 {
		return
	}
	for i := range len(types) - 1 {
		g.get(types[i])
	}
	if op > 0xff {
		g.put(0xfc)
	}
	g.put(byte(op))
	g.set(types[len(types)-1])
}

// numericProgram is a random program.
func numericProgram(seed uint64) []byte {
	g := &numeric{Rand: rand.New(rand.NewPCG(seed, 11))}
	g.favourite, g.liked = g.any()
	g.put(byte(len(letters)+1), ofType, 0x7f, ofType, 0x7e, ofType, 0x7d, ofType, 0x7c, 1, 0x7f)
	for i := range 4 * ofType {
		g.constant(letters[i/ofType])
		g.put(0x21, byte(i))
	}
	g.put(0x41, 30, 0x21, turnsLocal, 0x03, 0x40) // 30 turns of a loop
	for range 60 {
		g.statement()
	}
	g.put(0x20, turnsLocal, 0x41, 1, 0x6b, 0x22, turnsLocal, 0x0d, 0, 0x0b)
	for i := range 4 * ofType { // all locals to memory
		g.put(wasm.AppendInt([]byte{0x41}, int64(8192+8*i))...)
		g.put(0x20, byte(i), stores[letters[i/ofType]][0], 0, 0)
	}
	return reactor(1, append(g.code, 0x41, 0, 0x0b))
}

// everyPair is a program that applies each instruction that does not trap to all pairs of edges, and keeps every result.
func everyPair() []byte {
	const (
		first, second, out = 0, 1, 2  // locals: addresses of the operands and of the result
		words              = 8 * 23   // bytes of the edges of 64 bits at 0; those of 32 bits follow
		results            = 64 << 10 // address of the first
	)
	g := &numeric{}
	g.put(1, 3, 0x7f)
	for i := range edges64 {
		g.put(wasm.AppendInt([]byte{0x41}, int64(8*i))...)
		g.put(append(wasm.AppendInt([]byte{0x42}, int64(edges64[i])), 0x37, 0, 0)...)
		g.put(wasm.AppendInt([]byte{0x41}, int64(words+8*i))...)
		g.put(append(wasm.AppendInt([]byte{0x41}, int64(int32(edges32[i]))), 0x36, 0, 0)...)
	}
	operand := func(letter, local byte) {
		offset := 0
		if letter == 'i' || letter == 'f' {
			offset = words
		}
		g.put(wasm.AppendUint([]byte{0x20, local, loads[letter][0], 0}, uint32(offset))...)
	}
	g.put(wasm.AppendInt([]byte{0x41}, results)...)
	g.put(0x21, out, 0x03, 0x40, 0x41, 0, 0x21, second, 0x03, 0x40)
	for _, s := range signatures {
		for op := s.first; op <= s.last; op++ {
			if mayTrap(op) {
				continue
			}
			g.put(0x20, out)
			operand(s.types[0], first)
			if len(s.types) == 3 {
				operand(s.types[1], second)
			}
			if op > 0xff {
				g.put(0xfc)
			}
			g.put(byte(op), stores[s.types[len(s.types)-1]][0], 0, 0)
			g.put(0x20, out, 0x41, 8, 0x6a, 0x21, out)
		}
	}
	for _, local := range []byte{second, first} { // to the next operand, and again until the last
		g.put(0x20, local, 0x41, 8, 0x6a, 0x22, local)
		g.put(append(wasm.AppendInt([]byte{0x41}, words), 0x48, 0x0d, 0, 0x0b)...)
	}
	return reactor(9, append(g.code, 0x41, 0, 0x0b))
}

// reactor is a module with a memory, the function reprise_run, and function 1, which gives what it takes: a value of each type.
func reactor(pages byte, run []byte) []byte {
	mirror := []byte{0, 0x20, 0, 0x20, 1, 0x20, 2, 0x20, 3, 0x0b}
	all := []byte{4, 0x7f, 0x7e, 0x7d, 0x7c}
	section := func(file []byte, id wasm.SectionID, content []byte) []byte {
		return append(wasm.AppendUint(append(file, byte(id)), uint32(len(content))), content...)
	}
	bodies := append(wasm.AppendUint([]byte{2}, uint32(len(run))), run...)
	bodies = append(append(bodies, byte(len(mirror))), mirror...)
	file := []byte("\x00asm\x01\x00\x00\x00")
	file = section(file, wasm.TypeSection, append(append([]byte{2, 0x60, 0, 1, 0x7f, 0x60}, all...), all...))
	file = section(file, wasm.FunctionSection, []byte{2, 0, 1})
	file = section(file, wasm.MemorySection, []byte{1, 0, pages})
	file = section(file, wasm.ExportSection, []byte("\x02\x0breprise_run\x00\x00\x06memory\x02\x00"))
	return section(file, wasm.CodeSection, bodies)
}
