package rewrite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

// tabled is a module whose function f, of type (i) -> (i), calls by table what its argument says, with the type () -> (i).
// The functions from 1 to 300 give their own number, except 7, which is of another type. more is code that f begins with.
func tabled(entries int, elements []byte, more ...byte) []byte {
	const functions = 300
	section := func(id binary.SectionID, content []byte) []byte {
		return append(binary.AppendUint([]byte{byte(id)}, uint32(len(content))), content...)
	}
	body := func(code []byte) []byte {
		return append(binary.AppendUint(nil, uint32(len(code)+2)), append(append([]byte{0}, code...), end)...)
	}
	types, bodies := []byte{0}, body(ins(more, get(0), 0x11, 1, 0))
	for i := int64(1); i <= functions; i++ {
		if i == 7 {
			types, bodies = append(types, 0), append(bodies, body(get(0))...)
			continue
		}
		types, bodies = append(types, 1), append(bodies, body(num(i))...)
	}
	count := binary.AppendUint(nil, functions+1)
	file := append([]byte("\x00asm\x01\x00\x00\x00"), section(binary.TypeSection, []byte{2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f})...)
	file = append(file, section(binary.FunctionSection, append(bytes.Clone(count), types...))...)
	file = append(file, section(binary.TableSection, binary.AppendUint([]byte{1, 0x70, 0}, uint32(entries)))...)
	file = append(file, section(binary.ExportSection, []byte{1, 1, 'f', 0, 0})...)
	file = append(file, section(binary.ElementSection, elements)...)
	return append(file, section(binary.CodeSection, append(count, bodies...))...)
}

// segment is an active one of functions that follow one another.
func segment(offset int64, first, n uint32) []byte {
	b := binary.AppendUint(append(append([]byte{0}, num(offset)...), end), n)
	for i := range n {
		b = binary.AppendUint(b, first+i)
	}
	return b
}

// TestLazyTable: a call by table finds what it finds without the pass, whatever it asks for.
func TestLazyTable(t *testing.T) {
	// Two segments with a gap between them, and a third over the end of the first.
	file := tabled(1000, ins([]byte{3}, segment(100, 1, 150), segment(300, 50, 200), segment(200, 280, 5)))
	out, info := apply(t, file, Options{LazyTable: 350})
	if info.LazyEntries != 350 {
		t.Fatalf("got %d entries that are filled when they are called, want 350", info.LazyEntries)
	}
	for engine := range engines {
		k := newMachine(t, engine)
		traps := map[string]bool{}
		for _, arg := range []uint64{0, 99, 100, 106, 163, 164, 199, 200, 204, 205, 249, 250, 299, 300, 499, 500, 547, 999, 1000, 1 << 31, 0xffffffff} {
			want := k.call(t, file, 0, "f", arg)
			if diff := cmp.Diff(want, k.call(t, out, 0, "f", arg)); diff != "" {
				t.Errorf("%s, entry %d (-without +with):\n%s", engine, arg, diff)
			}
			traps[want.Trap] = true
		}
		if len(traps) != 3 {
			t.Errorf("%s: got the traps %v, want none, one of what is not there, and one of the type", engine, traps)
		}
	}
}

// TestNotLazy: where more than calls could see the table, it is as it was.
func TestNotLazy(t *testing.T) {
	good := ins([]byte{1}, segment(0, 1, 300))
	tests := map[string][]byte{
		"few":                tabled(300, ins([]byte{1}, segment(0, 1, 5))),
		"none":               tabled(300, []byte{0}),
		"far apart":          tabled(100_000, ins([]byte{2}, segment(0, 1, 200), segment(99_000, 1, 200))),
		"behind the end":     tabled(299, good),
		"expressions":        tabled(300, ins([]byte{2}, segment(0, 1, 300), []byte{5, 0x70, 1, 0xd2, 1, end})),
		"looks at its size":  tabled(300, good, 0xfc, 16, 0, drop),
		"takes an entry":     tabled(300, good, ins(num(0), 0x25, 0, drop)...),
		"sets an entry":      tabled(300, good, ins(num(0), num(0), 0x25, 0, 0x26, 0)...),
		"an unknown element": tabled(300, ins([]byte{1}, segment(0, 2, 300))), // the last would be a function of the host's
	}
	for name, file := range tests {
		t.Run(name, func(t *testing.T) {
			if out, info := apply(t, file, Options{LazyTable: 10}); info.LazyEntries != 0 || !bytes.Equal(out, file) {
				t.Errorf("got %d entries that are filled when they are called, want none and the same file", info.LazyEntries)
			}
		})
	}
	k := newMachine(t, "compiler")
	if _, err := k.try(tests["an unknown element"], 0, "f", 0); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("got %v, want a refusal", err)
	}
}
