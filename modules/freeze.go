package modules

import (
	"fmt"
	"slices"

	"reprise/abi"
	"reprise/modules/binary"
)

// FreezeKind says how an instance that waits could be saved, and carried on in another one.
type FreezeKind string

// The kinds of freezing.
const (
	// FreezeGo is for what Go's own toolchain builds: all frames are in the memory, so memory and globals are
	// all of an instance, and nothing needs to be added to the code.
	FreezeGo FreezeKind = "go-native"
	// FreezeSuspend is for code that can be made to save its frames, by a pass over the functions that can
	// reach a wait.
	FreezeSuspend FreezeKind = "suspend"
	// FreezeReplay is for the rest: an instance has state that cannot be saved, and its run is carried on by
	// replaying its journal from the first entry.
	FreezeReplay FreezeKind = "replay"
)

// Freeze is what a module's code says about freezing. Indexes are those of the module as it was uploaded.
type Freeze struct {
	Kind   FreezeKind `json:"kind" doc:"go-native, suspend or replay"`
	Reason string     `json:"reason"`
	// Functions counts the functions of the module that can reach a wait, Sites the calls in them that can.
	Functions int `json:"functions" doc:"Functions of the module that can reach a wait"`
	Sites     int `json:"sites" doc:"Calls in them that can reach a wait"`
	// Go is set for FreezeGo.
	Go *GoFrames `json:"go,omitempty"`
}

// isWait says whether a run can stop in an import. It is frozen there and nowhere else.
func isWait(im binary.Import) bool {
	switch im.Module {
	case abi.Module:
		f, ok := abi.Find(im.Name)
		return ok && f.Blocking
	case abi.WASIModule:
		return im.Name == "poll_oneoff"
	}
	return false
}

// FreezeOf finds how instances of a module can be frozen. The module has passed the upload check. Nothing is
// changed and nothing runs: it follows calls by name, and calls by table to every function of the right type
// that could be in the table. Prepare may find that code that saves its frames would be too much for the compiler.
func FreezeOf(m *binary.Module) (Freeze, error) {
	f, _, err := freezeReach(m)
	return f, err
}

// freezeReach is FreezeOf, and says what can reach a wait.
func freezeReach(m *binary.Module) (Freeze, reach, error) {
	g, err := callsOf(m)
	if err != nil {
		return Freeze{}, reach{}, refusedForm(err)
	}
	var points []uint32
	index := uint32(0)
	for _, im := range m.Imports {
		if im.Kind != binary.Func {
			continue
		}
		if isWait(im) {
			points = append(points, index)
		}
		index++
	}
	r := g.reach(points)
	f := Freeze{Kind: FreezeReplay, Functions: r.functions, Sites: r.sites}
	if f.Reason = hidden(m, g, r); f.Reason != "" {
		return f, r, nil
	}
	frames, almost := goFrames(m, points, r)
	switch {
	case frames != nil:
		f.Kind, f.Go, f.Reason = FreezeGo, frames, "built by Go: its frames are in its memory"
		return f, r, nil
	case r.functions == 0:
		f.Kind, f.Reason = FreezeSuspend, "no function can reach a wait"
		return f, r, nil
	}
	if f.Reason = holdsReference(m, r); f.Reason != "" {
		return f, r, nil
	}
	if almost != "" { // nearly every function of a Go program can wait, and would take several times as long
		f.Reason = "built by Go, and not as this host knows Go: " + almost
		return f, r, nil
	}
	f.Kind, f.Reason = FreezeSuspend, fmt.Sprintf("the frames of %d of %d functions can be saved", r.functions, len(m.Bodies))
	return f, r, nil
}

// hidden says which state an instance has that is neither in its memory, nor in a global of a number, nor in
// a frame; empty when there is none.
func hidden(m *binary.Module, g *callGraph, reach reach) string {
	for i, t := range m.Globals {
		if t.Mutable && isReference(t.Type) {
			return fmt.Sprintf("the mutable global %d holds a reference (%s)", i, t.Type)
		}
	}
	if g.mutates >= 0 {
		return fmt.Sprintf("%s %s", functionText(m, g.mutates), g.mutation)
	}
	if m.HasStart && reach.has(m.Start) {
		return "the start section can reach a wait"
	}
	return ""
}

func isReference(t binary.ValType) bool { return t == binary.FuncRef || t == binary.ExternRef }

// holdsReference says which function that can reach a wait has a reference in a local or on its stack, where
// a pass could not save it. It does not look whether that is so at the moment of the wait.
func holdsReference(m *binary.Module, reach reach) string {
	var types []binary.ValType
	for i := range m.Bodies {
		index := uint32(m.ImportedFuncs() + i)
		if !reach.has(index) {
			continue
		}
		t := m.FuncType(index)
		types = m.AppendLocals(append(append(types[:0], t.Params...), t.Results...), i)
		holds := slices.ContainsFunc(types, isReference)
		for code := m.Code(i); !holds && code.Next(); {
			holds = putsReference(m, &code)
		}
		if holds {
			return functionText(m, int(index)) + " can reach a wait and holds references, which cannot be saved"
		}
	}
	return ""
}

// putsReference says whether an instruction puts a reference on the stack. Every one comes from one of these
// or from a local.
func putsReference(m *binary.Module, c *binary.Code) bool {
	switch c.Op {
	case binary.OpRefFunc, binary.OpRefNull, binary.OpTableGet:
		return true
	case binary.OpGlobalGet:
		return int64(c.Index) < int64(len(m.Globals)) && isReference(m.Globals[c.Index].Type)
	case binary.OpCall:
		return slices.ContainsFunc(m.FuncType(c.Index).Results, isReference)
	case binary.OpCallIndirect:
		return int64(c.Index) < int64(len(m.Types)) && slices.ContainsFunc(m.Types[c.Index].Results, isReference)
	}
	return false
}
