package binary

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// namesOf is a name section with the module's name m, functions and their locals by index.
func namesOf(functions, locals []byte, more ...any) []byte {
	return sec(Custom, str("name"), 0, 2, str("m"), 1, leb(uint32(len(functions))), functions, 2, leb(uint32(len(locals))), locals, cat(more...))
}

// every is a module with every section, an imported function 0 and functions 1 and 2. The functions are
// written as f1 and f2, so that the same module can be made with other numbers.
func every(types, imports, globals, exports, f1, f2, custom []byte) []byte {
	return mod(
		sec(Custom, str("first")),
		sec(TypeSection, types),
		sec(ImportSection, imports),
		sec(FunctionSection, 2, 0, 0),
		sec(TableSection, 1, 0x70, 1, 2, 9),
		sec(MemorySection, 1, 0, 1),
		sec(GlobalSection, globals),
		sec(Custom, str("between")),
		sec(ExportSection, exports),
		sec(StartSection, f1),
		sec(ElementSection, 4,
			0, 0x41, 0, 0x0b, 2, 0, f2,
			1, 0, 1, f1,
			5, 0x70, 2, 0xd2, f2, 0x0b, 0xd0, 0x70, 0x0b,
			3, 0, 1, f1),
		sec(DataCount, 1),
		sec(CodeSection, 2,
			leb(uint32(12+2*len(f2))), 1, 2, 0x7f, 0x10, 0, 0x10, f2, 0xd2, f2, 0x1a, 0x41, 1, 0x1a, 0x0b,
			2, 0, 0x0b),
		sec(DataSection, 1, 0, 0x41, 0, 0x0b, 1, "x"),
		custom)
}

var everySection = every(
	cat(1, 0x60, 0, 0),
	cat(1, str("a"), str("f"), 0, 0),
	cat(1, 0x70, 0, 0xd2, 2, 0x0b),
	cat(3, str("memory"), 2, 0, str("one"), 0, 1, str("zero"), 0, 0),
	[]byte{1}, []byte{2},
	cat(namesOf(cat(2, 0, str("f"), 2, str("two")), cat(1, 2, 1, 0, str("x")), 4, 2, 1, 0), sec(Custom, str("last"), "y")))

