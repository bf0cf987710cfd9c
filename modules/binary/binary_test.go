package binary

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeRefuses(t *testing.T) {
	body := func(locals ...any) []byte {
		b := cat(cat(locals...), 0x0b)
		return cat(leb(uint32(len(b))), b)
	}
	tests := []struct {
		name string
		file []byte
		code string
	}{
		{"empty", nil, "empty"},
		{"four bytes", []byte("\x00asm"), "truncated"},
		{"text", []byte("(module)"), "not_wasm"},
		{"one byte", []byte("\x00"), "not_wasm"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), "unsupported_version"},

		// A count that the bytes cannot hold, in every section that has one.
		{"count of data", mod(sec(DataSection, most)), "too_many"},
		{"count of elements", mod(sec(ElementSection, most)), "too_many"},
		{"count of code", mod(sec(CodeSection, most)), "too_many"},
		{"count of imports", mod(sec(ImportSection, most)), "too_many"},
		{"count of globals", mod(sec(GlobalSection, most)), "too_many"},
		{"count of tables", mod(sec(TableSection, most)), "too_many"},
		{"count of memories", mod(sec(MemorySection, most)), "too_many"},
		{"count of types", mod(sec(TypeSection, most)), "too_many"},
		{"count of functions", mod(oneType, sec(FunctionSection, most)), "too_many"},
		{"count of exports", mod(sec(ExportSection, most)), "too_many"},
		{"count of parameters", mod(sec(TypeSection, 1, 0x60, most)), "too_many"},
		{"count of results", mod(sec(TypeSection, 1, 0x60, 0, most)), "too_many"},
		{"count in an element segment", mod(sec(ElementSection, 1, 1, 0, most)), "too_many"},
		{"count of expressions in an element segment", mod(sec(ElementSection, 1, 5, 0x70, most)), "too_many"},
		{"count below the limit, more than the bytes", mod(sec(TypeSection, leb(9_000), 0x60)), "truncated"},
		{"size of a section", mod(1, most), "too_many"},
		{"size of a data segment", mod(sec(DataSection, 1, 1, most)), "too_many"},
		{"size of a function", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, most)), "too_many"},
		{"size of a name", mod(sec(ImportSection, 1, most, 0, 0, 0)), "too_many"},
		{"4 billion locals", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, body(1, most, 0x7f))), "too_many"},
		{"many groups of locals", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, body(leb(1500), strings.Repeat("\x02\x7f", 1500)))), "too_many"},
		{"large table", mod(sec(TableSection, 1, 0x70, 0, most)), "too_many"},
		{"many tables", mod(sec(TableSection, 2, 0x70, 0, 1, 0x70, 0, 1)), "too_many"},
		{"1,000 parameters", mod(sec(TypeSection, 1, 0x60, leb(1000), strings.Repeat("\x7f", 1000), 0)), "too_many"},
		{"large function", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, body(0, make([]byte, maxBody)))), "too_large"},

		{"number of 6 bytes", mod(sec(TypeSection, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), "malformed"},
		{"number of 33 bits", mod(sec(TypeSection, 0xff, 0xff, 0xff, 0xff, 0x1f)), "malformed"},
		{"section twice", mod(oneType, oneType), "malformed"},
		{"sections out of order", mod(sec(FunctionSection, 0), oneType), "malformed"},
		{"data count behind code", mod(sec(CodeSection, 0), sec(DataCount, 0)), "malformed"},
		{"unknown section", mod(sec(14, 0)), "malformed"},
		{"bytes behind a section's last element", mod(sec(TypeSection, 0, 0)), "malformed"},
		{"function without code", mod(oneType, sec(FunctionSection, 1, 0)), "malformed"},
		{"data count that is wrong", mod(sec(DataCount, 2)), "malformed"},
		{"function of an unknown type", mod(oneType, sec(FunctionSection, 1, 1)), "malformed"},
		{"import of an unknown type", mod(sec(ImportSection, 1, str("m"), str("f"), 0, 0)), "malformed"},
		{"import of an unknown kind", mod(sec(ImportSection, 1, str("m"), str("f"), 9)), "malformed"},
		{"export of nothing", mod(sec(ExportSection, 1, str("f"), 0, 0)), "malformed"},
		{"export of an unknown kind", mod(sec(ExportSection, 1, str("f"), 7, 0)), "malformed"},
		{"export twice", mod(sec(MemorySection, 1, 0, 1), sec(ExportSection, 2, str("m"), 2, 0, str("m"), 2, 0)), "malformed"},
		{"name that is not UTF-8", mod(sec(ExportSection, 1, str("\xff"), 0, 0)), "malformed"},
		{"start of nothing", mod(sec(StartSection, 0)), "malformed"},
		{"start with a parameter", mod(sec(TypeSection, 1, 0x60, 1, 0x7f, 0), sec(FunctionSection, 1, 0), sec(StartSection, 0), sec(CodeSection, 1, body(0))), "malformed"},
		{"function without end", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, 2, 0, 0x01)), "malformed"},
		{"function of no bytes", mod(oneType, sec(FunctionSection, 1, 0), sec(CodeSection, 1, 0, 0, 0)), "truncated"},
		{"memory of 65,537 pages", mod(sec(MemorySection, 1, 0, leb(65_537))), "malformed"},
		{"minimum above maximum", mod(sec(MemorySection, 1, 1, 2, 1)), "malformed"},
		{"type of form 0", mod(sec(TypeSection, 1, 0, 0, 0)), "malformed"},
		{"unknown value type", mod(sec(TypeSection, 1, 0x60, 1, 0x01, 0)), "malformed"},
		{"constant expression that calls", mod(sec(GlobalSection, 1, 0x7f, 0, 0x10, 0, 0x0b)), "malformed"},
		{"constant expression without end", mod(sec(GlobalSection, 1, 0x7f, 0, 0x41, 0)), "truncated"},

		{"shared memory", mod(sec(MemorySection, 1, 3, 1, 1)), "unsupported_feature"},
		{"memory64", mod(sec(MemorySection, 1, 4, 1)), "unsupported_feature"},
		{"two memories", mod(sec(MemorySection, 2, 0, 1, 0, 1)), "unsupported_feature"},
		{"tag section", mod(oneType, sec(TagSection, 1, 0, 0)), "unsupported_feature"},
		{"imported tag", mod(oneType, sec(ImportSection, 1, str("e"), str("t"), 4, 0, 0)), "unsupported_feature"},
		{"struct type", mod(sec(TypeSection, 1, 0x5f, 0, 0)), "unsupported_feature"},
		{"vector type", mod(sec(TypeSection, 1, 0x60, 1, 0x7b, 0)), "unsupported_feature"},
		{"exception reference", mod(sec(TypeSection, 1, 0x60, 1, 0x69, 0)), "unsupported_feature"},
		{"typed reference", mod(sec(TypeSection, 1, 0x60, 1, 0x64, 0)), "unsupported_feature"},
		{"vector constant", mod(sec(GlobalSection, 1, 0x7f, 0, 0xfd, 0x0c, make([]byte, 16), 0x0b)), "unsupported_feature"},
		{"extended constant", mod(sec(GlobalSection, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b)), "unsupported_feature"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(tt.file)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got.Code != tt.code {
				t.Errorf("got code %s (%v), want %s", got.Code, got, tt.code)
			}
			if got.Fix == "" || got.What == "" {
				t.Errorf("got %+v, want what and fix", got)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	file := mod(
		sec(TypeSection, 2, 0x60, 2, 0x7f, 0x7e, 1, 0x7d, 0x60, 0, 0),
		sec(Custom, str("note"), "hello"),
		sec(ImportSection, 2, str("a"), str("f"), 0, 0, str("a"), str("g"), 3, 0x7f, 1),
		sec(FunctionSection, 1, 1),
		sec(TableSection, 1, 0x70, 0, 1),
		sec(MemorySection, 1, 1, 1, 2),
		sec(GlobalSection, 1, 0x7c, 0, 0x44, make([]byte, 8), 0x0b),
		sec(ExportSection, 3, str("memory"), 2, 0, str("run"), 0, 1, str("g"), 3, 1),
		sec(StartSection, 1),
		sec(ElementSection, 2, 0, 0x41, 0, 0x0b, 1, 1, 5, 0x70, 1, 0xd2, 1, 0x0b),
		sec(DataCount, 2),
		sec(CodeSection, 1, 4, 1, 2, 0x7f, 0x0b),
		sec(DataSection, 2, 0, 0x41, 0, 0x0b, 1, "x", 1, 1, "y"),
	)
	m, err := Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	f := FuncType{Params: []ValType{I32, I64}, Results: []ValType{F32}}
	if got, want := f.String(), "(i32, i64) -> f32"; got != want {
		t.Errorf("got type %q, want %q", got, want)
	}
	imports := []Import{{Module: "a", Name: "f", Kind: Func, Type: f, Offset: 35}, {Module: "a", Name: "g", Kind: Global, Offset: 41}}
	if diff := cmp.Diff(imports, m.Imports); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Limits{{Min: 1, Max: 2, HasMax: true}}, m.Memories); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	if len(m.Globals) != 2 || len(m.Tables) != 1 || !m.HasStart || len(m.Functions) != 1 {
		t.Errorf("got %d globals, %d tables, start %v, %d functions, want 2, 1, true, 1", len(m.Globals), len(m.Tables), m.HasStart, len(m.Functions))
	}
	if e, ok := m.Export("run"); !ok || e.Kind != Func || !e.Type.Equal(FuncType{}) {
		t.Errorf("got export run %+v, want a function () -> ()", e)
	}
	if _, ok := m.Export("walk"); ok {
		t.Error("got an export walk, want none")
	}
	var note Section
	for _, s := range m.Sections {
		if s.Name == "note" {
			note = s
		}
	}
	if got := string(file[note.Body:note.End]); got != "hello" {
		t.Errorf("got content %q of the section note, want hello", got)
	}
}

