package binary

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUses declares some of everything.
func TestUses(t *testing.T) {
	file := mod(
		sec(TypeSection, 2, 0x60, 0, 0, 0x60, 3, 0x7f, 0x7e, 0x7d, 2, 0x7f, 0x7f),
		sec(ImportSection, 1, str("m"), str("f"), 0, 0),
		sec(FunctionSection, 3, 0, 1, 0),
		sec(TableSection, 1, 0x70, 0, 77),
		sec(GlobalSection, 1, 0x7f, 0, 0x41, 0, 0x0b),
		sec(ExportSection, 2, str("a"), 0, 0, str("b"), 0, 1),
		sec(ElementSection, 2, 0, 0x41, 0, 0x0b, 2, 0, 1, 0, 0x41, 0, 0x0b, 3, 1, 1, 1),
		sec(CodeSection, 3, 2, 0, 0x0b, 4, 1, 9, 0x7f, 0x0b, 6, 0, 0x01, 0x01, 0x01, 0x01, 0x0b),
		sec(DataSection, 1, 1, 3, "abc"),
	)
	m, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Use{
		{"sections", 9, maxSections, -1},
		{"types", 2, maxTypes, -1},
		{"parameters of a function", 3, maxParams, 2},
		{"results of a function", 2, maxResults, 2},
		{"imports", 1, maxImports, -1},
		{"functions", 3, maxFuncs, -1},
		{"entries of the table at its start", 77, maxEntries, -1},
		{"globals", 1, maxGlobals, -1},
		{"exports", 2, maxExports, -1},
		{"element segments", 2, maxSegments, -1},
		{"elements of a segment", 3, maxElements, -1},
		{"bytes of a function", 6, maxBody, 3},
		{"locals of a function", 9, maxLocals, 2},
		{"data segments", 1, maxSegments, -1},
	}
	if diff := cmp.Diff(want, m.Uses()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w := NewWriter(m)
	w.AddImport("m", "g", FuncType{})
	w.Bytes() // reads sections again, which counts nothing
	if diff := cmp.Diff(want, m.Uses()); diff != "" {
		t.Errorf("after writing (-want +got):\n%s", diff)
	}
}

// TestSectionsAreBounded counts custom sections, which take 3 bytes each and are kept.
func TestSectionsAreBounded(t *testing.T) {
	one := sec(Custom, str(""))
	if _, err := Decode(mod(bytes.Repeat(one, maxSections))); err != nil {
		t.Errorf("got %v for %d sections, want none", err, maxSections)
	}
	_, err := Decode(mod(bytes.Repeat(one, maxSections+1)))
	if e, ok := err.(*Error); !ok || e.Code != "too_many" {
		t.Errorf("got %v for one more, want too_many", err)
	}
}

// TestWrittenModulesHaveNoBounds takes a copy of a module that was at its bounds.
func TestWrittenModulesHaveNoBounds(t *testing.T) {
	groups := bytes.Repeat([]byte{1, 0x7f}, maxLocals)
	function := cat(leb(maxLocals), groups, 0x0b)
	m, err := Decode(mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, leb(uint32(len(function))), function)))
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(m)
	for i := range maxExports + 1 {
		w.AddExport(string(rune('a'+i)), Func, 0)
	}
	w.SetBody(0, []ValType{I32}, []byte{0x0b})
	out := w.Bytes()
	if _, err := Decode(out); err == nil {
		t.Error("got a module above its bounds")
	}
	got, err := DecodeWritten(out)
	if err != nil || got.Bodies[0].Declared != maxLocals+1 || len(got.Exports) != maxExports+1 {
		t.Errorf("got %v, want a module", err)
	}
	if _, err := DecodeWritten(mod(sec(TypeSection, most))); err == nil {
		t.Error("got a module with more types than bytes")
	}
}

func TestConstants(t *testing.T) {
	tests := []struct {
		code []byte
		want int64
	}{
		{[]byte{0x41, 0x05}, 5},
		{[]byte{0x41, 0x7f}, -1},
		{[]byte{0x41, 0x80, 0x7f}, -128},
		{[]byte{0x41, 0xff, 0xff, 0xff, 0xff, 0x07}, 1<<31 - 1},
		{[]byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x78}, -1 << 31},
		{[]byte{0x42, 0x81, 0x80, 0xa0, 0xcb, 0x01}, 426246145},
		{[]byte{0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, -1 << 63},
		{[]byte{0x42, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}, 1<<63 - 1},
	}
	for _, tt := range tests {
		c := Instructions(append(tt.code, 0x0b))
		if !c.Next() || c.Constant() != tt.want {
			t.Errorf("% x: got %d (%v), want %d", tt.code, c.Constant(), c.Err(), tt.want)
		}
	}
	c := Instructions([]byte{0x28, 0x02, 0xa8, 0x01, 0x0b})
	if !c.Next() || c.Displacement() != 168 {
		t.Errorf("got a displacement of %d (%v), want 168", c.Displacement(), c.Err())
	}
}

func TestReferencedAndLocals(t *testing.T) {
	m, err := Decode(mod(
		oneType,
		sec(ImportSection, 1, str("m"), str("f"), 0, 0),
		sec(FunctionSection, 4, 0, 0, 0, 0),
		sec(TableSection, 1, 0x70, 0, 4),
		sec(GlobalSection, 1, 0x70, 0, 0xd2, 2, 0x0b),
		sec(ExportSection, 1, str("a"), 0, 3),
		sec(ElementSection, 1, 0, 0x41, 0, 0x0b, 2, 0, 4),
		sec(CodeSection, 4, 2, 0, 0x0b, 8, 3, 1, 0x7f, 2, 0x70, 1, 0x7c, 0x0b, 2, 0, 0x0b, 2, 0, 0x0b),
	))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true, false, true, false, true}, m.Referenced()); diff != "" {
		t.Errorf("referenced (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ValType{I32, FuncRef, FuncRef, F64}, m.AppendLocals(nil, 1)); diff != "" {
		t.Errorf("locals (-want +got):\n%s", diff)
	}
}
