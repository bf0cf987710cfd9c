package binary

import "slices"

// extended renumbers the functions in a section and appends elements to it.
func (w *Writer) extended(s Section, count int, more []byte) []byte {
	if count == 0 && len(w.imports) == 0 {
		return nil
	}
	r := &reader{file: w.m.file, pos: s.Body, end: s.End}
	out := make([]byte, 0, s.End-s.Body+len(more)+8)
	if s.ID != StartSection { // which has no count
		n := uint32(0)
		if s.End > 0 {
			n = r.u32("a count")
		}
		out = AppendUint(out, n+uint32(count))
	}
	copied := r.pos
	visit := &reader{file: w.m.file, pos: s.Body, end: s.End, refs: func(start, end int, index uint32) {
		out = append(out, w.m.file[copied:start]...)
		out = AppendUint(out, w.FuncIndex(index))
		copied = end
	}}
	if s.ID != ImportSection && s.ID != TypeSection {
		w.again(visit, s)
	}
	return append(append(out, w.m.file[copied:s.End]...), more...)
}

// again walks over a section that was decoded before, so that the reader's refs hears of its functions.
func (w *Writer) again(r *reader, s Section) {
	if s.End == 0 {
		return
	}
	scratch := Module{Types: w.m.Types, Tables: w.m.Tables, Memories: w.m.Memories, Globals: slices.Clip(w.m.Globals), funcTypes: w.m.funcTypes}
	scratch.content(r, s.ID)
}

// AppendRenumbered appends the instructions of a function of the module, with each function that they
// name under its index in the copy.
func (w *Writer) AppendRenumbered(to []byte, i int) []byte {
	copied := w.m.Bodies[i].Code
	for code := w.m.Code(i); code.Next(); {
		if code.Op == OpCall || code.Op == OpRefFunc {
			to = append(to, w.m.file[copied:code.Start+1]...)
			to = AppendUint(to, w.FuncIndex(code.Index))
			copied = code.End
		}
	}
	return append(to, w.m.file[copied:w.m.Bodies[i].End]...)
}

// names renumbers the functions in a name section, nil when it is not well-formed. It keeps the names of
// the module, of functions and of locals; other subsections may hold indexes of functions too.
func (w *Writer) names(s Section) []byte {
	if !goodNames(w.m.file, s) {
		return nil
	}
	var out []byte
	r := &reader{file: w.m.file, pos: s.Body, end: s.End}
	for r.left() > 0 {
		id := r.byte("a subsection")
		in := r.within(r.count(len(w.m.file), 1, "bytes of a subsection"))
		switch id {
		case 0:
			out = appendSection(out, SectionID(id), w.m.file[in.pos:in.end])
		case 1, 2:
			out = appendSection(out, SectionID(id), w.nameMap(in, id == 2))
		}
	}
	return out
}

// nameMap renumbers a map from functions to names, or to maps from locals to names.
func (w *Writer) nameMap(in *reader, nested bool) []byte {
	n := in.u32("names")
	out := AppendUint(nil, n)
	for range n {
		out = AppendUint(out, w.FuncIndex(in.u32("an index")))
		at := in.pos
		if nested {
			in.nameMap()
		} else {
			in.symbol()
		}
		out = append(out, w.m.file[at:in.pos]...)
	}
	return out
}