func decode(t testing.TB, file []byte) *Module {
	t.Helper()
	m, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCopyWithoutChanges(t *testing.T) {
	files := map[string][]byte{
		"empty": mod(), "every section": everySection,
		"long numbers": mod(0, 0x82, 0, str("x"), 1, 0x84, 0x80, 0, 1, 0x60, 0, 0),
	}
	paths, err := filepath.Glob("../../testdata/wasm/*.wasm")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d fixtures (%v), want some", len(paths), err)
	}
	for _, p := range paths {
		if files[p], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range files {
		if got := NewWriter(decode(t, file)).Bytes(); !bytes.Equal(got, file) {
			t.Errorf("%s: got %x\nwant %x", name, got, file)
		}
	}
}

func TestAddImport(t *testing.T) {
	w := NewWriter(decode(t, everySection))
	if got := w.AddImport("host", "gas", FuncType{}); got != 1 {
		t.Errorf("got the import as function %d, want 1", got)
	}
	if got := w.AddImport("host", "get", FuncType{Results: []ValType{I64}}); got != 2 {
		t.Errorf("got the import as function %d, want 2", got)
	}
	for old, want := range map[uint32]uint32{0: 0, 1: 3, 2: 4} {
		if got := w.FuncIndex(old); got != want {
			t.Errorf("got function %d as %d, want %d", old, got, want)
		}
	}
	want := every(
		cat(2, 0x60, 0, 0, 0x60, 0, 1, 0x7e),
		cat(3, str("a"), str("f"), 0, 0, str("host"), str("gas"), 0, 0, str("host"), str("get"), 0, 1),
		cat(1, 0x70, 0, 0xd2, 4, 0x0b),
		cat(3, str("memory"), 2, 0, str("one"), 0, 3, str("zero"), 0, 0),
		[]byte{3}, []byte{4},
		cat(namesOf(cat(2, 0, str("f"), 4, str("two")), cat(1, 4, 1, 0, str("x"))), sec(Custom, str("last"), "y")))
	if diff := cmp.Diff(want, w.Bytes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadNamesAreNotRenumbered(t *testing.T) {
	w := NewWriter(decode(t, mod(oneType, sec(Custom, str("name"), 1, 5, most))))
	w.AddImport("a", "b", FuncType{})
	if got, want := w.Bytes(), mod(oneType, sec(ImportSection, 1, str("a"), str("b"), 0, 0)); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestChanges(t *testing.T) {
	base := mod(oneType, sec(FunctionSection, 2, 0, 0), sec(TableSection, 1, 0x6f, 0, 1), sec(MemorySection, 1, 0, 1),
		sec(CodeSection, 2, 2, 0, 0x0b, 4, 1, 1, 0x7e, 0x0b))
	tests := []struct {
		name   string
		of     []byte
		change func(w *Writer)
		want   []byte
	}{
		{"sections that were not there", mod(sec(Custom, str("c"))), func(w *Writer) {
			w.AddExport("g", Global, w.AddGlobal(I64, math.MinInt64))
			w.AddExport("h", Global, w.AddGlobal(I32, -65))
			w.AddImport("a", "b", FuncType{Params: []ValType{F32}})
		}, mod(sec(Custom, str("c")), sec(TypeSection, 1, 0x60, 1, 0x7d, 0), sec(ImportSection, 1, str("a"), str("b"), 0, 0),
			sec(GlobalSection, 2, 0x7e, 1, 0x42, bytes.Repeat([]byte{0x80}, 9), 0x7f, 0x0b, 0x7f, 1, 0x41, 0xbf, 0x7f, 0x0b),
			sec(ExportSection, 2, str("g"), 3, 0, str("h"), 3, 1))},
		{"a type that is there", base, func(w *Writer) {
			if got := w.AddType(FuncType{}); got != 0 {
				t.Errorf("got type %d, want 0", got)
			}
		}, base},
		{"a type twice", mod(oneType), func(w *Writer) {
			if a, b := w.AddType(FuncType{Params: []ValType{I32}}), w.AddType(FuncType{Params: []ValType{I32}}); a != 1 || b != 1 {
				t.Errorf("got types %d and %d, want 1 twice", a, b)
			}
		}, mod(sec(TypeSection, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 0))},
		{"memory and table", base, func(w *Writer) {
			w.SetMemory(Limits{Min: 1, Max: 300, HasMax: true})
			w.SetTable(Limits{Min: 1, Max: 2, HasMax: true})
		}, mod(oneType, sec(FunctionSection, 2, 0, 0), sec(TableSection, 1, 0x6f, 1, 1, 2), sec(MemorySection, 1, 1, 1, 0xac, 2),
			sec(CodeSection, 2, 2, 0, 0x0b, 4, 1, 1, 0x7e, 0x0b))},
		{"a body", base, func(w *Writer) { w.SetBody(1, []ValType{I32, F64}, []byte{0x01, 0x0b}) },
			mod(oneType, sec(FunctionSection, 2, 0, 0), sec(TableSection, 1, 0x6f, 0, 1), sec(MemorySection, 1, 0, 1),
				sec(CodeSection, 2, 2, 0, 0x0b, 9, 3, 1, 0x7e, 1, 0x7f, 1, 0x7c, 0x01, 0x0b))},
		{"custom sections", mod(sec(Custom, str("a")), oneType, sec(Custom, str("b"))), func(w *Writer) {
			w.Drop(func(s Section) bool { return s.Name == "b" })
		}, mod(sec(Custom, str("a")), oneType)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWriter(decode(t, tt.of))
			tt.change(w)
			got := w.Bytes()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			decode(t, got)
		})
	}
}

func TestNumbers(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 127, 128, 1 << 31, -1 << 31, math.MaxInt64, math.MinInt64} {
		b := AppendInt(nil, v)
		var got int64
		for i, c := range b {
			got |= int64(c&0x7f) << (7 * i)
			if i == len(b)-1 && c&0x40 != 0 && 7*(i+1) < 64 {
				got |= -1 << (7 * (i + 1))
			}
		}
		if got != v {
			t.Errorf("got %d from % x, want %d", got, b, v)
		}
	}
	for _, v := range []uint32{0, 127, 128, 16_383, 16_384, math.MaxUint32} {
		r := &reader{file: AppendUint(nil, v)}
		r.end = len(r.file)
		if got := r.u32("n"); got != v || r.left() > 0 {
			t.Errorf("got %d, want %d", got, v)
		}
	}
}
