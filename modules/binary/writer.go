package binary

import "slices"

// Writer makes a changed copy of a module. What nobody changes is copied byte for byte, so a copy without
// changes is the same file. A Writer checks nothing: the engine validates what it wrote.
//
// Imported functions are added behind the module's own imports, which moves the functions that are not
// imported up. The Writer renumbers every place that names a function, except in the code that SetBody
// is given: FuncIndex says how.
type Writer struct {
	m     *Module
	types []FuncType
	// typeIndex is the index of each type by its text, once one is asked for.
	typeIndex map[string]uint32
	imports   []Import
	typeOf    []uint32 // of imports
	globals   []global
	exports   []Export
	bodies    map[int]body
	added     []function
	declare   bool
	memory    *Limits
	table     *Limits
	dropped   func(Section) bool
	left      []SectionID
}

type global struct {
	GlobalType
	value int64
}

type body struct {
	locals []ValType
	code   []byte
}

type function struct {
	typ  uint32
	code []byte
}

// NewWriter begins a copy of a decoded module.
func NewWriter(m *Module) *Writer {
	return &Writer{m: m, bodies: make(map[int]body)}
}

// AddType returns the index of a type, which it adds when the module has no such type.
func (w *Writer) AddType(t FuncType) uint32 {
	if w.typeIndex == nil {
		w.typeIndex = make(map[string]uint32, len(w.m.Types))
		for i := len(w.m.Types) - 1; i >= 0; i-- { // the first of those that are the same
			w.typeIndex[w.m.Types[i].String()] = uint32(i)
		}
	}
	key := t.String()
	i, ok := w.typeIndex[key]
	if !ok {
		i = uint32(len(w.m.Types) + len(w.types))
		w.types, w.typeIndex[key] = append(w.types, t), i
	}
	return i
}

// AddImport adds an imported function and returns its index.
func (w *Writer) AddImport(module, name string, t FuncType) uint32 {
	w.typeOf = append(w.typeOf, w.AddType(t))
	w.imports = append(w.imports, Import{Module: module, Name: name, Kind: Func, Type: t})
	return uint32(w.m.ImportedFuncs() + len(w.imports) - 1)
}

// FuncIndex gives the index that a function of the module has in the copy.
func (w *Writer) FuncIndex(index uint32) uint32 {
	if int64(index) < int64(w.m.ImportedFuncs()) {
		return index
	}
	return index + uint32(len(w.imports))
}

// FuncType gives the type of a function by its index in the copy.
func (w *Writer) FuncType(index uint32) FuncType {
	own := uint32(w.m.ImportedFuncs())
	switch n := uint32(len(w.imports)); {
	case index < own:
		return w.m.FuncType(index)
	case index < own+n:
		return w.imports[index-own].Type
	default:
		return w.m.FuncType(index - n)
	}
}

// Globals gives the types of the globals that the copy has so far.
func (w *Writer) Globals() []GlobalType {
	types := slices.Clone(w.m.Globals)
	for _, g := range w.globals {
		types = append(types, g.GlobalType)
	}
	return types
}

// AddGlobal adds a mutable global of type i32 or i64 and returns its index.
func (w *Writer) AddGlobal(t ValType, value int64) uint32 {
	w.globals = append(w.globals, global{GlobalType{Type: t, Mutable: true}, value})
	return uint32(len(w.m.Globals) + len(w.globals) - 1)
}

// AddFunc adds a function without locals of its own and returns its index. Imports are added before.
func (w *Writer) AddFunc(t FuncType, code []byte) uint32 {
	w.added = append(w.added, function{w.AddType(t), code})
	return w.FuncIndex(uint32(len(w.m.funcTypes) + len(w.added) - 1))
}

// DeclareElements makes declarations of the element section: the functions in it may be named by ref.func, and are put
// into no table.
func (w *Writer) DeclareElements() { w.declare = true }

// AddExport exports something by its index in the copy.
func (w *Writer) AddExport(name string, kind Kind, index uint32) {
	w.exports = append(w.exports, Export{Name: name, Kind: kind, Index: index})
}

// SetBody replaces the instructions of the function that is i-th in the code section, their last end
// included, and adds locals behind its own. Functions that the code names have their index in the copy.
func (w *Writer) SetBody(i int, locals []ValType, code []byte) {
	w.bodies[i] = body{locals, code}
}

// SetMemory replaces the limits of the memory that the module defines.
func (w *Writer) SetMemory(l Limits) { w.memory = &l }

// SetTable replaces the limits of the table that the module defines.
func (w *Writer) SetTable(l Limits) { w.table = &l }

// Drop leaves out the custom sections that the function picks.
func (w *Writer) Drop(pick func(Section) bool) { w.dropped = pick }

// Omit leaves out sections that nothing else in the copy refers to.
func (w *Writer) Omit(ids ...SectionID) { w.left = append(w.left, ids...) }

