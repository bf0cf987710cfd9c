package rewrite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// countdown is a loop that runs as often as its parameter says.
var countdown = fn{name: "f", params: "i", code: ins(0x03, empty, get(0), num(1), sub, 0x22, 0, 0x0d, 0, end)}

// TestGas pins what a few functions pay. Another number is another PipelineVersion.
func TestGas(t *testing.T) {
	nop := []byte{0x01}
	long := ins(num(1), drop) // 2 units
	many := func(n int) []byte {
		var out []byte
		for range n {
			out = append(out, long...)
		}
		return out
	}
	tests := []struct {
		name string
		fns  []fn
		arg  uint64
		want int64
	}{
		{"entry", []fn{{name: "f", params: "i"}}, 0, 1},
		{"nops", []fn{{name: "f", params: "i", code: ins(nop, nop, nop)}}, 0, 1},
		{"entry with 40 locals", []fn{{name: "f", params: "i", locals: strings.Repeat("i", 40)}}, 0, 1 + 2},
		{"3 instructions", []fn{{name: "f", params: "i", code: ins(num(1), num(2), drop, drop)}}, 0, 1 + 4},
		// Entry: 1. A turn: 1, and get, const, sub, tee, br_if. What is behind the br_if has no instructions.
		{"loop of 1 turn", []fn{countdown}, 1, 1 + 6},
		{"loop of 1000 turns", []fn{countdown}, 1000, 1 + 6*1000},
		{"call", []fn{{name: "f", params: "i", code: ins(call(2))}, {code: ins(num(1), drop)}}, 0, 1 + 2 + 1 + 2},
		{"host call", []fn{{name: "f", params: "i", code: ins(get(0), call(0), drop)}}, 0, 1 + 4},
		{"call_indirect", []fn{{name: "f", params: "i", code: ins(num(1), 0x11, 4, 0)}, {}}, 0, 1 + 1 + 4 + 1},
		{"division", []fn{{name: "f", params: "i", code: ins(num(9), num(3), 0x6d, drop)}}, 0, 1 + 3 + 5},
		// An arm of 8 units is lent by the entry and paid on both ways; one of 40 is paid by who goes there.
		{"short arm taken", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(4), end)}}, 1, 1 + 2 + 8},
		{"short arm not taken", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(4), end)}}, 0, 1 + 2 + 8},
		{"long arm taken", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(20), end)}}, 1, 1 + 2 + 40},
		{"long arm not taken", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(20), end)}}, 0, 1 + 2},
		{"long else", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(20), 0x05, many(30), end)}}, 0, 1 + 2 + 60},
		{"long code jumped over", []fn{{name: "f", params: "i", code: ins(0x02, empty, get(0), 0x0d, 0, many(20), end)}}, 1, 1 + 2},
		{"long code not jumped over", []fn{{name: "f", params: "i", code: ins(0x02, empty, get(0), 0x0d, 0, many(20), end)}}, 0, 1 + 2 + 40},
		{"two short arms, lent once", []fn{{name: "f", params: "i", code: ins(get(0), 0x04, empty, many(10), end, get(0), 0x04, empty, many(10), end)}}, 0, 1 + 2 + 20 + 2},
		{"dead code", []fn{{name: "f", params: "i", code: ins(ret, many(50), 0x02, empty, many(50), end)}}, 0, 1 + 1},
		{"behind a dead block", []fn{{name: "f", params: "i", code: ins(0x02, empty, 0x0c, 0, many(50), end, many(3))}}, 0, 1 + 1 + 6},
		{"trap", []fn{{name: "f", params: "i", code: ins(0x00)}}, 0, 1 + 1},
		// Four instructions and the fixed part of each; 8 bytes a unit.
		{"fill of 4000 bytes", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 11, 0)}}, 4000, 1 + 3 + 20 + 500},
		{"fill beyond the memory", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 11, 0)}}, 0xffffffff, 1 + 3 + 20 + 0xffffffff>>3},
		{"copy of 80 bytes", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 10, 0, 0)}}, 80, 1 + 3 + 20 + 10},
		{"init of 3 bytes", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 8, 0, 0)}}, 3, 1 + 3 + 20},
		{"table.copy of 5", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 14, 0, 0)}}, 5, 1 + 3 + 20 + 5},
		{"table.init of 1", []fn{{name: "f", params: "i", code: ins(num(0), num(0), get(0), 0xfc, 12, 1, 0)}}, 1, 1 + 3 + 20 + 1},
		{"table.fill of 5", []fn{{name: "f", params: "i", code: ins(num(0), 0xd0, 0x70, get(0), 0xfc, 17, 0)}}, 5, 1 + 3 + 20 + 5},
		{"memory.grow by 2", []fn{{name: "f", params: "i", code: ins(get(0), 0x40, 0, drop)}}, 2, 1 + 2 + 100 + 2*8192},
		{"memory.grow by more than may be", []fn{{name: "f", params: "i", code: ins(get(0), 0x40, 0, drop)}}, 9, 1 + 2 + 100},
		{"memory.grow by all there is", []fn{{name: "f", params: "i", code: ins(get(0), 0x40, 0, drop)}}, 0xffffffff, 1 + 2 + 100},
		{"table.grow by 5", []fn{{name: "f", params: "i", code: ins(0xd0, 0x70, get(0), 0xfc, 15, 0, drop)}}, 5, 1 + 3 + 100 + 5},
		{"table.grow by more than may be", []fn{{name: "f", params: "i", code: ins(0xd0, 0x70, get(0), 0xfc, 15, 0, drop)}}, 16, 1 + 3 + 100},
	}
	for engine := range engines {
		k := newMachine(t, engine)
		for _, tt := range tests {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				out, _ := apply(t, wasm(tt.fns...), all)
				if got := k.call(t, out, plenty, "f", tt.arg); got.Gas != tt.want {
					t.Errorf("got %d gas (%+v), want %d", got.Gas, got, tt.want)
				}
			})
		}
	}
}

