package binary

import "fmt"

// SectionID is the number of a section.
type SectionID byte

// The sections of a module.
const (
	Custom          SectionID = 0
	TypeSection     SectionID = 1
	ImportSection   SectionID = 2
	FunctionSection SectionID = 3
	TableSection    SectionID = 4
	MemorySection   SectionID = 5
	GlobalSection   SectionID = 6
	ExportSection   SectionID = 7
	StartSection    SectionID = 8
	ElementSection  SectionID = 9
	CodeSection     SectionID = 10
	DataSection     SectionID = 11
	DataCount       SectionID = 12
	TagSection      SectionID = 13
)

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count", "tag"}

// order is the place of each section, by id: the later ids were put in between.
var order = [...]int{Custom: 0, TypeSection: 1, ImportSection: 2, FunctionSection: 3, TableSection: 4, MemorySection: 5,
	TagSection: 6, GlobalSection: 7, ExportSection: 8, StartSection: 9, ElementSection: 10, DataCount: 11, CodeSection: 12, DataSection: 13}

// String is the section's name.
func (id SectionID) String() string {
	if int(id) < len(sectionNames) {
		return sectionNames[id]
	}
	return fmt.Sprintf("unknown (%d)", byte(id))
}

const headerSize = 8

// Decode reads what a module declares. The module keeps the file, which nobody may change from then on.
// Every error is an *Error.
func Decode(file []byte) (*Module, error) { return readModule(file, false) }

// DecodeWritten is Decode for what a Writer wrote: it is not compared with the bounds of what a module may declare,
// because a copy of a module that is at one of them may be above it.
func DecodeWritten(file []byte) (*Module, error) { return readModule(file, true) }

func readModule(file []byte, unbounded bool) (*Module, error) {
	if err := header(file); err != nil {
		return nil, err
	}
	m := &Module{file: file, dataCount: -1}
	r := &reader{file: file, pos: headerSize, end: len(file), used: &m.used, unbounded: unbounded}
	r.refs = func(_, _ int, index uint32) { m.highest = max(m.highest, index) }
	last := Custom
	for r.left() > 0 && r.err == nil {
		last = m.section(r, last)
	}
	if r.err == nil {
		m.consistent(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// header tells the things that people upload by mistake apart.
func header(file []byte) error {
	refuse := func(code, fix, format string, args ...any) error {
		return &Error{Code: code, What: fmt.Sprintf(format, args...), Fix: fix}
	}
	const fixWasm = "upload the .wasm file that your toolchain wrote"
	switch {
	case len(file) == 0:
		return refuse("empty", fixWasm, "the file is empty")
	case len(file) < 4 || string(file[:4]) != "\x00asm":
		return refuse("not_wasm", fixWasm, "this is not a Wasm module: it begins with %.4q, not \"\\x00asm\"", file[:min(4, len(file))])
	case len(file) < headerSize:
		return refuse("truncated", fixTruncated, "the bytes end inside the header")
	case string(file[4:8]) == "\x0d\x00\x01\x00":
		return refuse("component", "build a core module for WASI preview 1: GOOS=wasip1 for Go, --target wasm32-wasip1 for Rust, and no componentize step",
			"this is a component (component model), and the host runs core modules")
	case string(file[4:8]) != "\x01\x00\x00\x00":
		return refuse("unsupported_version", "build for Wasm binary version 1", "the binary's version is % x, and the host reads 01 00 00 00", file[4:8])
	}
	return nil
}

// section reads one section and returns the id that the next one must come after.
func (m *Module) section(r *reader, last SectionID) SectionID {
	r.section = ""
	start := r.pos
	if !r.use(boundSections, int64(len(m.Sections)+1), -1) {
		r.fail(start, "too_many", "strip its custom sections", "the number of sections is more than %d", maxSections)
		return last
	}
	id := SectionID(r.byte("a section's id"))
	if r.err == nil && int(id) >= len(order) {
		r.malformed(start, "there is no section with id %d", byte(id))
	}
	r.section = ""
	if r.err == nil {
		r.section = id.String()
	}
	size := r.count(len(r.file), 1, "bytes in the section")
	if r.err != nil {
		return last
	}
	if id != Custom && order[id] <= order[last] {
		r.malformed(start, "the %s section comes twice or in the wrong place, behind the %s section", id, last)
		return last
	}
	s := Section{ID: id, Start: start, Body: r.pos, End: r.pos + size}
	in := r.within(size)
	if id == Custom {
		s.Name = in.name("the section's name")
		s.Body = in.pos
		in.pos = in.end
	} else {
		last = id
		m.content(in, id)
		if in.err == nil && in.left() > 0 {
			in.malformed(in.pos, "%d bytes follow the section's last element", in.left())
		}
	}
	r.err = in.err
	m.Sections = append(m.Sections, s)
	return last
}

func (m *Module) content(r *reader, id SectionID) {
	switch id {
	case TypeSection:
		m.types(r)
	case ImportSection:
		m.imports(r)
	case FunctionSection:
		m.functions(r)
	case TableSection:
		m.tables(r)
	case MemorySection:
		m.memories(r)
	case GlobalSection:
		m.globals(r)
	case ExportSection:
		m.exports(r)
	case StartSection:
		m.start(r)
	case ElementSection:
		m.elements(r)
	case DataCount:
		m.dataCount = int64(r.u32("the number of data segments"))
	case CodeSection:
		m.code(r)
	case DataSection:
		m.data(r)
	case TagSection:
		r.unsupported(r.pos, "exceptions", "the module uses Wasm exceptions")
	}
}

// consistent checks what two sections must agree on.
func (m *Module) consistent(r *reader) {
	r.section = ""
	if len(m.Bodies) != len(m.Functions) {
		r.malformed(r.end, "%d functions are declared and %d have code", len(m.Functions), len(m.Bodies))
	}
	if m.dataCount >= 0 && m.dataCount != int64(len(m.Data)) {
		r.malformed(r.end, "%d data segments are announced and %d are there", m.dataCount, len(m.Data))
	}
}

// fixFeature says how each feature is left out, by the toolchains that put it in.
var fixFeature = map[string]string{
	"exceptions":     "build without them: -fno-exceptions for C++, panic=abort for Rust",
	"shared_memory":  "build without threads: no -pthread, no +atomics",
	"memory64":       "build for wasm32",
	"multi_memory":   "build with one memory",
	"simd":           "build without -msimd128 or +simd128",
	"gc":             "build for linear memory: the host has no Wasm GC",
	"extended_const": "build without -mextended-const",

	"tail_calls":          "build without -mtail-call or +tail-call",
	"function_references": "build without typed function references",
	"stack_switching":     "build without stack switching",
	"wide_arithmetic":     "build without -mwide-arithmetic",
}

func (r *reader) unsupported(at int, feature, what string) {
	r.fail(at, "unsupported_feature", fixFeature[feature], "%s, which this host does not run", what)
}
