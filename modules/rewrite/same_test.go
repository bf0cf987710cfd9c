package rewrite

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// programs are modules whose function f takes an i32 and that use every way to leave a block or a function.
func programs() map[string][]byte {
	f := func(results, locals string, parts ...any) []byte {
		return wasm(fn{name: "f", params: "i", results: results, locals: locals, code: ins(parts...)})
	}
	// Functions call function 0, so that they count in the depth; 2 and up are called by table or directly.
	deep := fn{name: "f", params: "i", results: "i", code: ins(get(0), eqz, 0x04, 0x7f, num(0), 0x05, get(0), num(1), sub, call(1), num(1), add, end)}
	return map[string][]byte{
		"nothing":          f("i", "", get(0)),
		"host call":        f("i", "", get(0), call(0)),
		"two results":      wasm(fn{name: "f", params: "i", results: "ii", code: ins(get(0), call(2))}, fn{params: "i", results: "ii", code: ins(get(0), num(3))}),
		"return in a loop": wasm(fn{name: "f", params: "i", results: "i", code: ins(0x03, empty, get(0), num(1), sub, 0x22, 0, eqz, 0x04, empty, num(42), ret, end, get(0), call(2), set(0), 0x0c, 0, end, 0x00)}, fn{params: "i", results: "i", code: get(0)}),
		// A return and a branch take the upper operand and leave the ones below.
		"return over operands":   wasm(fn{name: "f", params: "i", results: "i", code: ins(num(1), num(2), get(0), call(2), 0x04, empty, num(3), num(4), ret, end, drop)}, fn{params: "i", results: "i", code: get(0)}),
		"branch to the function": wasm(fn{name: "f", params: "i", results: "i", code: ins(0x02, empty, 0x02, empty, num(7), get(0), call(2), 0x0d, 2, drop, end, end, num(8))}, fn{params: "i", results: "i", code: get(0)}),
		"two results by branch":  wasm(fn{name: "f", params: "i", results: "ii", code: ins(0x02, empty, num(1), num(2), get(0), call(2), 0x0d, 1, drop, drop, end, num(3), num(4), ret)}, fn{params: "i", results: "i", code: get(0)}),
		"br_table": wasm(fn{name: "f", params: "i", results: "i", code: ins(
			0x02, empty, 0x02, empty, 0x02, empty, num(9), get(0), call(2), 0x0e, 0, 3,
			end, num(1), ret, end, num(2), ret, end, num(3))}, fn{params: "i", results: "i", code: get(0)}),
		"br_table of blocks": wasm(fn{name: "f", params: "i", results: "i", code: ins(
			0x02, empty, 0x02, empty, 0x02, empty, get(0), call(2), 0x0e, 2, 0, 1, 2,
			end, num(1), ret, end, num(2), 0x0c, 1, end, num(3))}, fn{params: "i", results: "i", code: get(0)}),
		"block that takes and gives": f("i", "", get(0), num(5), 0x02, 1, 0x6a, get(0), end, 0x6b),
		"loop that takes and gives":  f("i", "", get(0), num(10), 0x03, 1, num(1), sub, 0x22, 0, get(0), get(0), 0x0d, 0, drop, end, add),
		"if that takes and gives":    f("i", "", get(0), get(0), 0x04, 0, num(1), add, 0x05, num(2), add, end),
		"code behind a branch":       f("i", "", 0x02, 0x7f, num(4), 0x0c, 0, 0x6a, 0x04, empty, 0x03, empty, end, 0x05, end, 0x00, end),
		"unreachable":                f("i", "", get(0), 0x04, empty, 0x00, end, num(1)),
		"division by zero":           f("i", "", num(12), get(0), 0x6d),
		"out of bounds":              f("i", "", get(0), num(16), 0x74, 0x28, 2, 0), // load at arg << 16
		"memory":                     f("i", "", get(0), 0x40, 0, drop, 0x3f, 0, num(16), 0x74, num(4), sub, num(77), 0x36, 2, 0, 0x3f, 0, num(16), 0x74, num(4), sub, 0x28, 2, 0, 0x3f, 0, add),
		"fill and copy":              f("i", "", num(0), num(7), num(64), 0xfc, 11, 0, num(100), num(0), get(0), 0xfc, 10, 0, 0, num(100), 0x28, 2, 0),
		"init and drop":              f("i", "", num(8), num(0), get(0), 0xfc, 8, 0, 0, 0xfc, 9, 0, num(8), 0x28, 2, 0),
		"table":                      f("i", "", 0xd2, 1, get(0), 0xfc, 15, 0, drop, 0xfc, 16, 0, get(0), 0x25, 0, 0xd1, add),
		"table init":                 f("i", "", get(0), num(0), num(1), 0xfc, 12, 1, 0, 0xfc, 13, 1, get(0), 0x25, 0, 0xd1),
		"table fill and copy":        f("i", "", num(3), 0xd2, 1, num(2), 0xfc, 17, 0, num(5), num(3), get(0), 0xfc, 14, 0, 0, num(5), 0x25, 0, 0xd1),
		"global":                     f("i", "", 0x23, 0, get(0), add, 0x24, 0, 0x23, 0, 0x23, 1, add),
		"call_indirect":              wasm(fn{name: "f", params: "i", results: "i", code: ins(num(30), get(0), 0x11, 0, 0)}, fn{params: "i", results: "i", code: ins(get(0), num(2), add)}, fn{params: "l", code: nil}),
		"select":                     f("i", "", num(1), 0x02, 0x7f, num(2), end, get(0), 0x1b, num(3), get(0), 0x1c, 1, 0x7f),
		"recursion":                  wasm(deep),
	}
}

