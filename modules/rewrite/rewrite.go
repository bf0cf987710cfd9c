// Package rewrite owns the changes that are made to a module's code before it is compiled: gas, the
// bound of the call depth, the bounds of memory and table, one bit pattern for every NaN that is computed,
// and the exports that the host reads. Its input is a module that passed the structural check and whose
// code an engine would accept; what it writes, an engine accepts then too. It never runs code and has no
// opinion on how much gas a run may have. Package modules' Prepare is its only caller, as a part of the
// way from uploaded bytes to compiled code.
//
// A rewritten module computes what it computed before. What it does differently: it calls the host when
// its gas is used up, traps at a depth of calls that does not depend on the engine, and cannot grow beyond
// its bounds.
package rewrite

import (
	"fmt"
	"strings"

	"reprise/modules/binary"
)

// PipelineVersion names what the passes do to a module. It grows with every change that could give
// a module other gas, another depth or other bytes: a run stays on the version that it began with.
const PipelineVersion = 4

// The names that a rewritten module has beside its own. A module that uses one of them is refused.
const (
	// ImportModule is the module of the imported functions. Both have the type () -> ().
	ImportModule = "reprise_host_v1"
	// ImportOutOfGas is called when the gas is below 0, before what it was to pay for runs. The host adds to
	// the gas and returns, or traps. After a return the guest goes on and does not look again, so the host
	// adds at least what is missing.
	ImportOutOfGas = "out_of_gas"
	// ImportTooDeep is called when calls are nested too deep. The host traps; a return from it is a trap too.
	ImportTooDeep = "too_deep"
	// ExportPrefix begins the names of the exports that are added.
	ExportPrefix = "reprise_host_"
	// ExportGas is the gas left, a mutable i64. It begins at 0, so that the first thing a guest does is to
	// ask for more.
	ExportGas = ExportPrefix + "gas"
	// ExportDepth is the depth left, a mutable i32. A call that traps does not give its part back: the host
	// sets the global to Options.Depth each time before it enters an instance.
	ExportDepth = ExportPrefix + "depth"
	// ExportGlobal and a number is a mutable global of the module by its index.
	ExportGlobal = ExportPrefix + "global_"
)

// Options says which passes are made. The zero value makes none.
type Options struct {
	// Gas counts the instructions and calls the host when the gas is used up; see gas.go for what is paid
	// where and when.
	Gas bool
	// Depth bounds nested calls: each takes 1, and functions with many values more. Functions that call
	// no function of the module take nothing. PortableDepth is the most that every engine has. 0: no bound.
	Depth int32
	// MemoryPages is the most pages of 64 KiB that the memory may grow to. 0: no bound.
	MemoryPages uint32
	// TableEntries is the most entries that the table may grow to. 0: no bound.
	TableEntries uint32
	// CanonicalNaN makes every instruction that may compute a NaN give the same one on every processor.
	CanonicalNaN bool
	// LazyTable fills a table that begins with at least so many entries as they are called, when nothing but calls looks
	// at it. 0: none.
	LazyTable int
	// ExportGlobals exports the module's mutable globals as ExportGlobal and their index.
	ExportGlobals bool
	// Resume, when it is not nil, makes instances of a Go program resumable.
	Resume *Resume
	// Suspend, when it is not nil, makes the functions of other programs save their frames.
	Suspend *Suspend
	// Apart takes the data out of the module, so that it can come with an image of the memory, and makes
	// the start function an export.
	Apart bool
	// Strip leaves out the name section. The other custom sections are always left out, for what they say
	// about places in the code would be wrong.
	Strip bool
}

// PortableDepth is a depth that both engines of wazero have room for: its interpreter holds 2,000
// frames, of which some are the host's and one may be a function that takes no depth.
const PortableDepth = 1_900

// Info says what was done.
type Info struct {
	SizeBefore, SizeAfter int // bytes
	// ChargePoints is the number of places that pay gas for the code behind them.
	ChargePoints int
	// SizedCharges is the number of instructions that pay gas for the size of an operand too.
	SizedCharges int
	// DepthFunctions is the number of functions that count in the depth.
	DepthFunctions int
	// CanonicalSites is the number of instructions whose NaN is replaced.
	CanonicalSites int
	// LazyEntries is the number of table entries that are filled when they are called.
	LazyEntries int
	// Globals are the indexes of the globals that are exported as ExportGlobal.
	Globals []uint32
	// Units is the depth that each of Resume.Entries takes while it runs.
	Units map[uint32]int32
	// SavingFunctions is the number of functions that save their frames, SavingSites that of the calls in them at which they do,
	// and SavedValues what the largest of these frames has.
	SavingFunctions, SavingSites, SavedValues int
	// Data is what the memory begins with, when it was taken out of the module.
	Data []Run
	// Start says that the start function is exported as ExportStart.
	Start bool
	// Frozen says why the state of an instance is more than its memory and its exported globals, so that it
	// cannot be kept; empty when it can.
	Frozen string
}

