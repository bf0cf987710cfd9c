package rewrite

import (
	"errors"
	"fmt"

	"reprise/modules/binary"
)

// Suspend is what makes an instance of a program that is not Go's one that can be carried on in another instance, from a wait
// on. The engine keeps the frames of such a program where nobody can read them, so each function that can be in the middle
// of a wait is made to save its own and to come back to it:
//
//   - Behind each call that can reach a wait it looks at ExportState. When that is StateUnwinds, it saves its locals, its
//     operands and which call it was, each as a word by ImportSave, and returns.
//   - At its entry, when that is StateRewinds, it takes all of them back by ImportLoad, last first, and goes to the call
//     through the blocks around it. What it calls does the same.
//
// The frames never are in the guest's memory: its contents and size are those that it has without, and a frame that
// somebody changed leads to another value or another call of the same function, and to nothing else.
//
// Indexes are those of the module as it was uploaded.
type Suspend struct {
	// Functions says of each function whether it can reach a wait. The imports that wait are such functions too.
	Functions []bool
	// Types says of each type whether a call by table of that type can.
	Types []bool
}

// The names of what a module that saves its frames has beside its own.
const (
	// ImportSave takes a word of type i64 and is called in StateUnwinds only.
	ImportSave = "save"
	// ImportLoad gives the last word that was saved and not yet loaded, an i64; it is called in StateRewinds only.
	ImportLoad = "load"
	// ExportState is one of the states below, a mutable i32. Only the host sets it: an import that waits sets StateUnwinds
	// and returns, whatever it returns, and it sets StateRuns when it is called in StateRewinds.
	ExportState = ExportPrefix + "state"
)

// The values of ExportState.
const (
	StateRuns    = 0
	StateUnwinds = 1
	StateRewinds = 2
)

// ErrUnsaved says that the frames of a function cannot be saved. It is wrapped with which and why.
var ErrUnsaved = errors.New("its frame cannot be saved")

// Bounds of what is added: of one function, as a multiple of its code and some bytes more, and of the module.
const (
	maxSaving       = 8
	maxSavingSmall  = 2 << 10
	maxSavingModule = 32 << 20
)

// suspend is the pass.
type suspend struct {
	module     *binary.Module
	writer     *binary.Writer
	info       *Info
	o          Suspend
	save, load uint32 // the imported functions
	state      uint32 // the global
	imported   int    // functions of the module's own imports
	globals    []binary.GlobalType
	total      int // bytes added
}

func suspending(w *binary.Writer, m *binary.Module, o Suspend, info *Info) pass {
	p := &suspend{module: m, writer: w, info: info, o: o, imported: m.ImportedFuncs()}
	p.save = w.AddImport(ImportModule, ImportSave, binary.FuncType{Params: []binary.ValType{binary.I64}})
	p.load = w.AddImport(ImportModule, ImportLoad, binary.FuncType{Results: []binary.ValType{binary.I64}})
	p.state = w.AddGlobal(binary.I32, StateRuns)
	p.globals = w.Globals() // those of later passes are in none of the code that this one reads
	w.AddExport(ExportState, binary.Global, p.state)
	return p
}

// reaches says whether a call can reach a wait. Its function has its number in the copy.
func (p *suspend) reaches(c *binary.Code) bool {
	switch c.Op {
	case binary.OpCall:
		index := int(c.Index)
		if added := int(p.writer.FuncIndex(uint32(p.imported))) - p.imported; index >= p.imported {
			if index -= added; index < p.imported {
				return false // the host's
			}
		}
		return index < len(p.o.Functions) && p.o.Functions[index]
	case binary.OpCallIndirect:
		return int64(c.Index) < int64(len(p.o.Types)) && p.o.Types[c.Index]
	}
	return false
}

func (p *suspend) function(f *function) error {
	if index := p.imported + f.index; index >= len(p.o.Functions) || !p.o.Functions[index] {
		return nil
	}
	types := p.module.AppendLocals(append([]binary.ValType(nil), f.typ.Params...), f.index)
	types = append(types, f.added...)
	found, err := p.scan(f.code, len(types))
	if err != nil || found.sites == 0 {
		return err // of none: all of its calls are in code that nothing reaches
	}
	added := len(f.added)
	s := newSaver(p, f, types)
	if err := s.body(found.points); err != nil {
		return err
	}
	for i, carried := range found.carried {
		if carried {
			s.values = append(s.values, value{uint32(i), types[i]})
		}
	}
	head, err := s.head()
	if err != nil {
		return err
	}
	tail, err := s.tail()
	if err != nil {
		return err
	}
	before := len(f.code)
	f.code = append(append(head, s.code...), tail...)
	if p.total += len(f.code) - before; len(f.code) > s.most || p.total > maxSavingModule {
		return tooMuch()
	}
	f.returns = true
	f.saved = len(f.added) - added
	p.info.SavingFunctions++
	p.info.SavingSites += found.sites
	p.info.SavedValues = max(p.info.SavedValues, len(s.values)+1)
	return nil
}

func tooMuch() error { return fmt.Errorf("%w: its code would grow too much", ErrUnsaved) }

// head takes the frame back when the instance rewinds, and opens the block that leads to the tail.
func (s *saver) head() (code, error) {
	var c code
	c.op(binary.OpGlobalGet, s.pass.state)
	c.i32(StateRewinds)
	c.op(opI32Eq)
	c.begin(binary.OpIf, noValues)
	c.op(binary.OpCall, s.pass.load)
	c.op(opI32WrapI64)
	c.op(binary.OpLocalSet, s.resume)
	for i := len(s.values) - 1; i >= 0; i-- {
		v := s.values[i]
		c.op(binary.OpCall, s.pass.load)
		switch v.is {
		case binary.I32:
			c.op(opI32WrapI64)
		case binary.I64:
		case binary.F32:
			c.op(opI32WrapI64)
			c.fromBits(v.is)
		case binary.F64:
			c.fromBits(v.is)
		default:
			return nil, unsaved(v.is)
		}
		c.op(binary.OpLocalSet, v.local)
	}
	c.op(binary.OpEnd)
	c.begin(binary.OpBlock, noValues)
	return c, nil
}

// tail saves the frame and returns something.
func (s *saver) tail() (code, error) {
	var c code
	c.op(binary.OpReturn)
	c.op(binary.OpEnd)
	for _, v := range s.values {
		c.op(binary.OpLocalGet, v.local)
		if isFloat(v.is) {
			c.toBits(v.is)
		}
		if integerOf(v.is) == binary.I32 && v.is != binary.I64 {
			c.op(opI64ExtendU)
		}
		c.op(binary.OpCall, s.pass.save)
	}
	c.op(binary.OpLocalGet, s.resume)
	c.op(opI64ExtendU)
	c.op(binary.OpCall, s.pass.save)
	for _, t := range s.f.typ.Results {
		switch t {
		case binary.I32:
			c.i32(0)
		case binary.I64:
			c.i64(0)
		case binary.F32:
			c = append(c, byte(binary.OpF32Const), 0, 0, 0, 0)
		case binary.F64:
			c = append(c, byte(binary.OpF64Const), 0, 0, 0, 0, 0, 0, 0, 0)
		default:
			return nil, unsaved(t)
		}
	}
	c.op(binary.OpEnd)
	return c, nil
}

func unsaved(t binary.ValType) error {
	return fmt.Errorf("%w: it holds a value of type %s", ErrUnsaved, t)
}
