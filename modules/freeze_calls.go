package modules

import "reprise/modules/binary"

// callGraph knows who calls whom, backwards: from the one that is called to its callers. It takes memory in
// proportion to the module's bytes.
type callGraph struct {
	m *binary.Module
	// callers of function f are from[start[f]:start[f+1]], each once.
	start, from []uint32
	// types gives each type the first one that is the same, for calls by table look at what a type says.
	types []uint32
	// typeOf is the type of each function in that sense.
	typeOf []uint32
	// byTable are the functions with a call_indirect of a type, each once.
	byTable map[uint32][]uint32
	// inTable says that a function may be in a table.
	inTable []bool
	// mutates is the first function that changes a table or uses passive segments, -1 without one; mutation is
	// what it does.
	mutates  int
	mutation string
}

// callsOf reads the calls of every function.
func callsOf(m *binary.Module) (*callGraph, error) {
	g := &callGraph{m: m, byTable: map[uint32][]uint32{}, inTable: m.Referenced(), mutates: -1}
	g.sameTypes()
	var callee, caller []uint32
	counted := make([]uint32, len(g.typeOf)) // the last caller of each, plus 1
	byTable := make([]uint32, len(m.Types))
	for i := range m.Bodies {
		at := uint32(m.ImportedFuncs() + i)
		code := m.Code(i)
		for code.Next() {
			switch code.Op {
			case binary.OpCall:
				if int64(code.Index) < int64(len(counted)) && counted[code.Index] != at+1 {
					counted[code.Index] = at + 1
					callee, caller = append(callee, code.Index), append(caller, at)
				}
			case binary.OpCallIndirect:
				if int64(code.Index) >= int64(len(g.types)) {
					continue
				}
				if t := g.types[code.Index]; byTable[t] != at+1 {
					byTable[t] = at + 1
					g.byTable[t] = append(g.byTable[t], at)
				}
			case binary.OpRefFunc:
				if int64(code.Index) < int64(len(g.inTable)) {
					g.inTable[code.Index] = true
				}
			default:
				g.mutate(int(at), code.Op)
			}
		}
		if err := code.Err(); err != nil {
			return nil, err
		}
	}
	g.sort(callee, caller)
	return g, nil
}

// mutate notes an instruction whose effect is in no memory and no global.
func (g *callGraph) mutate(at int, op binary.Opcode) {
	if g.mutates >= 0 {
		return
	}
	switch op {
	case binary.OpTableSet, binary.OpTableGrow, binary.OpTableFill, binary.OpTableCopy, binary.OpTableInit:
		g.mutates, g.mutation = at, "changes a table"
	case binary.OpElemDrop, binary.OpDataDrop, binary.OpMemoryInit:
		g.mutates, g.mutation = at, "copies or drops passive segments"
	}
}

// sameTypes finds the types that are the same, and the type of each function.
func (g *callGraph) sameTypes() {
	first := make(map[string]uint32, len(g.m.Types))
	key := func(t binary.FuncType) string { return t.String() }
	g.types = make([]uint32, len(g.m.Types))
	for i, t := range g.m.Types {
		k := key(t)
		if _, ok := first[k]; !ok {
			first[k] = uint32(i)
		}
		g.types[i] = first[k]
	}
	for _, im := range g.m.Imports {
		if im.Kind == binary.Func {
			g.typeOf = append(g.typeOf, first[key(im.Type)])
		}
	}
	for _, t := range g.m.Functions {
		g.typeOf = append(g.typeOf, g.types[t])
	}
}

// sort files the callers under the ones that they call.
func (g *callGraph) sort(callee, caller []uint32) {
	g.start = make([]uint32, len(g.typeOf)+1)
	for _, f := range callee {
		g.start[f+1]++
	}
	for i := range g.typeOf {
		g.start[i+1] += g.start[i]
	}
	next := append([]uint32(nil), g.start...)
	g.from = make([]uint32, len(callee))
	for i, f := range callee {
		g.from[next[f]] = caller[i]
		next[f]++
	}
}

// reach says which functions can reach some points.
type reach struct {
	functions, sites int
	can              []bool // by function, the points included
	byTable          []bool // by type: a call by table of that type can
	types            []uint32
}

func (r reach) has(f uint32) bool { return r.can[f] }

// calls says whether a call can reach a point.
func (r reach) calls(c *binary.Code) bool {
	switch c.Op {
	case binary.OpCall:
		return int64(c.Index) < int64(len(r.can)) && r.can[c.Index]
	case binary.OpCallIndirect:
		return int64(c.Index) < int64(len(r.types)) && r.byTable[r.types[c.Index]]
	}
	return false
}

// reach finds the functions from which calls lead to the points.
func (g *callGraph) reach(points []uint32) reach {
	r := reach{can: make([]bool, len(g.typeOf)), byTable: make([]bool, len(g.types)), types: g.types}
	open := append([]uint32(nil), points...)
	for _, f := range points {
		r.can[f] = true
	}
	add := func(callers []uint32) {
		for _, f := range callers {
			if !r.can[f] {
				r.can[f] = true
				r.functions++
				open = append(open, f)
			}
		}
	}
	for len(open) > 0 {
		f := open[len(open)-1]
		open = open[:len(open)-1]
		add(g.from[g.start[f]:g.start[f+1]])
		if t := g.typeOf[f]; g.inTable[f] && !r.byTable[t] {
			r.byTable[t] = true
			add(g.byTable[t])
		}
	}
	for i := range g.m.Bodies {
		if !r.can[g.m.ImportedFuncs()+i] {
			continue
		}
		for code := g.m.Code(i); code.Next(); {
			if r.calls(&code) {
				r.sites++
			}
		}
	}
	return r
}
