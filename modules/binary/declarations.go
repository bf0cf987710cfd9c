package binary

func (m *Module) types(r *reader) {
	n := r.bounded(boundTypes, 3)
	m.Types = make([]FuncType, 0, n)
	for range n {
		at := r.pos
		switch form := r.byte("a type"); {
		case r.err != nil:
			return
		case form == 0x5e || form == 0x5f || form == 0x4e || form == 0x4f || form == 0x50:
			r.unsupported(at, "gc", "the module has types of the GC proposal")
			return
		case form != 0x60:
			r.malformed(at, "a type has the form 0x%02x, not 0x60", form)
			return
		}
		t := FuncType{Params: r.valTypes(boundParams), Results: r.valTypes(boundResults)}
		if r.err != nil {
			return
		}
		m.Types = append(m.Types, t)
	}
}

func (r *reader) valTypes(b bound) []ValType {
	n := r.bounded(b, 1)
	if n == 0 {
		return nil
	}
	ts := make([]ValType, 0, n)
	for range n {
		ts = append(ts, r.valType())
	}
	return ts
}

func (r *reader) valType() ValType {
	at := r.pos
	b := r.byte("a value type")
	switch ValType(b) {
	case I32, I64, F32, F64, FuncRef, ExternRef:
		return ValType(b)
	}
	switch {
	case r.err != nil:
	case b == 0x7b:
		r.unsupported(at, "simd", "the module uses the type v128 (SIMD)")
	case b == 0x69 || b == 0x74:
		r.unsupported(at, "exceptions", "the module uses exception references")
	case b >= 0x63 && b <= 0x73:
		r.unsupported(at, "gc", "the module uses reference types of the GC proposal")
	default:
		r.malformed(at, "0x%02x is not a value type", b)
	}
	return 0
}

// limits reads the bounds of a memory or table; flags beyond 1 are features.
func (r *reader) limits(what string) Limits {
	at := r.pos
	flags := r.byte(what)
	switch {
	case r.err != nil:
		return Limits{}
	case flags > 7:
		r.malformed(at, "the limits of %s have the flags 0x%02x", what, flags)
	case flags&4 != 0:
		r.unsupported(at, "memory64", "the module has 64-bit limits (memory64)")
	case flags&2 != 0:
		r.unsupported(at, "shared_memory", "the module has a shared memory (threads)")
	}
	l := Limits{Min: r.u32(what), HasMax: flags&1 != 0}
	if l.HasMax {
		l.Max = r.u32(what)
		if l.Max < l.Min {
			r.malformed(at, "the minimum of %s is %d, more than its maximum %d", what, l.Min, l.Max)
		}
	}
	return l
}

func (m *Module) table(r *reader) {
	at := r.pos
	t := r.valType()
	switch {
	case r.err != nil:
		return
	case t != FuncRef && t != ExternRef:
		r.malformed(at, "a table holds %s", t)
	}
	l := r.limits("a table")
	if !r.use(boundEntries, int64(l.Min), -1) {
		r.fail(at, "too_many", "declare a smaller table", "a table begins with %d entries, more than %d", l.Min, maxEntries)
	}
	m.Tables, m.tableRefs = append(m.Tables, l), append(m.tableRefs, t)
	if len(m.Tables) > 1 && r.err == nil {
		r.fail(at, "too_many", "build the module with one table", "the module has more than one table")
	}
}

func (m *Module) memory(r *reader) {
	at := r.pos
	l := r.limits("a memory")
	if l.Min > maxPages || l.Max > maxPages {
		r.malformed(at, "a memory has more than %d pages", maxPages)
	}
	m.Memories = append(m.Memories, l)
	if len(m.Memories) > 1 && r.err == nil {
		r.unsupported(at, "multi_memory", "the module has more than one memory")
	}
}

func (r *reader) globalType() GlobalType {
	t := r.valType()
	at := r.pos
	b := r.byte("a global's type")
	if b > 1 {
		r.malformed(at, "a global's mutability is 0x%02x", b)
	}
	return GlobalType{Type: t, Mutable: b == 1}
}

