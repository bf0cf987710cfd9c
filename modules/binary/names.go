package binary

import "strings"

// maxSymbol bounds one name in the name section: longer than any compiler's mangled names should be, and
// short enough for a trap's text.
const maxSymbol = 4 << 10

// Strip copies a decoded file without its custom sections. The name section stays, because it gives
// traps readable frames, but only when it is well-formed and free of control characters: engines read
// it with less care than the rest. Toolchain notes, DWARF and assets are not the engine's business, so
// files that differ in nothing else become the same bytes.
func Strip(file []byte, m *Module) []byte {
	out := append(make([]byte, 0, len(file)), file[:headerSize]...)
	named := false
	for _, s := range m.Sections {
		if s.ID == Custom {
			if named || s.Name != "name" || !goodNames(file, s) {
				continue
			}
			named = true
		}
		out = append(out, file[s.Start:s.End]...)
	}
	return out
}

// goodNames walks over a name section: subsections 0 (module), 1 (functions) and 2 (locals) are read,
// others are skipped.
func goodNames(file []byte, s Section) bool {
	r := &reader{file: file, pos: s.Body, end: s.End, section: "name"}
	for last := -1; r.left() > 0 && r.err == nil; {
		id := int(r.byte("a subsection"))
		size := r.count(len(file), 1, "bytes of a subsection")
		if id <= last {
			r.malformed(r.pos, "subsection %d comes behind %d", id, last)
		}
		if r.err != nil {
			return false
		}
		last = id
		in := r.within(size)
		switch id {
		case 0:
			in.symbol()
		case 1:
			in.nameMap()
		case 2:
			for range in.count(maxFuncs*2, 2, "functions") {
				in.u32("a function's index")
				if in.nameMap(); in.err != nil {
					break
				}
			}
		default:
			continue
		}
		if in.left() > 0 {
			in.malformed(in.pos, "bytes follow")
		}
		r.err = in.err
	}
	return r.err == nil
}

func (r *reader) nameMap() {
	for range r.count(maxFuncs*2, 2, "names") {
		r.u32("an index")
		if r.symbol(); r.err != nil {
			return
		}
	}
}

func (r *reader) symbol() {
	at := r.pos
	name := r.name("a symbol")
	control := func(c rune) bool { return c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 }
	if len(name) > maxSymbol || strings.ContainsFunc(name, control) {
		r.malformed(at, "a symbol is too long or has control characters")
	}
}

// FuncName is the name that the name section gives a function, empty without one. The section is
// refused as a whole, as Strip does, when a part of it is not well-formed.
func (m *Module) FuncName(index int) string {
	for _, s := range m.Sections {
		if s.ID == Custom && s.Name == "name" {
			return m.funcName(s, uint32(index))
		}
	}
	return ""
}

func (m *Module) funcName(s Section, index uint32) string {
	if !goodNames(m.file, s) {
		return ""
	}
	r := &reader{file: m.file, pos: s.Body, end: s.End}
	for r.left() > 0 {
		id := r.byte("a subsection")
		in := r.within(r.count(len(m.file), 1, "bytes of a subsection"))
		if id != 1 {
			continue
		}
		for range in.u32("names") {
			at := in.u32("an index")
			if name := in.name("a symbol"); at == index {
				return name
			}
		}
	}
	return ""
}
