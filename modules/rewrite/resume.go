package rewrite

import "reprise/modules/binary"

// Resume is what makes an instance of a Go program one that can be carried on in another instance, from a wait on. All
// frames of such a program are in its memory, and a loop calls the function on top of that stack. Indexes are those of the
// module as it was uploaded. Who gives them has seen that the functions have the shape that Go's toolchain gives them.
type Resume struct {
	// Loops are the functions that run what the stack says, by the names under which they are exported.
	Loops map[string]uint32
	// Points are the wrappers of imports that wait. They are made to leave all the calls that they are nested in, as
	// they do when goroutines are switched: the program goes on by the loop after each wait, whether it was frozen there or
	// not, and so computes the same.
	Points []uint32
	// Entries are the wrappers of the functions that a run may be inside of: Info.Units says what depth they take.
	Entries []uint32
}

// The names of the loops of Go's runtime: the one of a program's start is () -> (), that of exported functions takes the
// function to stop at.
const (
	ExportLoop       = ExportPrefix + "loop"
	ExportLoopExport = ExportPrefix + "loop_export"
)

// exports adds the exports. All imports were added before.
func (o Resume) exports(w *binary.Writer) {
	for _, name := range []string{ExportLoop, ExportLoopExport} {
		if f, ok := o.Loops[name]; ok {
			w.AddExport(name, binary.Func, w.FuncIndex(f))
		}
	}
}

// pass makes the pass.
func (o Resume) pass(m *binary.Module, info *Info) pass {
	p := &leave{points: map[int]bool{}}
	for _, f := range o.Points {
		p.points[int(f)-m.ImportedFuncs()] = true
	}
	info.Units = map[uint32]int32{}
	for _, f := range o.Entries {
		info.Units[f] = 0
	}
	return p
}

// leave makes the points return 1 instead of 0, which is the last constant in them.
type leave struct {
	points map[int]bool // by their index in the code section
}

func (p *leave) function(f *function) error {
	if !p.points[f.index] {
		return nil
	}
	at, end := -1, -1
	c := binary.Instructions(f.code)
	for c.Next() {
		if c.Op == binary.OpI32Const {
			at, end = c.Start, c.End
		}
	}
	if err := c.Err(); err != nil || at < 0 {
		return err
	}
	e := editOf(f.code)
	e.upto(at)
	e.i32(1)
	e.without(end)
	f.code = e.done()
	return nil
}