func (m *Module) tables(r *reader) {
	for range r.count(maxEntries, 3, "tables") {
		if m.table(r); r.err != nil {
			return
		}
	}
}

func (m *Module) memories(r *reader) {
	for range r.count(maxEntries, 2, "memories") {
		if m.memory(r); r.err != nil {
			return
		}
	}
}

func (m *Module) globals(r *reader) {
	n := r.bounded(boundGlobals, 4)
	for range n {
		m.Globals = append(m.Globals, r.globalType())
		if r.constExpr(); r.err != nil {
			return
		}
	}
}

func (m *Module) imports(r *reader) {
	n := r.bounded(boundImports, 4)
	m.Imports = make([]Import, 0, n)
	for range n {
		im := Import{Offset: r.pos}
		im.Module, im.Name = r.name("an import's module"), r.name("an import's name")
		at := r.pos
		im.Kind = Kind(r.byte("an import's kind"))
		if r.err != nil {
			return
		}
		switch im.Kind {
		case Func:
			index := r.u32("an import's type")
			if int64(index) >= int64(len(m.Types)) {
				r.malformed(at, "the import %.40q.%.40q has type %d of %d", im.Module, im.Name, index, len(m.Types))
				return
			}
			im.Type = m.Types[index]
			m.funcTypes = append(m.funcTypes, index)
		case Table:
			m.table(r)
		case Memory:
			m.memory(r)
		case Global:
			m.Globals = append(m.Globals, r.globalType())
		case 4:
			r.unsupported(at, "exceptions", "the module imports an exception tag")
		default:
			r.malformed(at, "an import has the kind 0x%02x", byte(im.Kind))
		}
		if r.err != nil {
			return
		}
		m.Imports = append(m.Imports, im)
	}
}

func (m *Module) functions(r *reader) {
	n := r.bounded(boundFuncs, 1)
	m.Functions = make([]uint32, 0, n)
	for range n {
		at := r.pos
		index := r.u32("a function's type")
		if r.err == nil && int64(index) >= int64(len(m.Types)) {
			r.malformed(at, "a function has type %d of %d", index, len(m.Types))
		}
		if r.err != nil {
			return
		}
		m.Functions = append(m.Functions, index)
	}
	m.funcTypes = append(m.funcTypes, m.Functions...)
}

func (m *Module) start(r *reader) {
	at := r.pos
	index := r.funcIndex("the start function")
	switch {
	case r.err != nil:
		return
	case int64(index) >= int64(len(m.funcTypes)):
		r.malformed(at, "the start function is %d of %d", index, len(m.funcTypes))
	case !m.Types[m.funcTypes[index]].Equal(FuncType{}):
		r.malformed(at, "the start function takes or returns values")
	}
	m.HasStart, m.Start = true, index
}

func (m *Module) exports(r *reader) {
	n := r.bounded(boundExports, 3)
	m.Exports = make([]Export, 0, n)
	seen := make(map[string]bool, n)
	for range n {
		e := Export{Offset: r.pos}
		e.Name, e.Kind = r.name("an export's name"), Kind(r.byte("an export's kind"))
		if r.err != nil {
			return
		}
		if seen[e.Name] {
			r.malformed(e.Offset, "the name %.40q is exported twice", e.Name)
			return
		}
		seen[e.Name] = true
		space := map[Kind]int{Func: len(m.funcTypes), Table: len(m.Tables), Memory: len(m.Memories), Global: len(m.Globals)}
		size, known := space[e.Kind]
		if e.Kind == Func {
			e.Index = r.funcIndex("an export's index")
		} else {
			e.Index = r.u32("an export's index")
		}
		switch {
		case r.err != nil:
			return
		case !known:
			r.malformed(e.Offset, "the export %.40q has the kind 0x%02x", e.Name, byte(e.Kind))
			return
		case int64(e.Index) >= int64(size):
			r.malformed(e.Offset, "the export %.40q is %s %d of %d", e.Name, e.Kind, e.Index, size)
			return
		}
		if e.Kind == Func {
			e.Type = m.Types[m.funcTypes[e.Index]]
		}
		m.Exports = append(m.Exports, e)
	}
}
