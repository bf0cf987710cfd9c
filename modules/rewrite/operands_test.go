package rewrite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

// TestSelectTypes finds the types of selects that do not say theirs, whatever is on the stack below them.
func TestSelectTypes(t *testing.T) {
	f32c, f64c, i64c := ins(0x43, 0, 0, 0, 0), ins(0x44, 0, 0, 0, 0, 0, 0, 0, 0), ins(0x42, 0)
	const sel, f32eq = 0x1b, 0x5b
	tests := []struct {
		name   string
		params string
		code   []byte
		want   string
	}{
		{"constants", "i", ins(f32c, f32c, get(0), sel, drop, f64c, f64c, get(0), sel, drop, num(1), num(2), get(0), sel, drop, i64c, i64c, get(0), sel, drop), "fdil"},
		{"locals, tees and globals", "ifdl", ins(get(1), 0x22, 1, get(1), get(0), sel, drop, get(2), get(2), get(0), sel, drop, 0x23, 0, 0x23, 1, get(0), sel, drop), "fdi"},
		{"loads and stores", "i", ins(get(0), get(0), 0x2a, 2, 0, get(0), 0x2a, 2, 0, get(0), sel, 0x38, 2, 0, get(0), 0x2b, 3, 0, get(0), 0x2b, 3, 0, get(0), sel, drop), "fd"},
		{"calls", "i", ins(get(0), call(0), get(0), call(0), get(0), sel, drop, f64c, f32c, call(2), f32c, get(0), sel, drop, drop), "if"},
		{"a call by table", "i", ins(f64c, f32c, get(0), 0x11, 4, 0, f32c, get(0), sel, drop, drop), "f"},
		{"comparisons are integers", "i", ins(f32c, f32c, f32eq, f64c, f64c, 0x61, get(0), sel, drop), "i"},
		{"conversions", "i", ins(get(0), 0xb7, get(0), 0xb2, 0xbb, get(0), sel, 0xb6, f32c, get(0), sel, 0xa8, num(1), get(0), sel, drop), "dfi"},
		{"saturating conversions, memory and table", "i", ins(f64c, 0xfc, 2, f64c, 0xfc, 2, get(0), sel, drop, f32c, 0xfc, 5, i64c, get(0), sel, drop,
			f32c, f32c, num(0), num(0), num(0), 0xfc, 11, 0, 0x3f, 0, drop, 0xfc, 16, 0, sel, drop), "ilf"},
		{"the results of blocks", "i", ins(0x02, 0x7c, f64c, end, get(0), 0x04, 0x7c, f64c, 0x05, f64c, end, get(0), sel, drop), "d"},
		{"behind a branch", "i", ins(0x02, 0x7d, f32c, 0x0c, 0, sel, drop, end, f32c, get(0), sel, drop), "?f"},
		{"below a branch on a condition", "i", ins(0x02, 0x7d, f32c, f32c, get(0), 0x0d, 0, get(0), sel, end, drop), "f"},
		{"half of it known", "i", ins(0x02, empty, 0x00, f64c, get(0), sel, drop, end), "d"},
		{"one that says it between", "i", ins(f32c, f32c, get(0), 0x1c, 1, 0x7d, f32c, get(0), sel, drop), "f"},
		{"a chain", "i", ins(f64c, f64c, f64c, get(0), sel, get(0), sel, drop), "dd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := wasm(fn{name: "f", params: tt.params, code: tt.code}, fn{params: "df", results: "df", code: ins(get(0), get(1))})
			m := decode(t, file)
			var got string
			for _, found := range selectTypes(m, 0) {
				letter, ok := map[binary.ValType]string{binary.I32: "i", binary.I64: "l", binary.F32: "f", binary.F64: "d"}[found]
				if !ok {
					letter = "?"
				}
				got += letter
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			out, _ := apply(t, file, all)
			if bytesWith(t, out, binary.OpSelectTyped) {
				t.Error("a select of floats that says its type is left")
			}
		})
	}
}

// bytesWith says whether a module has an instruction.
func bytesWith(t *testing.T, file []byte, op binary.Opcode) bool {
	m := decode(t, file)
	for i := range m.Bodies {
		for c := m.Code(i); c.Next(); {
			if c.Op == op && isFloat(typeOfSelect(m.Bytes(c.Start, c.End))) {
				return true
			}
		}
	}
	return false
}

// TestFloatsByIntegers: what takes the place of a copysign and of a select of floats gives the same bits.
func TestFloatsByIntegers(t *testing.T) {
	bits32 := []uint64{0, 1 << 31, 0x3f800000, 0xbf800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x7f800000, 0xff800000, 1}
	bits64 := []uint64{0, 1 << 63, 0x3ff0000000000000, 0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001, 0xfff0000000000000, 1}
	programs := map[string]fn{
		"f32.copysign": {params: "ii", results: "i", code: ins(get(0), 0xbe, get(1), 0xbe, 0x98, 0xbc)},
		"f64.copysign": {params: "ll", results: "l", code: ins(get(0), 0xbf, get(1), 0xbf, 0xa6, 0xbd)},
		"f32 select":   {params: "ii", results: "ii", code: ins(get(0), 0xbe, get(1), 0xbe, num(0), 0x1b, 0xbc, get(0), 0xbe, get(1), 0xbe, num(7), 0x1b, 0xbc)},
		"f64 select":   {params: "ll", results: "ll", code: ins(get(0), 0xbf, get(1), 0xbf, num(0), 0x1c, 1, 0x7c, 0xbd, get(0), 0xbf, get(1), 0xbf, num(-1), 0x1b, 0xbd)},
	}
	for name, f := range programs {
		f.name = "f"
		file := wasm(f)
		out, _ := apply(t, file, all)
		bits := bits32
		if f.params == "ll" {
			bits = bits64
		}
		for engine := range engines {
			k := newMachine(t, engine)
			for _, x := range bits {
				for _, y := range bits {
					var want []uint64
					switch sign := bits[1]; name {
					case "f32.copysign", "f64.copysign":
						want = []uint64{x&^sign | y&sign}
					default:
						want = []uint64{y, x}
					}
					if got := k.call(t, out, plenty, "f", x, y); !cmp.Equal(got.Results, want) {
						t.Errorf("%s, %s of %#x and %#x: got %#x (%s), want %#x", engine, name, x, y, got.Results, got.Trap, want)
					}
				}
			}
		}
	}
}
