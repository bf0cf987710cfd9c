package rewrite

import (
	"testing"

	"reprise/modules/binary"
)

// The tests make modules by hand. Types are written with a letter each: i and l for integers of 32 and
// 64 bits, f and d for floats.

func types(letters string) []binary.ValType {
	var ts []binary.ValType
	for _, c := range letters {
		ts = append(ts, map[rune]binary.ValType{'i': binary.I32, 'l': binary.I64, 'f': binary.F32, 'd': binary.F64, 'r': binary.FuncRef}[c])
	}
	return ts
}

// fn is a function, exported under its name when it has one.
type fn struct {
	name, params, results, locals string
	code                          []byte // without the last end
}

// wasm makes a module with one import env.f of type (i) -> (i) as function 0, a memory of 1 to 10 pages, a
// table of 10 to 20 entries, a mutable global 0 of type i32, and the functions from 1 on. The table begins
// with them. Block types are: 0 (i) -> (i), 1 (i, i) -> (i, i), 2 () -> (i, i), and those of the functions.
func wasm(fns ...fn) []byte {
	str := func(s string) []byte { return append(binary.AppendUint(nil, uint32(len(s))), s...) }
	sec := func(id binary.SectionID, content []byte) []byte {
		return append(binary.AppendUint([]byte{byte(id)}, uint32(len(content))), content...)
	}
	letters := func(b []byte, s string) []byte {
		b = binary.AppendUint(b, uint32(len(s)))
		for _, t := range types(s) {
			b = append(b, byte(t))
		}
		return b
	}
	n := uint32(len(fns))
	typ := append(binary.AppendUint(nil, 3+n), 0x60, 1, 0x7f, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 2, 0x7f, 0x7f, 0x60, 0, 2, 0x7f, 0x7f)
	functions, exports, bodies, elements := binary.AppendUint(nil, n), []byte{}, binary.AppendUint(nil, n), binary.AppendUint([]byte{2, 0, 0x41, 0, 0x0b}, n)
	exported := uint32(1)
	for i, f := range fns {
		typ = letters(letters(append(typ, 0x60), f.params), f.results)
		functions = binary.AppendUint(functions, uint32(3+i))
		elements = binary.AppendUint(elements, uint32(1+i))
		if f.name != "" {
			exported++
			exports = binary.AppendUint(append(append(exports, str(f.name)...), 0), uint32(1+i))
		}
		body := binary.AppendUint(nil, uint32(len(f.locals)))
		for _, t := range types(f.locals) {
			body = append(body, 1, byte(t))
		}
		body = append(append(body, f.code...), 0x0b)
		bodies = append(binary.AppendUint(bodies, uint32(len(body))), body...)
	}
	elements = append(elements, 1, 0, 1, 0) // a passive segment
	file := []byte("\x00asm\x01\x00\x00\x00")
	file = append(file, sec(binary.TypeSection, typ)...)
	file = append(file, sec(binary.ImportSection, append(append(append([]byte{1}, str("env")...), str("f")...), 0, 0))...)
	file = append(file, sec(binary.FunctionSection, functions)...)
	file = append(file, sec(binary.TableSection, []byte{1, 0x70, 1, 10, 20})...)
	file = append(file, sec(binary.MemorySection, []byte{1, 1, 1, 10})...)
	file = append(file, sec(binary.GlobalSection, []byte{2, 0x7f, 1, 0x41, 5, 0x0b, 0x7f, 0, 0x41, 6, 0x0b})...)
	file = append(file, sec(binary.ExportSection, append(append(binary.AppendUint(nil, exported), exports...), append(str("memory"), 2, 0)...))...)
	file = append(file, sec(binary.ElementSection, elements)...)
	file = append(file, sec(binary.DataCount, []byte{1})...)
	file = append(file, sec(binary.CodeSection, bodies)...)
	return append(file, sec(binary.DataSection, []byte{1, 1, 3, 'a', 'b', 'c'})...)
}

// ins joins instructions: bytes and byte slices.
func ins(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func get(i int) []byte { return ins(0x20, i) }
func set(i int) []byte { return ins(0x21, i) }
func num(v int64) []byte {
	return binary.AppendInt([]byte{0x41}, v)
}
func call(i int) []byte { return ins(0x10, i) }

const (
	add, sub, eqz = 0x6a, 0x6b, 0x45
	end, ret      = 0x0b, 0x0f
	drop          = 0x1a
	empty         = 0x40 // the type of a block without values
)

func decode(t testing.TB, file []byte) *binary.Module {
	t.Helper()
	m, err := binary.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func apply(t testing.TB, file []byte, o Options) ([]byte, Info) {
	t.Helper()
	out, info, err := Apply(decode(t, file), o)
	if err != nil {
		t.Fatal(err)
	}
	return out, info
}

var all = Options{Gas: true, Depth: PortableDepth, MemoryPages: 8, TableEntries: 15, CanonicalNaN: true, LazyTable: 1, ExportGlobals: true}
