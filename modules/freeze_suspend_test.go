package modules

import (
	"bytes"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// waiting is a command of functions of type () -> () that can call wait, which is function 0. The first is the entry.
func waiting(functions ...[]byte) []byte {
	n := len(functions)
	code := each(n, func(i int) []byte { return append(leb(len(functions[i])), functions[i]...) })
	return with(header,
		section(binary.TypeSection, []byte{2, 0x60, 0, 0, 0x60, 5, 0x7f, 0x7f, 0x7e, 0x7f, 0x7f, 1, 0x7f}),
		section(binary.ImportSection, []byte{1}, str(abi.Module), str("wait"), []byte{0, 1}),
		section(binary.FunctionSection, leb(n), make([]byte, n)),
		section(binary.MemorySection, []byte{1, 0, 1}),
		section(binary.ExportSection, []byte{2}, str("_start"), []byte{0, 1}, str("memory"), []byte{2, 0}),
		section(binary.CodeSection, leb(n), code))
}

// aWait waits and leaves the result on the stack.
var aWait = bytes.Join([][]byte{zero, zero, {0x42, 0}, zero, zero, {0x10, 0}}, nil)

// waitShapes are functions whose frames take much code to save. At n the compiler can bear it, above it cannot.
var waitShapes = []shape{
	{"waits in a row", 3_600, 390, "instructions", func(n int) []byte { return function(0, times(n, aWait, drop)) }},
	{"waits in blocks in one another", 1_100, 100, "blocks, loops, ifs", func(n int) []byte {
		return function(0, times(n, block, aWait, drop), times(n, end))
	}},
	{"locals over waits", 150, 50, "locals times branches", func(n int) []byte {
		return function(n, each(n, func(i int) []byte { return append(op(0x3f, 0), set(i)...) }), times(800, aWait, drop), each(n, func(i int) []byte { return append(get(i), drop...) }))
	}},
	{"operands over waits", 8, 12, "grow too much", func(n int) []byte {
		return function(0, times(n, zero), times(1_000, aWait, drop), times(n, drop))
	}},
}

// TestSavingIsBounded falls back to replay when the code that saves frames would be too much for the compiler.
func TestSavingIsBounded(t *testing.T) {
	for _, s := range waitShapes {
		t.Run(s.name, func(t *testing.T) {
			p, refused := prepare(t, waiting(s.make(s.limit)))
			if refused != nil || p.Freeze.Kind != FreezeSuspend || p.Rewritten.SavingSites != p.Freeze.Sites {
				t.Errorf("got %v and %+v for %d, want code that saves its frames", refused, p.Freeze, s.limit)
			}
			p, refused = prepare(t, waiting(s.make(s.limit+s.step)))
			if refused != nil || p.Freeze.Kind != FreezeReplay || p.Rewritten.SavingSites != 0 {
				t.Fatalf("got %v and %+v for %d, want replay", refused, p.Freeze, s.limit+s.step)
			}
			if !strings.Contains(p.Freeze.Reason, "function 1") || !strings.Contains(p.Freeze.Reason, s.say) {
				t.Errorf("got %q, want function 1 and %q in it", p.Freeze.Reason, s.say)
			}
			if bytes.Contains(p.Code, []byte(rewrite.ExportState)) {
				t.Error("its code has a state")
			}
		})
	}
}
