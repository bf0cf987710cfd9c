// Package binary owns the form of a Wasm binary: it reads what a module declares (types, imports,
// functions, exports, memories, tables, sections) and walks over the instructions of its functions. It
// knows core Wasm 2.0 without vectors, and names what lies beyond. Its input is hostile: it never panics, never allocates from a count that the bytes left cannot hold, and takes
// time in proportion to the bytes. It never judges a module by the host's contract and never runs one;
// package modules does the first and the sandbox the second.
package binary

import (
	"fmt"
	"strings"
)

// ValType is a value type as it is written in a binary.
type ValType byte

// The value types of core Wasm.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// String is the type's name in Wasm text.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type 0x%02x", byte(t))
}

// FuncType is the type of a function.
type FuncType struct {
	Params, Results []ValType
}

// Equal says whether two types are the same.
func (t FuncType) Equal(o FuncType) bool {
	return string(bytesOf(t.Params)) == string(bytesOf(o.Params)) && string(bytesOf(t.Results)) == string(bytesOf(o.Results))
}

func bytesOf(ts []ValType) []byte {
	b := make([]byte, len(ts))
	for i, t := range ts {
		b[i] = byte(t)
	}
	return b
}

// String is the form (i32, i64) -> i32.
func (t FuncType) String() string {
	return "(" + join(t.Params) + ") -> " + results(t.Results)
}

func join(ts []ValType) string {
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.String()
	}
	return strings.Join(words, ", ")
}

func results(ts []ValType) string {
	if len(ts) == 1 {
		return ts[0].String()
	}
	return "(" + join(ts) + ")"
}

// Kind is what an import or export is.
type Kind byte

// The kinds of import and export.
const (
	Func   Kind = 0
	Table  Kind = 1
	Memory Kind = 2
	Global Kind = 3
)

// String is the kind's word.
func (k Kind) String() string {
	switch k {
	case Func:
		return "function"
	case Table:
		return "table"
	case Memory:
		return "memory"
	case Global:
		return "global"
	}
	return fmt.Sprintf("kind 0x%02x", byte(k))
}

// Import is one row of the import section.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType // of a function
	Offset       int
}

// Export is one row of the export section. Index is in range.
type Export struct {
	Name   string
	Kind   Kind
	Index  uint32
	Type   FuncType // of a function
	Offset int
}

// Limits are the bounds of a memory (in pages of 64 KiB) or table (in entries).
type Limits struct {
	Min    uint32
	Max    uint32
	HasMax bool
}

// GlobalType is the type of a global.
type GlobalType struct {
	Type    ValType
	Mutable bool
}

// Section is where one section stands. File[Start:End] is all of it, File[Body:End] its content, which
// for a custom section begins behind the name.
type Section struct {
	ID               SectionID
	Name             string // of a custom section
	Start, Body, End int
}

// Data is one segment of the data section.
type Data struct {
	At       int    // where it stands in the file
	Passive  bool   // only memory.init copies it
	Offset   uint32 // in memory, when Constant
	Constant bool   // the offset is a constant, not the value of a global
	Start    int    // of its bytes in the file
	End      int
}

// Module is what a binary declares.
type Module struct {
	Types     []FuncType
	Imports   []Import
	Functions []uint32 // type index of each function that is not imported
	Tables    []Limits // imported ones first, as for Memories
	Memories  []Limits
	Globals   []GlobalType // imported ones first
	Exports   []Export
	HasStart  bool   // a start section: code that runs at instantiation
	Start     uint32 // the function that it names
	Elements  []Element
	Data      []Data
	Sections  []Section
	Bodies    []Body // of each function that is not imported

	file      []byte // not ours to change
	funcTypes []uint32
	highest   uint32    // function that is named outside of code
	tableRefs []ValType // what each table holds
	dataCount int64     // of the data count section, -1 without one
	used      [boundCount]figure
}

// Element is a segment of the element section.
type Element struct {
	// Active says that it is put into a table when an instance is made, at Offset when that is Constant.
	Active, Constant bool
	Offset           uint32
	// Funcs are the functions in it; none when it is a list of Expressions.
	Funcs       []uint32
	Expressions bool
}

// FuncType is the type of a function by its index, imported ones first. An index that is too high has the
// zero type.
func (m *Module) FuncType(index uint32) FuncType {
	if int64(index) >= int64(len(m.funcTypes)) {
		return FuncType{}
	}
	return m.Types[m.funcTypes[index]]
}

// NamesUnknownFunc says whether a section other than code names a function that the module does not have.
func (m *Module) NamesUnknownFunc() bool { return m.highest > 0 && int(m.highest) >= len(m.funcTypes) }

// Bytes is a part of the file; the caller does not change it.
func (m *Module) Bytes(start, end int) []byte { return m.file[start:end:end] }

// Size is the length of the file in bytes.
func (m *Module) Size() int { return len(m.file) }

// ImportedFuncs is the number of functions that are imported. They come first in the index space.
func (m *Module) ImportedFuncs() int { return len(m.funcTypes) - len(m.Functions) }

// Export finds an export by name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// Error says why bytes are not a module that this host can take.
type Error struct {
	Code    string // stable word, for example "truncated"
	What    string // text from the module in it is quoted and cut
	Section string // empty in the header
	Offset  int    // in bytes from the start of the file
	Fix     string
}

// Error is the one-line form.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s)", e.What, e.Where())
}

// Where is the place in words.
func (e *Error) Where() string {
	if e.Section == "" {
		return fmt.Sprintf("offset 0x%x", e.Offset)
	}
	return fmt.Sprintf("%s section, offset 0x%x", e.Section, e.Offset)
}
