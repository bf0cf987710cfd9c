package rewrite

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

// exporting is a module that exports its first function under a name.
func exporting(name string) []byte { return wasm(fn{name: name, params: "i"}) }

func TestRefuses(t *testing.T) {
	rewritten, _ := apply(t, exporting("f"), Options{Gas: true})
	f := func(code ...any) []byte { return wasm(fn{name: "f", params: "i", locals: "l", code: ins(code...)}) }
	tests := []struct {
		name      string
		file      []byte
		o         Options
		code, say string
	}{
		{"export of the gas", exporting(ExportGas), Options{}, "wrong_export", ExportGas},
		{"export with the prefix", exporting(ExportPrefix + "x"), Options{}, "wrong_export", ExportPrefix + "x"},
		{"a rewritten module", rewritten, Options{}, "unknown_import", ImportModule},
		{"too large a table", exporting("f"), Options{TableEntries: 9}, "too_many", "10 entries of the table, more than 9"},
		// What rewriting adds must not be what a wrong index names.
		{"local that is not there", f(get(2), drop), all, "malformed", "local 2 of 2"},
		{"local.set that is not there", f(num(1), set(2)), all, "malformed", "local 2 of 2"},
		{"the gas", f(0x42, 0, 0x24, 2), all, "malformed", "global 2 of 2"},
		{"the depth", f(0x23, 3, drop), all, "malformed", "global 3 of 2"},
		{"function that is not there", f(call(2)), all, "malformed", "function 2 of 2"},
		{"reference to a function that is not there", f(0xd2, 2, drop), all, "malformed", "function 2 of 2"},
		{"type that is not there", f(num(0), 0x11, 4, 0), all, "malformed", "type 4 of 4"},
		{"block of a type that is not there", f(0x02, 4, end), all, "malformed", "type 4 of 4"},
		{"no such instruction", f(0x27), all, "malformed", "0x27"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Apply(decode(t, tt.file), tt.o)
			var got *binary.Error
			if !errors.As(err, &got) || got.Code != tt.code || !strings.Contains(got.What, tt.say) || got.Fix == "" {
				t.Errorf("got %v (%+v), want code %s, %q and a fix", err, got, tt.code, tt.say)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	declared := func(memory, table []byte, imports ...byte) []byte {
		section := func(id byte, content []byte) []byte {
			return append([]byte{id, byte(len(content))}, content...)
		}
		file := []byte("\x00asm\x01\x00\x00\x00")
		for _, s := range []struct {
			id      byte
			content []byte
		}{{2, imports}, {4, table}, {5, memory}} {
			if s.content != nil {
				file = append(file, section(s.id, s.content)...)
			}
		}
		return file
	}
	limits := func(min, max uint32) []binary.Limits { return []binary.Limits{{Min: min, Max: max, HasMax: true}} }
	tests := []struct {
		name          string
		file          []byte
		memory, table []binary.Limits // of the copy
		refuse        string
	}{
		{"no bounds of its own", declared([]byte{1, 0, 2}, []byte{1, 0x70, 0, 3}), limits(2, 8), limits(3, 15), ""},
		{"higher bounds", declared([]byte{1, 1, 2, 9}, []byte{1, 0x6f, 1, 3, 16}), limits(2, 8), limits(3, 15), ""},
		{"lower bounds", declared([]byte{1, 1, 2, 7}, []byte{1, 0x70, 1, 3, 14}), limits(2, 7), limits(3, 14), ""},
		{"as much as may be", declared([]byte{1, 0, 8}, []byte{1, 0x70, 0, 15}), limits(8, 8), limits(15, 15), ""},
		{"neither", declared(nil, nil), nil, nil, ""},
		{"too much memory", declared([]byte{1, 0, 9}, nil), nil, nil, "too_much_memory"},
		{"too large a table", declared(nil, []byte{1, 0x70, 0, 16}), nil, nil, "too_many"},
		{"imported memory", declared(nil, nil, 1, 1, 'e', 1, 'm', 2, 0, 1), nil, nil, "unknown_import"},
		{"imported table", declared(nil, nil, 1, 1, 'e', 1, 't', 1, 0x70, 0, 1), nil, nil, "unknown_import"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := Apply(decode(t, tt.file), Options{MemoryPages: 8, TableEntries: 15})
			if tt.refuse != "" {
				var got *binary.Error
				if !errors.As(err, &got) || got.Code != tt.refuse {
					t.Errorf("got %v, want code %s", err, tt.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m := decode(t, out)
			if diff := cmp.Diff(tt.memory, m.Memories); diff != "" {
				t.Errorf("memories (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.table, m.Tables); diff != "" {
				t.Errorf("tables (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGrowth grows memory and table to their bounds and not beyond.
func TestGrowth(t *testing.T) {
	file := wasm(fn{name: "f", params: "i", results: "ii", code: ins(get(0), 0x40, 0, 0xd0, 0x70, get(0), 0xfc, 15, 0)})
	out, _ := apply(t, file, Options{MemoryPages: 4, TableEntries: 13})
	const failed = math.MaxUint32
	for engine := range engines {
		k := newMachine(t, engine)
		for arg, want := range map[uint64][]uint64{3: {1, 10}, 4: {failed, failed}} {
			if got := k.call(t, out, 0, "f", arg); !cmp.Equal(got.Results, want) {
				t.Errorf("%s: got %v for %d, want %d", engine, got.Results, arg, want)
			}
		}
	}
}

func TestCanonicalNaN(t *testing.T) {
	const payload32, payload64 = 0xffc12345, 0xfff8000012345678
	const canonical32, canonical64 = 0x7fc00000, 0x7ff8000000000000
	type test struct {
		op       byte
		operands int
		f64      bool
	}
	var tests []test
	for _, op := range []byte{0x8d, 0x8e, 0x8f, 0x90, 0x91} { // ceil to sqrt
		tests = append(tests, test{op, 1, false}, test{op + 0x0e, 1, true})
	}
	for _, op := range []byte{0x92, 0x93, 0x94, 0x95, 0x96, 0x97} { // add to max
		tests = append(tests, test{op, 2, false}, test{op + 0x0e, 2, true})
	}
	for engine := range engines {
		k := newMachine(t, engine)
		for _, tt := range tests {
			params, arg, want := "f", uint64(payload32), uint64(canonical32)
			if tt.f64 {
				params, arg, want = "d", payload64, canonical64
			}
			code := bytes.Repeat(get(0), tt.operands)
			out, info := apply(t, wasm(fn{name: "f", params: params, results: params, code: append(code, tt.op)}), Options{CanonicalNaN: true})
			got := k.call(t, out, 0, "f", arg).Results[0]
			if !tt.f64 {
				got &= math.MaxUint32 // the upper half is undefined
			}
			if got != want || info.CanonicalSites != 1 {
				t.Errorf("%s, %#x of a NaN: got %#x with %d sites, want %#x with 1", engine, tt.op, got, info.CanonicalSites, want)
			}
		}
		others := []struct {
			name           string
			params, result string
			code           []byte
			arg, want      uint64
			sites          int
		}{
			{"demote", "d", "f", ins(get(0), 0xb6), payload64, canonical32, 1},
			{"promote", "f", "d", ins(get(0), 0xbb), payload32, canonical64, 1},
			{"0/0", "d", "d", ins(get(0), get(0), 0xa3), 0, canonical64, 1},
			{"a number", "d", "d", ins(get(0), get(0), 0xa0), math.Float64bits(1.25), math.Float64bits(2.5), 1},
			{"zero with a sign", "f", "f", ins(get(0), 0x91), 0x80000000, 0x80000000, 1},
			{"infinity", "f", "f", ins(get(0), get(0), 0x92), 0x7f800000, 0x7f800000, 1},
			{"neg keeps a NaN", "d", "d", ins(get(0), 0x9a), payload64, payload64 &^ (1 << 63), 0},
			{"abs keeps a NaN", "f", "f", ins(get(0), 0x8b), payload32, payload32 &^ (1 << 31), 0},
			{"copysign keeps a NaN", "f", "f", ins(get(0), get(0), 0x98), payload32, payload32, 0},
			{"memory keeps a NaN", "f", "f", ins(num(0), get(0), 0x38, 2, 0, num(0), 0x2a, 2, 0), payload32, payload32, 0},
			{"reinterpretation keeps a NaN", "d", "l", ins(get(0), 0xbd), payload64, payload64, 0},
		}
		for _, tt := range others {
			out, info := apply(t, wasm(fn{name: "f", params: tt.params, results: tt.result, code: tt.code}), Options{CanonicalNaN: true})
			got := k.call(t, out, 0, "f", tt.arg).Results[0]
			if tt.result == "f" {
				got &= math.MaxUint32 // the upper half is undefined
			}
			if got != tt.want || info.CanonicalSites != tt.sites {
				t.Errorf("%s, %s: got %#x with %d sites, want %#x with %d", engine, tt.name, got, info.CanonicalSites, tt.want, tt.sites)
			}
		}
	}
}

func TestInfo(t *testing.T) {
	file := append(wasm(
		fn{name: "f", params: "i", code: ins(get(0), call(2), 0xd2, 1, drop, num(0), num(0), num(0), 0xfc, 11, 0)},
		fn{params: "i", locals: "f", code: ins(0x03, empty, get(1), 0x91, set(1), get(0), 0x0d, 0, end)},
	), custom("name", "\x01\x04\x01\x01\x01f")...)
	file = append(file, custom(".debug_info", "x")...)
	out, info := apply(t, file, all)
	want := Info{SizeBefore: len(file), SizeAfter: len(out), ChargePoints: 3, SizedCharges: 1, DepthFunctions: 1, CanonicalSites: 1, LazyEntries: 2, Globals: []uint32{0}}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m := decode(t, out)
	var imports, exports []string
	for _, im := range m.Imports {
		imports = append(imports, im.Module+"."+im.Name)
	}
	for _, e := range m.Exports {
		exports = append(exports, e.Name)
	}
	if diff := cmp.Diff([]string{"env.f", "reprise_host_v1.out_of_gas", "reprise_host_v1.too_deep"}, imports); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"f", "memory", "reprise_host_gas", "reprise_host_depth", "reprise_host_global_0"}, exports); diff != "" {
		t.Errorf("exports (-want +got):\n%s", diff)
	}
	if got := m.FuncName(3); got != "f" {
		t.Errorf("got the name %q for the first function, want f", got)
	}
	customs := func(out []byte) (names []string) {
		for _, s := range decode(t, out).Sections {
			if s.ID == binary.Custom {
				names = append(names, s.Name)
			}
		}
		return names
	}
	if got := customs(out); len(got) != 1 || got[0] != "name" {
		t.Errorf("got the custom sections %q, want the names", got)
	}
	if stripped, _ := apply(t, file, Options{Strip: true}); len(customs(stripped)) != 0 {
		t.Errorf("got the custom sections %q, want none", customs(stripped))
	}
	if again, _ := apply(t, file, all); !bytes.Equal(again, out) {
		t.Error("got other bytes the second time")
	}
	if nothing, _ := apply(t, exporting("f"), Options{}); !bytes.Equal(nothing, exporting("f")) {
		t.Error("got other bytes without a pass")
	}
}

func custom(name, content string) []byte {
	body := append(append([]byte{byte(len(name))}, name...), content...)
	return append([]byte{0, byte(len(body))}, body...)
}