func TestStrip(t *testing.T) {
	names := func(content ...any) []byte { return sec(Custom, str("name"), cat(content...)) }
	fn := func(name string) []byte {
		b := cat(1, 0, str(name))
		return cat(1, leb(uint32(len(b))), b)
	}
	good := names(fn("main.main"))
	tests := []struct {
		name     string
		in, want []byte
	}{
		{"nothing to do", mod(oneType), mod(oneType)},
		{"notes, DWARF, assets", mod(sec(Custom, str(".debug_info"), "x"), oneType, sec(Custom, str("reprise.asset.a"), "x"), sec(Custom, str("producers"))), mod(oneType)},
		{"good names", mod(oneType, good), mod(oneType, good)},
		{"good names, twice", mod(oneType, good, good), mod(oneType, good)},
		{"names with ESC", mod(oneType, names(fn("\x1b[31m"))), mod(oneType)},
		{"names with a line break", mod(oneType, names(fn("a\r\nb"))), mod(oneType)},
		{"name of 1 MiB", mod(oneType, names(fn(strings.Repeat("a", 1<<20)))), mod(oneType)},
		{"4 billion names", mod(oneType, names(1, 5, most)), mod(oneType)},
		{"4 billion local names", mod(oneType, names(2, 7, 1, 0, most)), mod(oneType)},
		{"names beyond their subsection", mod(oneType, names(1, 2, 1, 0, str("f"))), mod(oneType)},
		{"bytes behind the names", mod(oneType, names(1, 2, 0, 0)), mod(oneType)},
		{"subsections out of order", mod(oneType, names(1, 1, 0, 0, 2, 1, "m")), mod(oneType)},
		{"unknown subsection", mod(oneType, names(9, 2, "xx")), mod(oneType, names(9, 2, "xx"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Decode(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := Strip(tt.in, m); !bytes.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(mod(oneType, sec(FunctionSection, 1, 0), sec(ExportSection, 1, str("_start"), 0, 0), sec(CodeSection, 1, 2, 0, 0x0b)))
	f.Add(mod(sec(ElementSection, 1, 5, 0x70, 1, 0xd2, 0, 0x0b), sec(Custom, str("name"), 1, 4, 1, 0, 1, "f")))
	f.Add(mod(sec(DataSection, most)))
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Decode(file)
		if err != nil {
			if len(err.Error()) > 4<<10 {
				t.Errorf("got an error of %d bytes, want at most 4 KiB", len(err.Error()))
			}
			return
		}
		if copied := NewWriter(m).Bytes(); !bytes.Equal(copied, file) {
			t.Errorf("got another file from a copy without changes")
		}
		// What was understood once is understood again without its custom sections, and means the same.
		code := Strip(file, m)
		again, err := Decode(code)
		if err != nil {
			t.Fatalf("stripped module: %v", err)
		}
		if diff := cmp.Diff(m.Types, again.Types); diff != "" || len(again.Exports) != len(m.Exports) || len(again.Imports) != len(m.Imports) {
			t.Errorf("the stripped module declares other things: %s", diff)
		}
		if !bytes.Equal(Strip(code, again), code) {
			t.Error("stripping twice is not the same as once")
		}
	})
}