// TestSame compares a module with what each set of passes makes of it, on both engines.
func TestSame(t *testing.T) {
	sets := map[string]Options{
		"nothing": {}, "gas": {Gas: true}, "depth": {Depth: PortableDepth}, "NaN": {CanonicalNaN: true}, "globals": {ExportGlobals: true}, "lazy table": {LazyTable: 1},
		"gas and depth": {Gas: true, Depth: PortableDepth}, "all": {Gas: true, Depth: PortableDepth, CanonicalNaN: true, LazyTable: 1, ExportGlobals: true, Strip: true},
	}
	machines := map[string]*machine{}
	for engine := range engines {
		machines[engine] = newMachine(t, engine)
	}
	files := programs()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			for _, arg := range []uint64{0, 1, 2, 3, 5, 9, 0xffffffff} {
				if counts := name == "recursion" || name == "return in a loop"; counts && arg-1 > 1000 {
					continue // it counts down from there
				}
				want := machines["compiler"].call(t, files[name], plenty, "f", arg)
				for set, o := range sets {
					out, _ := apply(t, files[name], o)
					var gas []int64
					for engine, k := range machines {
						got := k.call(t, out, plenty, "f", arg)
						if want.Trap == "" && got.Depth != o.Depth {
							t.Errorf("%s, %s: got depth %d after the call, want %d", set, engine, got.Depth, o.Depth)
						}
						gas = append(gas, got.Gas)
						got.Gas, got.Depth = 0, 0
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s, %s, f(%d) (-original +rewritten):\n%s", set, engine, arg, diff)
						}
					}
					if gas[0] != gas[1] || o.Gas == (gas[0] == 0) {
						t.Errorf("%s, f(%d): got gas %v on the two engines, want some and the same", set, arg, gas)
					}
				}
			}
		})
	}
}

// TestDepth stops recursion at the same depth on both engines, and gives all depth back.
func TestDepth(t *testing.T) {
	recursive := fn{name: "f", params: "i", results: "i", code: ins(get(0), eqz, 0x04, empty, num(0), ret, end, get(0), num(1), sub, call(1), num(1), add)}
	large := recursive
	large.locals = "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll" // 64
	// f and g call each other, f by table; each leaf call takes nothing.
	mutual := []fn{
		{name: "f", params: "i", results: "i", code: ins(get(0), call(3), drop, get(0), num(1), 0x11, 0, 0)},
		{params: "i", results: "i", code: ins(get(0), eqz, 0x04, 0x7f, num(0), 0x05, get(0), num(1), sub, call(1), end)},
		{params: "i", results: "i", code: ins(get(0), call(0))},
	}
	tests := []struct {
		name  string
		file  []byte
		depth int32
		last  uint64 // the largest argument that is not too deep
	}{
		{"recursion", wasm(recursive), 100, 99},
		{"as deep as engines go", wasm(recursive), PortableDepth, PortableDepth - 1},
		// 1 parameter, 64 locals and 2 operands are 3 units.
		{"large frames", wasm(large), 99, 32},
		{"two functions", wasm(mutual...), 100, 49},
	}
	for engine := range engines {
		k := newMachine(t, engine)
		for _, tt := range tests {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				out, info := apply(t, tt.file, Options{Depth: tt.depth})
				if got := k.call(t, out, 0, "f", tt.last); got.Trap != "" || got.Depth != tt.depth {
					t.Errorf("got %+v for %d, want no trap and depth %d", got, tt.last, tt.depth)
				}
				if got := k.call(t, out, 0, "f", tt.last+1); got.Trap != errTooDeep.Error() {
					t.Errorf("got %+v for %d, want %v", got, tt.last+1, errTooDeep)
				}
				if info.DepthFunctions == 0 || info.DepthFunctions == 3 {
					t.Errorf("got %d functions that count, want those that call", info.DepthFunctions)
				}
			})
		}
	}
}

// TestFrames keeps the deepest stack small, whatever a function keeps on it: without the bound the compiler
// would need 400 MB, and trap where the interpreter goes on.
func TestFrames(t *testing.T) {
	var code []byte
	const operands = 5_000
	for range operands {
		code = append(code, get(0)...)
	}
	code = append(code, ins(get(0), call(1))...)
	for range operands {
		code = append(code, add)
	}
	file := wasm(fn{name: "f", params: "i", results: "i", code: code})
	out, _ := apply(t, file, Options{Depth: PortableDepth})
	left := map[int32]bool{}
	for engine := range engines {
		got := newMachine(t, engine).call(t, out, 0, "f", 1)
		if got.Trap != errTooDeep.Error() {
			t.Errorf("%s: got %+v, want %v", engine, got, errTooDeep)
		}
		left[got.Depth] = true
	}
	units := int32(1 + (1+operands+1)/ValuesAUnit)
	if want := PortableDepth - (PortableDepth/units+1)*units; !left[want] || len(left) != 1 {
		t.Errorf("got depth %v, want %d on both engines", left, want)
	}
}
