package binary

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCode(t *testing.T) {
	body := cat(1, 2, 0x7e, // two locals of type i64
		0x02, 0x40, // block
		0x03, 0x7e, // loop (result i64)
		0x20, 1, // local.get 1
		0x0d, 0x81, 0, // br_if 1, longer than it need be
		0x0e, 2, 1, 0, 2, // br_table 1 0 2
		0x0b, 0x0b, // end, end
		0x20, 0, // local.get 0
		0x04, 1, // if (type 1)
		0x05,             // else
		0xfc, 0x0e, 3, 4, // table.copy 3 4
		0x0b, 0x0b) // end, end
	file := mod(sec(TypeSection, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 2, 0x7f, 0x7e), sec(FunctionSection, 1, 1),
		sec(CodeSection, 1, leb(uint32(len(body))), body))
	m, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Bodies[0].Declared, 2; got != want {
		t.Errorf("got %d locals, want %d", got, want)
	}
	want := []Instruction{
		{Op: OpBlock, BlockType: blockEmpty},
		{Op: OpLoop, Depth: 1, BlockType: BlockType(I64) - 0x80},
		{Op: OpLocalGet, Depth: 2, Index: 1},
		{Op: OpBrIf, Depth: 2, Index: 1},
		{Op: OpBrTable, Depth: 2, Labels: 3},
		{Op: OpEnd, Depth: 1},
		{Op: OpEnd},
		{Op: OpLocalGet},
		{Op: OpIf, BlockType: 1},
		{Op: OpElse},
		{Op: OpTableCopy, Depth: 1, Index: 3, Second: 4},
		{Op: OpEnd},
		{Op: OpEnd, Depth: -1},
	}
	var got []Instruction
	var labels []uint32
	at := m.Bodies[0].Code
	code := m.Code(0)
	for code.Next() {
		in := code.Instruction
		if in.Start != at {
			t.Errorf("got instruction %#x at %d, want it at %d", in.Op, in.Start, at)
		}
		at, in.Start, in.End = in.End, 0, 0
		labels = code.AppendLabels(labels)
		got = append(got, in)
	}
	if err := code.Err(); err != nil || at != m.Bodies[0].End {
		t.Errorf("got the end at %d (%v), want %d", at, err, m.Bodies[0].End)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instructions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint32{1, 0, 2}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if code.Next() {
		t.Error("got an instruction behind the last")
	}
	types := []struct {
		of   BlockType
		want string
	}{{blockEmpty, "() -> ()"}, {BlockType(I64) - 0x80, "() -> i64"}, {1, "(i32) -> (i32, i64)"}}
	for _, tt := range types {
		if got, ok := m.Func(tt.of); !ok || got.String() != tt.want {
			t.Errorf("block type %d: got %v, %v, want %s", tt.of, got, ok, tt.want)
		}
	}
	if _, ok := m.Func(2); ok {
		t.Error("got a type 2 of 2, want none")
	}
}

// walk reads instructions to their end.
func walk(code []byte) error {
	c := Instructions(code)
	for c.Next() {
	}
	return c.Err()
}

// TestCodeTakes reads every instruction of core Wasm 2.0 that is not a vector's.
func TestCodeTakes(t *testing.T) {
	operands := map[immediate][]byte{
		immNone: {}, immBlock: {0x40}, immIndex: leb(300), immTwo: cat(leb(300), 2), immIndexZero: cat(leb(300), 0), immZero: {0},
		immZeroZero: {0, 0}, immMemory: cat(2, leb(70_000)), immI32: {0x80, 0x7f}, immI64: cat(strings.Repeat("\xff", 9), 0),
		imm4: {1, 2, 3, 4}, imm8: make([]byte, 8), immRefType: {0x70}, immTable: {2, 0, 0, 0}, immTypes: {1, 0x6f},
	}
	count := 0
	take := func(op []byte, is immediate) {
		count++
		code := cat(op, operands[is], 0x0b)
		if op[0] >= 0x02 && op[0] <= 0x04 {
			code = append(code, 0x0b)
		}
		if op[0] == 0x0b {
			code = code[:1]
		}
		if err := walk(code); err != nil {
			t.Errorf("% x: %v", code, err)
		}
	}
	for op, is := range immediates {
		if is != noOpcode && is != immPrefix {
			take([]byte{byte(op)}, is)
		}
	}
	for n, is := range miscImmediates {
		take([]byte{0xfc, byte(n)}, is)
	}
	// 11 of control, 2 calls, 3 without a type, 5 of variables, 2 of tables, 23 of memory, 2 of its size, 4
	// constants, 123 of arithmetic, 5 that extend a sign, 3 of references, 18 behind the prefix.
	if want := 201; count != want {
		t.Errorf("got %d instructions, want %d", count, want)
	}
}

func TestCodeRefuses(t *testing.T) {
	tests := []struct {
		name      string
		code      []byte
		want, say string
	}{
		{"try", cat(0x06, 0x40, 0x0b, 0x0b), "unsupported_feature", "exceptions"},
		{"catch", cat(0x07, 0), "unsupported_feature", "exceptions"},
		{"throw", cat(0x08, 0, 0x0b), "unsupported_feature", "exceptions"},
		{"rethrow", cat(0x09, 0), "unsupported_feature", "exceptions"},
		{"throw_ref", cat(0x0a), "unsupported_feature", "exceptions"},
		{"delegate", cat(0x18, 0), "unsupported_feature", "exceptions"},
		{"catch_all", cat(0x19), "unsupported_feature", "exceptions"},
		{"try_table", cat(0x1f, 0x40, 0), "unsupported_feature", "exceptions"},
		{"return_call", cat(0x12, 0, 0x0b), "unsupported_feature", "tail calls"},
		{"return_call_indirect", cat(0x13, 0, 0), "unsupported_feature", "tail calls"},
		{"return_call_ref", cat(0x15, 0), "unsupported_feature", "tail calls"},
		{"call_ref", cat(0x14, 0), "unsupported_feature", "typed function references"},
		{"ref.as_non_null", cat(0xd4), "unsupported_feature", "typed function references"},
		{"br_on_null", cat(0xd5, 0), "unsupported_feature", "typed function references"},
		{"br_on_non_null", cat(0xd6, 0), "unsupported_feature", "typed function references"},
		{"ref.eq", cat(0xd3), "unsupported_feature", "GC"},
		{"struct.new", cat(0xfb, 0, 0), "unsupported_feature", "GC"},
		{"v128.load", cat(0xfd, 0, 0, 0), "unsupported_feature", "SIMD"},
		{"i32.atomic.load", cat(0xfe, 0x10, 2, 0), "unsupported_feature", "threads"},
		{"cont.new", cat(0xe0, 0), "unsupported_feature", "stack switching"},
		{"i64.add128", cat(0xfc, 19), "unsupported_feature", "wide arithmetic"},
		{"load of memory 1", cat(0x28, 0x42, 1, 0, 0x0b), "unsupported_feature", "second memory"},
		{"memory.size of memory 1", cat(0x3f, 1, 0x0b), "unsupported_feature", "second memory"},
		{"memory.size with a long zero", cat(0x3f, 0x80, 0, 0x0b), "unsupported_feature", "second memory"},
		{"memory.grow of memory 1", cat(0x40, 1), "unsupported_feature", "second memory"},
		{"memory.fill of memory 1", cat(0xfc, 11, 1), "unsupported_feature", "second memory"},
		{"memory.copy from memory 1", cat(0xfc, 10, 0, 1), "unsupported_feature", "second memory"},
		{"memory.init of memory 1", cat(0xfc, 8, 0, 1), "unsupported_feature", "second memory"},
		{"block of a vector", cat(0x02, 0x7b, 0x0b, 0x0b), "unsupported_feature", "SIMD"},
		{"block of an exception", cat(0x02, 0x69, 0x0b, 0x0b), "unsupported_feature", "exception"},
		{"block of a typed reference", cat(0x02, 0x64, 0, 0x0b, 0x0b), "unsupported_feature", "GC"},
		{"null of a typed reference", cat(0xd0, 0x6b), "unsupported_feature", "GC"},
		{"no such instruction", cat(0x27), "malformed", "0x27"},
		{"the last opcode", cat(0xff), "malformed", "0xff"},
		{"no such instruction behind the prefix", cat(0xfc, 18), "malformed", "0xfc 18"},
		{"far number behind the prefix", cat(0xfc, most), "malformed", "4294967295"},
		{"bytes behind the end", cat(0x0b, 0x01), "malformed", "1 bytes follow"},
		{"block type of 6 bytes", cat(0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0), "malformed", "more than 5 bytes"},
		{"i32 of 6 bytes", cat(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0), "malformed", "more than 5 bytes"},
		{"index of 33 bits", cat(0x20, 0xff, 0xff, 0xff, 0xff, 0x1f), "malformed", "32-bit"},
		{"4 billion labels", cat(0x0e, most), "too_many", "4294967295"},
		{"labels that are not there", cat(0x0e, leb(100), 0), "truncated", "100"},
		{"4 billion types", cat(0x1c, most), "too_many", "4294967295"},
		{"nothing", nil, "truncated", "an instruction"},
		{"no end", cat(0x01), "truncated", "an instruction"},
		{"block without end", cat(0x02, 0x40, 0x0b), "truncated", "an instruction"},
		{"half a constant", cat(0x44, 0, 0), "truncated", "f64"},
		{"half an index", cat(0x10, 0x80), "truncated", "an index"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got *Error
			if err := walk(tt.code); !errors.As(err, &got) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got.Code != tt.want || !strings.Contains(got.What, tt.say) || got.Fix == "" {
				t.Errorf("got %+v, want code %s, a fix, and %q", got, tt.want, tt.say)
			}
		})
	}
}

