package rewrite

import (
	"fmt"

	"reprise/modules/binary"
)

// checkIndexes refuses code that names a local, global, function or type that the module does not have.
// Such code is invalid, but rewriting adds some of each: it would become valid, and its global.set could
// be the one that fills up the gas.
func checkIndexes(m *binary.Module, i int) error {
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
		case binary.OpCallIndirect:
			what, has = "type", len(m.Types)
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			if _, ok := m.Func(c.BlockType); ok {
				continue
			}
			return unknown("type", int64(c.BlockType), len(m.Types), c.Start)
		default:
			continue
		}
		if int64(c.Index) >= int64(has) {
			return unknown(what, int64(c.Index), has, c.Start)
		}
	}
	return c.Err()
}

func unknown(what string, index int64, has, at int) error {
	return &binary.Error{Code: "malformed", What: fmt.Sprintf("an instruction names %s %d of %d", what, index, has), Section: binary.CodeSection.String(), Offset: at,
		Fix: "build the module again with a current toolchain, and check it with wasm-validate"}
}