// TestOutOfGas stops before what the gas does not pay for.
func TestOutOfGas(t *testing.T) {
	store := fn{name: "f", params: "i", code: ins(0x03, empty, get(0), call(0), set(0), 0x0c, 0, end)}
	fill := fn{name: "f", params: "i", code: ins(get(0), call(0), drop, num(0), num(0), num(800), 0xfc, 11, 0, get(0), call(0), drop)}
	tests := []struct {
		name string
		file []byte
		gas  int64
		want outcome
	}{
		{"endless loop", wasm(fn{name: "f", params: "i", code: ins(0x03, empty, 0x0c, 0, end)}), 1000, outcome{Trap: errOutOfGas.Error(), Gas: 1001}},
		// A turn takes 1 + 5: after the entry there is enough for 3.
		{"loop of host calls", wasm(store), 1 + 3*6 + 5, outcome{Trap: errOutOfGas.Error(), Gas: 1 + 4*6, Calls: []uint64{7, 1007, 2007}}},
		{"endless recursion", wasm(fn{name: "f", params: "i", code: ins(get(0), call(1))}), 1000, outcome{Trap: errOutOfGas.Error(), Gas: 1000 + 1 + 1 + 2}},
		// 1, 6 of calls, 3 constants and 20; the size is paid where it is known, before the memory is touched.
		{"fill", wasm(fill), 130, outcome{Trap: errOutOfGas.Error(), Gas: 32 + 100, Calls: []uint64{7}}},
		{"just enough", wasm(fill), 132, outcome{Gas: 132, Calls: []uint64{7, 7}}},
	}
	for engine := range engines {
		k := newMachine(t, engine)
		for _, tt := range tests {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				out, _ := apply(t, tt.file, Options{Gas: true})
				got := k.call(t, out, tt.gas, "f", 7)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
