package rewrite

import (
	"fmt"
	"slices"

	"reprise/modules/binary"
)

// survey is what the passes want to know of a function before they change it.
type survey struct {
	calls    bool // a function of the module, or one by table
	returns  bool // with the instruction return
	computes bool // with instructions that may compute a NaN
	segments bool // with memory.init or data.drop
	table    bool // with instructions that change a table or drop its segments
	highest  int  // the most operands on the stack at a time
	chooses  bool // with a select of floats or a copysign
	// selects are the types of the selects that do not say theirs, in their order.
	selects []binary.ValType
}

// surveyOf walks over a function as it was uploaded. It refuses code that names a local, global, function
// or type that the module does not have. Such code is invalid, but rewriting adds some of each: it would
// become valid, and its global.set could be the one that fills up the gas.
func surveyOf(m *binary.Module, i int) (survey, error) {
	var s survey
	h := heights{module: m}
	selects := false
	locals := len(m.Types[m.Functions[i]].Params) + m.Bodies[i].Declared
	functions := m.ImportedFuncs() + len(m.Functions)
	c := m.Code(i)
	for c.Next() {
		what, has := "", 0
		switch c.Op {
		case binary.OpLocalGet, binary.OpLocalSet, binary.OpLocalTee:
			what, has = "local", locals
		case binary.OpGlobalGet, binary.OpGlobalSet:
			what, has = "global", len(m.Globals)
		case binary.OpCall, binary.OpRefFunc:
			what, has = "function", functions
			s.calls = s.calls || c.Op == binary.OpCall && int64(c.Index) >= int64(m.ImportedFuncs())
		case binary.OpCallIndirect:
			what, has, s.calls = "type", len(m.Types), true
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			if _, ok := m.Func(c.BlockType); !ok {
				return s, unknown("type", int64(c.BlockType), len(m.Types), c.Start)
			}
		case binary.OpReturn:
			s.returns = true
		case binary.OpSelect:
			selects = true
		case binary.OpSelectTyped:
			s.chooses = s.chooses || isFloat(typeOfSelect(m.Bytes(c.Start, c.End)))
		case binary.OpMemoryInit, binary.OpDataDrop:
			s.segments = true
		case binary.OpTableSet, binary.OpTableInit, binary.OpTableCopy, binary.OpTableGrow, binary.OpTableFill, binary.OpElemDrop:
			s.table = true
		default:
			if _, ok := computesNaN(c.Op); ok {
				s.computes = true
			}
			if _, ok := copiesSign(c.Op); ok {
				s.chooses = true
			}
		}
		if what != "" && int64(c.Index) >= int64(has) {
			return s, unknown(what, int64(c.Index), has, c.Start)
		}
		h.step(&c)
	}
	s.highest = h.highest
	if selects && c.Err() == nil {
		s.selects = selectTypes(m, i)
		s.chooses = s.chooses || slices.ContainsFunc(s.selects, isFloat)
	}
	return s, c.Err()
}

func unknown(what string, index int64, has, at int) error {
	return &binary.Error{Code: "malformed", What: fmt.Sprintf("an instruction names %s %d of %d", what, index, has), Section: binary.CodeSection.String(), Offset: at,
		Fix: "build the module again with a current toolchain, and check it with wasm-validate"}
}
