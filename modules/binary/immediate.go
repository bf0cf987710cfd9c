package binary

import "slices"

// Constant is the value of an i32.const or i64.const.
func (c *Code) Constant() int64 {
	var v int64
	shift := 0
	for _, b := range c.r.file[c.Start+1 : c.End] {
		v |= int64(b&0x7f) << shift
		shift += 7
	}
	if c.r.file[c.End-1]&0x40 != 0 && shift < 64 {
		v |= -1 << shift
	}
	if c.Op == OpI32Const {
		return int64(int32(v))
	}
	return v
}

// Displacement is what a load or store adds to its address.
func (c *Code) Displacement() uint32 {
	r := reader{file: c.r.file, pos: c.Start + 1, end: c.End}
	r.u32("an alignment")
	return r.u32("an offset")
}

// AppendLocals appends the types of the locals of the function that is i-th in the code section, its
// parameters not included.
func (m *Module) AppendLocals(to []ValType, i int) []ValType {
	r := reader{file: m.file, pos: m.Bodies[i].Locals, end: m.Bodies[i].Code}
	for range r.u32("groups of locals") {
		n := r.u32("a number of locals")
		t := r.valType()
		for range n {
			to = append(to, t)
		}
	}
	return to
}

// Referenced says of each function whether an element segment or the value of a global names it. Only these, and
// those that a ref.func in code names, can be called without their name.
func (m *Module) Referenced() []bool {
	named := make([]bool, len(m.funcTypes))
	note := func(_, _ int, index uint32) {
		if int64(index) < int64(len(named)) {
			named[index] = true
		}
	}
	for _, s := range m.Sections {
		if s.ID != GlobalSection && s.ID != ElementSection {
			continue
		}
		scratch := Module{Types: m.Types, Tables: m.Tables, Memories: m.Memories, Globals: slices.Clip(m.Globals), funcTypes: m.funcTypes}
		scratch.content(&reader{file: m.file, pos: s.Body, end: s.End, section: s.ID.String(), refs: note}, s.ID)
	}
	return named
}