// Apply makes a rewritten copy of a module. Every error has a *binary.Error in it: a name of the module that is
// one of the names above, a bound below what the module begins with, or code that cannot be read or
// names what the module does not have; or it is ErrUnsaved, and the same without Options.Suspend goes well.
func Apply(m *binary.Module, o Options) (out []byte, info Info, err error) {
	if err := checkNames(m); err != nil {
		return nil, Info{}, err
	}
	w := binary.NewWriter(m)
	if err := bound(w, m, o); err != nil {
		return nil, Info{}, err
	}
	passes := declare(w, m, o, &info)
	does, err := functions(w, m, passes, o.Apart)
	if err != nil {
		return nil, Info{}, err
	}
	if o.Apart {
		if err := apart(w, m, does, &info); err != nil {
			return nil, Info{}, err
		}
	}
	w.Drop(func(s binary.Section) bool { return s.Name != "name" || o.Strip })
	out = w.Bytes()
	info.SizeBefore, info.SizeAfter = m.Size(), len(out)
	return out, info, nil
}

// pass changes one function after another.
type pass interface {
	function(f *function) error
}

// declare adds the imports, globals and exports that the passes need. The order of the passes matters. Gas is paid for
// the module's own code, so it is first, and nothing is paid by a function that goes back to the call in which its
// frame was saved. The depth's is behind that, so that a function that leaves gives its depth back and one that
// is entered takes it, whatever for. Calls by table fill their entry last, each time.
func declare(w *binary.Writer, m *binary.Module, o Options, info *Info) []pass {
	var passes []pass
	if o.Resume != nil {
		passes = append(passes, o.Resume.pass(m, info))
	}
	if o.Gas {
		p := &gas{module: m, writer: w, pages: memoryBound(m, o), entries: tableBound(m, o), lend: maxLent, info: info}
		p.call = w.AddImport(ImportModule, ImportOutOfGas, binary.FuncType{})
		p.left = w.AddGlobal(binary.I64, 0)
		w.AddExport(ExportGas, binary.Global, p.left)
		passes = append(passes, p)
	}
	if o.CanonicalNaN {
		passes = append(passes, &canonicalNaN{info: info})
	}
	if o.Suspend != nil {
		passes = append(passes, suspending(w, m, *o.Suspend, info))
	}
	if o.Depth > 0 {
		p := &depth{writer: w, info: info, imported: m.ImportedFuncs()}
		p.call = w.AddImport(ImportModule, ImportTooDeep, binary.FuncType{})
		p.left = w.AddGlobal(binary.I32, int64(o.Depth))
		w.AddExport(ExportDepth, binary.Global, p.left)
		passes = append(passes, p)
	}
	if o.LazyTable > 0 {
		if p := lazily(w, m, o.LazyTable, info); p != nil {
			passes = append(passes, p)
		}
	}
	if o.Resume != nil {
		o.Resume.exports(w)
	}
	if o.ExportGlobals {
		info.Globals = exportGlobals(w, m)
	}
	return passes
}

// functions sends every function through the passes. The imports are all declared before, so the code
// that the passes see has its final numbers. It returns what any of the functions does; look asks for that
// even when there is no pass.
func functions(w *binary.Writer, m *binary.Module, passes []pass, look bool) (does survey, err error) {
	if len(passes) == 0 && !look {
		return does, nil
	}
	for i := range m.Bodies {
		f := &function{index: i, typ: m.Types[m.Functions[i]]}
		f.own = len(f.typ.Params) + m.Bodies[i].Declared
		f.locals = f.own
		if f.survey, err = surveyOf(m, i); err != nil {
			return does, fmt.Errorf("function %d: %w", m.ImportedFuncs()+i, err)
		}
		does.segments = does.segments || f.survey.segments
		does.table = does.table || f.survey.table
		b := m.Bodies[i]
		f.code = w.AppendRenumbered(make([]byte, 0, b.End-b.Code+(b.End-b.Code)/16), i)
		for _, p := range passes {
			if err := p.function(f); err != nil {
				return does, fmt.Errorf("function %d: %w", m.ImportedFuncs()+i, err)
			}
		}
		w.SetBody(i, f.added, f.code)
	}
	return does, nil
}

// exportGlobals exports the mutable globals that the module defines.
func exportGlobals(w *binary.Writer, m *binary.Module) []uint32 {
	var exported []uint32
	imported := 0
	for _, im := range m.Imports {
		if im.Kind == binary.Global {
			imported++
		}
	}
	for i, g := range m.Globals {
		if i >= imported && g.Mutable {
			w.AddExport(fmt.Sprint(ExportGlobal, i), binary.Global, uint32(i))
			exported = append(exported, uint32(i))
		}
	}
	return exported
}

// checkNames refuses a module that has one of the names that rewriting gives: what the host reads under
// it must be what rewriting put there.
func checkNames(m *binary.Module) error {
	const fix = "use another name: this one is the host's own"
	for _, im := range m.Imports {
		if im.Module == ImportModule {
			return &binary.Error{Code: "unknown_import", What: fmt.Sprintf("the module imports %s.%.40q", ImportModule, im.Name), Section: "import", Offset: im.Offset, Fix: fix}
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, ExportPrefix) {
			return &binary.Error{Code: "wrong_export", What: fmt.Sprintf("the module exports %.40q", e.Name), Section: "export", Offset: e.Offset, Fix: fix}
		}
	}
	return nil
}
