package modules

import (
	"reprise/abi"
	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// GoFrames is what carrying on a frozen Go instance takes. Go's compiler keeps every frame in the linear
// memory: a function that waits returns through its callers when that is needed, and a loop calls
// the function that is on top of that stack, until it is empty. The layout is that of cmd/internal/obj/wasm
// and of runtime/asm_wasm.s.
//
// An instance is stopped in a wait by setting Pause: the wait's wrapper leaves all calls that it is nested in, see
// rewrite.Resume, and so does the loop. It is carried on like this: memory and Globals are set to what they were, the
// wait's result is stored at SP plus ResultAt of its Point, SP grows by 8, and then Loop is called for a command, or
// LoopExport with StopPC for an entry. When LoopExport returns, the entry's result is at SP plus its ResultAt.
type GoFrames struct {
	SP    uint32 `json:"sp" doc:"Global: the stack pointer"`
	Pause uint32 `json:"pause" doc:"Global: not 0 asks the loops to return"`
	// Globals are all that is mutable, SP and Pause included.
	Globals []uint32 `json:"globals"`
	// Start is the function of the export that starts the program.
	Start uint32 `json:"start"`
	// Loop is () -> (), LoopExport (i32) -> ().
	Loop       uint32    `json:"loop" doc:"Function that runs what the stack says until the program pauses"`
	LoopExport uint32    `json:"loop_export" doc:"The same for an exported function; its argument is stop_pc"`
	Entries    []GoEntry `json:"entries"`
	Points     []GoPoint `json:"points"`
}

// GoEntry is an exported function that a run may be inside of.
type GoEntry struct {
	Export string `json:"export"`
	// StopPC is the upper part of the return address that the wrapper pushes (PC_F): the loop ends there.
	StopPC uint32 `json:"stop_pc"`
	// Function is the wrapper.
	Function uint32 `json:"function"`
	// HasResult says that the entry returns an i32, which is at SP plus ResultAt when the loop has ended.
	HasResult bool   `json:"has_result"`
	ResultAt  uint32 `json:"result_at"`
	// ResultBytes is 4, or 1 of a bool.
	ResultBytes int `json:"result_bytes"`
}

// GoPoint is a function through which a Go program calls an import that waits.
type GoPoint struct {
	Import   string `json:"import" doc:"module.name"`
	Function uint32 `json:"function"`
	// ResultAt is where it stores the import's result, from SP, in ResultBytes bytes.
	ResultAt    uint32 `json:"result_at"`
	ResultBytes int    `json:"result_bytes"`
}

// resume is what rewriting has to do for it.
func (f *GoFrames) resume() *rewrite.Resume {
	r := &rewrite.Resume{Loops: map[string]uint32{rewrite.ExportLoop: f.Loop}, Entries: []uint32{f.Start}}
	for _, e := range f.Entries {
		r.Loops[rewrite.ExportLoopExport] = f.LoopExport
		r.Entries = append(r.Entries, e.Function)
	}
	for _, p := range f.Points {
		r.Points = append(r.Points, p.Function)
	}
	return r
}

// goGlobals is what a module of Go's linker has: SP, CTXT, g, RET0 to RET3, PAUSE.
var goGlobals = []binary.ValType{binary.I32, binary.I64, binary.I64, binary.I64, binary.I64, binary.I64, binary.I64, binary.I32}

const (
	goSP    = 0
	goPause = 7
)

// goFunction is the type of a Go function: it takes the block to go on at, and says whether it is to be left at
// once, because the stack has changed under it.
var goFunction = binary.FuncType{Params: []binary.ValType{binary.I32}, Results: []binary.ValType{binary.I32}}

// goFrames recognises a module of Go's toolchain by the shape of the functions that the toolchain writes. It
// returns nil for others; almost says what is different in a module that is Go's by its loops.
func goFrames(m *binary.Module, points []uint32, reach reach) (frames *GoFrames, almost string) {
	if !goGlobalsOf(m) {
		return nil, ""
	}
	f := &GoFrames{SP: goSP, Pause: goPause}
	loops, exports := goLoops(m)
	if len(loops) != 1 || len(exports) > 1 {
		return nil, ""
	}
	f.Loop = loops[0]
	known := map[uint32]bool{f.Loop: true}
	if len(exports) == 1 {
		f.LoopExport = exports[0]
		known[f.LoopExport] = true
	}
	for i := range goGlobals {
		f.Globals = append(f.Globals, uint32(i))
	}
	start, ok := goStart(m, f.Loop, known)
	if !ok {
		return nil, "the function that starts it is another one"
	}
	f.Start = start
	if almost = f.entries(m, known, len(exports) == 1); almost != "" {
		return nil, almost
	}
	if almost = f.points(m, points); almost != "" {
		return nil, almost
	}
	goBarriers(m, known)
	for i := range m.Bodies {
		index := uint32(m.ImportedFuncs() + i)
		if reach.has(index) && !known[index] && !m.FuncType(index).Equal(goFunction) {
			return nil, functionText(m, int(index)) + " can reach a wait and is not a Go function"
		}
	}
	return f, ""
}

// goBarriers adds the write barriers of the garbage collector, which are no Go functions and never wait: they call
// the runtime without letting go of what they are in the middle of.
func goBarriers(m *binary.Module, known map[uint32]bool) {
	var one, sized binary.FuncType
	one.Results = []binary.ValType{binary.I64}
	sized.Params, sized.Results = one.Results, one.Results
	for i := range m.Bodies {
		index := uint32(m.ImportedFuncs() + i)
		if known[index] || !m.FuncType(index).Equal(one) {
			continue
		}
		s := shapeOf(m, index)
		s.take(binary.OpI64Const)
		body := uint32(s.take(binary.OpCall))
		if s.ret(); s.done() && m.FuncType(body).Equal(sized) {
			known[index], known[body] = true, true
		}
	}
}

func goGlobalsOf(m *binary.Module) bool {
	if len(m.Globals) != len(goGlobals) {
		return false
	}
	for i, g := range m.Globals {
		if !g.Mutable || g.Type != goGlobals[i] {
			return false
		}
	}
	return true
}

// goLoops finds wasm_pc_f_loop and wasm_pc_f_loop_export.
func goLoops(m *binary.Module) (loops, exports []uint32) {
	for i, b := range m.Bodies {
		if b.End-b.Code > 128 { // they have 41 and 62 bytes
			continue
		}
		index := uint32(m.ImportedFuncs() + i)
		s := shapeOf(m, index)
		switch t := m.FuncType(index); {
		case len(t.Results) > 0:
		case len(t.Params) == 0 && s.loop():
			loops = append(loops, index)
		case len(t.Params) == 1 && t.Params[0] == binary.I32 && s.loopExport():
			exports = append(exports, index)
		}
	}
	return loops, exports
}

// goStart looks whether the program is started as Go's linker does: _rt0_wasm_wasip1 directly, or called by
// _rt0_wasm_wasip1_lib.
func goStart(m *binary.Module, loop uint32, known map[uint32]bool) (start uint32, ok bool) {
	name, lib := abi.ExportStart, false
	if _, ok := m.Export(name); !ok {
		name, lib = abi.ExportInitialize, true
	}
	e, ok := m.Export(name)
	if !ok || e.Kind != binary.Func {
		return 0, false
	}
	index := e.Index
	if lib {
		s := shapeOf(m, index)
		rt0 := uint32(s.take(binary.OpCall))
		if s.ret(); !s.done() {
			return 0, false
		}
		known[index] = true
		index = rt0
	}
	known[index] = true
	s := shapeOf(m, index)
	return e.Index, s.rt0(loop)
}

// entries finds the wrappers of exported functions that a run may be inside of.
func (f *GoFrames) entries(m *binary.Module, known map[uint32]bool, hasLoop bool) string {
	for _, e := range m.Exports {
		if e.Kind != binary.Func || !entryType(e.Type) || e.Name == abi.ExportStart || e.Name == abi.ExportInitialize {
			continue
		}
		s := shapeOf(m, e.Index)
		entry, loop, unready := s.goEntry(len(e.Type.Results) > 0)
		if !s.done() || !hasLoop || loop != f.LoopExport {
			return "the wrapper of the export " + plain(e.Name) + " is another one"
		}
		entry.Export, entry.Function = plain(e.Name), e.Index
		known[e.Index], known[unready] = true, true
		f.Entries = append(f.Entries, entry)
	}
	return ""
}

// points finds the wrappers of the imports that wait. Every call of such an import must be in one.
func (f *GoFrames) points(m *binary.Module, points []uint32) string {
	names := map[uint32]string{}
	index := uint32(0)
	for _, im := range m.Imports {
		if im.Kind == binary.Func {
			names[index] = im.Module + "." + im.Name
			index++
		}
	}
	waits := map[uint32]bool{}
	for _, p := range points {
		waits[p] = true
	}
	for i := range m.Bodies {
		for code := m.Code(i); code.Next(); {
			if code.Op != binary.OpCall || !waits[code.Index] {
				continue
			}
			at := uint32(m.ImportedFuncs() + i)
			s := shapeOf(m, at)
			p := s.goPoint(code.Index, m.FuncType(code.Index))
			if !s.done() || !m.FuncType(at).Equal(goFunction) {
				return "the wrapper of the import " + names[code.Index] + " is another one"
			}
			p.Import, p.Function = names[code.Index], at
			f.Points = append(f.Points, p)
		}
	}
	return ""
}