// Bytes writes the copy.
func (w *Writer) Bytes() []byte {
	out := append(make([]byte, 0, len(w.m.file)+len(w.m.file)/8), w.m.file[:headerSize]...)
	missing := w.missing()
	for _, s := range w.m.Sections {
		if s.ID == Custom {
			out = w.custom(out, s)
			continue
		}
		for len(missing) > 0 && order[missing[0]] < order[s.ID] {
			out = appendSection(out, missing[0], w.content(Section{ID: missing[0]}))
			missing = missing[1:]
		}
		if slices.Contains(w.left, s.ID) {
			continue
		}
		if content := w.content(s); content != nil {
			out = appendSection(out, s.ID, content)
		} else {
			out = append(out, w.m.file[s.Start:s.End]...)
		}
	}
	for _, id := range missing {
		out = appendSection(out, id, w.content(Section{ID: id}))
	}
	return out
}

// missing are the sections that the module does not have and the copy needs, in order.
func (w *Writer) missing() []SectionID {
	var ids []SectionID
	need := func(id SectionID, n int) {
		has := slices.ContainsFunc(w.m.Sections, func(s Section) bool { return s.ID == id })
		if n > 0 && !has {
			ids = append(ids, id)
		}
	}
	need(TypeSection, len(w.types))
	need(ImportSection, len(w.imports))
	need(GlobalSection, len(w.globals))
	need(ExportSection, len(w.exports))
	return ids
}

func (w *Writer) custom(out []byte, s Section) []byte {
	switch {
	case w.dropped != nil && w.dropped(s):
		return out
	case s.Name == "name" && len(w.imports) > 0:
		if names := w.names(s); names != nil {
			return appendSection(out, Custom, append(appendString(nil, s.Name), names...))
		}
		return out
	}
	return append(out, w.m.file[s.Start:s.End]...)
}

// content is what a section has in the copy, nil when that is what it had. A section that the module
// does not have is empty.
func (w *Writer) content(s Section) []byte {
	var more []byte
	switch s.ID {
	case TypeSection:
		for _, t := range w.types {
			more = appendFuncType(more, t)
		}
		return w.extended(s, len(w.types), more)
	case ImportSection:
		for i, im := range w.imports {
			more = appendString(appendString(more, im.Module), im.Name)
			more = AppendUint(append(more, byte(Func)), w.typeOf[i])
		}
		return w.extended(s, len(w.imports), more)
	case TableSection:
		if w.table != nil {
			return appendLimits([]byte{1, byte(w.m.tableRefs[0])}, *w.table)
		}
	case MemorySection:
		if w.memory != nil {
			return appendLimits([]byte{1}, *w.memory)
		}
	case GlobalSection:
		for _, g := range w.globals {
			more = append(more, byte(g.Type), 1, byte(OpI32Const))
			if g.Type == I64 {
				more[len(more)-1] = byte(OpI64Const)
			}
			more = append(AppendInt(more, g.value), byte(OpEnd))
		}
		return w.extended(s, len(w.globals), more)
	case ExportSection:
		for _, e := range w.exports {
			more = AppendUint(append(appendString(more, e.Name), byte(e.Kind)), e.Index)
		}
		return w.extended(s, len(w.exports), more)
	case FunctionSection:
		for _, f := range w.added {
			more = AppendUint(more, f.typ)
		}
		if len(w.added) > 0 {
			return w.extended(s, len(w.added), more)
		}
	case ElementSection:
		if w.declare {
			return w.declarations()
		}
		return w.extended(s, 0, nil)
	case StartSection:
		return w.extended(s, 0, nil)
	case CodeSection:
		return w.code(s)
	}
	return nil
}

func (w *Writer) code(s Section) []byte {
	if len(w.bodies) == 0 && len(w.imports) == 0 && len(w.added) == 0 {
		return nil
	}
	out := AppendUint(make([]byte, 0, s.End-s.Body+(s.End-s.Body)/4), uint32(len(w.m.Bodies)+len(w.added)))
	var buf []byte
	for i, b := range w.m.Bodies {
		changed, ok := w.bodies[i]
		switch {
		case ok:
			buf = w.locals(buf[:0], b, changed.locals)
			buf = append(buf, changed.code...)
		case len(w.imports) > 0:
			buf = append(buf[:0], w.m.file[b.Locals:b.Code]...)
			buf = w.AppendRenumbered(buf, i)
		default:
			out = append(out, w.m.file[b.Start:b.End]...)
			continue
		}
		out = append(AppendUint(out, uint32(len(buf))), buf...)
	}
	for _, f := range w.added {
		out = append(AppendUint(out, uint32(len(f.code)+1)), 0) // no locals
		out = append(out, f.code...)
	}
	return out
}

// declarations are an element section of one segment that declares all functions of the module's own.
func (w *Writer) declarations() []byte {
	const declared, functions = 3, 0
	n := 0
	for _, e := range w.m.Elements {
		n += len(e.Funcs)
	}
	out := AppendUint([]byte{1, declared, functions}, uint32(n))
	for _, e := range w.m.Elements {
		for _, f := range e.Funcs {
			out = AppendUint(out, w.FuncIndex(f))
		}
	}
	return out
}

// locals copies the groups of locals of a function and adds to them.
func (w *Writer) locals(to []byte, b Body, added []ValType) []byte {
	r := &reader{file: w.m.file, pos: b.Locals, end: b.Code}
	groups := r.u32("groups of locals")
	to = AppendUint(to, groups+uint32(len(added)))
	to = append(to, w.m.file[r.pos:b.Code]...)
	return appendLocals(to, added)
}