func TestCodeAllocatesNothing(t *testing.T) {
	m, err := Decode(mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, leb(2003), 0, 0x02, 0x40, strings.Repeat("\x41\x05\x1a\x01", 499), 0x01, 0x01, 0x0b, 0x0b)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	allocs := testing.AllocsPerRun(10, func() {
		n = 0
		for code := m.Code(0); code.Next(); {
			n++
		}
	})
	if allocs != 0 || n != 1502 {
		t.Errorf("got %v allocations for %d instructions, want 0 for 1502", allocs, n)
	}
}

func TestFuncName(t *testing.T) {
	fns := func(content ...any) []byte { b := cat(content...); return cat(1, leb(uint32(len(b))), b) }
	tests := []struct {
		name, want string
		section    []byte
	}{
		{"named", "b", sec(Custom, str("name"), 0, 2, str("m"), fns(2, 0, str("a"), 5, str("b")))},
		{"another is named", "", sec(Custom, str("name"), fns(1, 4, str("a")))},
		{"no names", "", nil},
		{"ESC in another's name", "", sec(Custom, str("name"), fns(2, 0, str("\x1b["), 5, str("b")))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Decode(mod(tt.section))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.FuncName(5); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzCode(f *testing.F) {
	f.Add(cat(0x02, 0x40, 0x03, 0x7e, 0x0e, 2, 1, 0, 2, 0x0b, 0x0b, 0xfc, 0x0e, 3, 4, 0x0b))
	f.Add(cat(0x28, 2, 0, 0x1c, 1, 0x7f, 0x44, make([]byte, 8), 0x0b))
	f.Add(cat(0x0e, most))
	f.Fuzz(func(t *testing.T, code []byte) {
		c := Instructions(code)
		at, open := 0, 1
		for c.Next() {
			if c.Start != at || c.End <= c.Start || c.End > len(code) {
				t.Fatalf("got an instruction from %d to %d of %d, want it at %d", c.Start, c.End, len(code), at)
			}
			if n := len(c.AppendLabels(nil)); n != c.Labels {
				t.Fatalf("got %d labels, want %d", n, c.Labels)
			}
			switch at = c.End; c.Op {
			case OpBlock, OpLoop, OpIf:
				open++
			case OpEnd:
				open--
			}
		}
		if c.Err() == nil && (at != len(code) || open != 0) {
			t.Errorf("got the end at %d of %d with %d blocks open", at, len(code), open)
		}
	})
}
