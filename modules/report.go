package modules

import (
	"context"
	"fmt"
	"math"
	"strings"

	"reprise/abi"
	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// Report is what the bytes of a module say about it, without running it. Names in it are safe to show and cut, lists are
// bounded. Its JSON form is a contract: it is a part of what `reprise module check -o json` writes.
type Report struct {
	Digest Digest `json:"digest"`
	Size   int64  `json:"size" doc:"Bytes as uploaded"`
	// Shape is empty for a module that cannot be entered.
	Shape   Shape          `json:"shape,omitempty"`
	Imports []ImportReport `json:"imports"`
	// Entries are the exported functions that a run or an activity may begin in.
	Entries []string `json:"entries,omitempty"`
	// Limits are all that the check compares with, and how much the module takes of each. For a module that is refused
	// they go as far as the check came.
	Limits []LimitUse `json:"limits"`
	// Rewritten says what metering and bounding adds; nil for a module that is refused.
	Rewritten *RewriteReport  `json:"rewritten,omitempty"`
	Sections  []SectionReport `json:"sections" doc:"Custom sections"`
	// MoreSections counts custom sections beyond those that are listed.
	MoreSections int `json:"more_sections,omitempty"`
	// Freeze is nil for a module that is refused.
	Freeze *Freeze `json:"freeze,omitempty"`
}

// ImportReport is one import.
type ImportReport struct {
	Name    string `json:"name" doc:"module.name"`
	Type    string `json:"type" doc:"Type of a function, otherwise what is imported"`
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty" doc:"Why it is not allowed"`
	Fix     string `json:"fix,omitempty"`
}

// LimitUse is how much of a limit a module takes.
type LimitUse struct {
	What   string `json:"what"`
	Figure int64  `json:"figure"`
	Most   int64  `json:"most"`
	// Function is the one with the figure, as an index and its name when the module says one.
	Function string `json:"function,omitempty"`
}

// RewriteReport is what rewriting adds to the code. Sizes are in bytes.
type RewriteReport struct {
	Pipeline       int `json:"pipeline" doc:"Version of the passes"`
	Instructions   int `json:"instructions" doc:"Of all functions, as uploaded"`
	Functions      int `json:"functions"`
	ChargePoints   int `json:"charge_points" doc:"Places that pay gas for the code behind them"`
	SizedCharges   int `json:"sized_charges" doc:"Instructions that pay gas for the size of an operand"`
	DepthFunctions int `json:"depth_functions" doc:"Functions that count in the depth of calls"`
	CanonicalNaNs  int `json:"canonical_nans" doc:"Instructions whose NaN is replaced"`
	// SavingFunctions, SavingSites and SavedValues are 0 for a module that needs no pass to be frozen, or has none.
	SavingFunctions int   `json:"saving_functions" doc:"Functions that save their frames when they are frozen in a wait"`
	SavingSites     int   `json:"saving_sites" doc:"Calls in them at which they do"`
	SavedValues     int   `json:"saved_values" doc:"Words of the largest frame that is saved"`
	CodeBefore      int64 `json:"code_before" doc:"Bytes of the code section as uploaded"`
	CodeAfter       int64 `json:"code_after" doc:"Bytes of the code section that is compiled"`
	// Growth is how much larger the code section became, in percent.
	Growth float64 `json:"growth_percent"`
	// Compiled is the size of the file that is compiled.
	Compiled int64 `json:"compiled" doc:"Bytes of the file that is compiled"`
	// MemoryPages and MemoryMost are what the memory begins with and what it may grow to.
	MemoryPages  uint32 `json:"memory_pages" doc:"Of 64 KiB, at the start"`
	MemoryMost   uint32 `json:"memory_most" doc:"Pages that it may grow to"`
	TableEntries uint32 `json:"table_entries" doc:"At the start"`
	TableMost    uint32 `json:"table_most" doc:"Entries that it may grow to"`
}

// SectionReport is one custom section.
type SectionReport struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Kind  string `json:"kind" doc:"asset, names or dropped"`
}

// Bounds of the lists in a report.
const (
	maxReported = 100
	maxEntered  = 200
)

// Inspect is Prepare with a report. The report has what could be found when the module is refused, too.
func Inspect(ctx context.Context, bytes []byte) (*Prepared, Report, error) {
	r := Report{Digest: DigestOf(bytes), Size: int64(len(bytes))}
	p, err := Prepare(ctx, bytes)
	if len(bytes) > MaxSize {
		return nil, r, err
	}
	m, derr := binary.Decode(bytes)
	if derr != nil {
		return nil, r, err
	}
	use, _ := measureCode(m) // what it refuses, Prepare has refused
	r.declared(m)
	r.limits(m, use)
	if err != nil {
		return nil, r, err
	}
	r.Shape = p.Shape
	if err := r.rewritten(m, p, use); err != nil {
		return nil, r, err
	}
	r.Freeze = &p.Freeze
	return p, r, nil
}

// declared lists imports, entries and custom sections.
func (r *Report) declared(m *binary.Module) {
	for _, im := range m.Imports {
		row := ImportReport{Name: plain(im.Module + "." + im.Name), Type: im.Kind.String(), Allowed: true}
		if im.Kind == binary.Func {
			row.Type = plain(im.Type.String())
		}
		if e := checkImport(im); e != nil {
			row.Allowed, row.Why, row.Fix = false, e.What, e.Fix
		}
		r.Imports = append(r.Imports, row)
	}
	for _, e := range m.Exports {
		own := e.Name == abi.ExportInitialize || e.Name == abi.ExportReseed || e.Name == abi.ExportQuery // no run begins in them
		if e.Kind == binary.Func && entryType(e.Type) && !own && len(r.Entries) < maxEntered {
			r.Entries = append(r.Entries, plain(e.Name))
		}
	}
	for _, s := range m.Sections {
		switch {
		case s.ID != binary.Custom:
		case len(r.Sections) == maxReported:
			r.MoreSections++
		default:
			r.Sections = append(r.Sections, SectionReport{Name: plain(s.Name), Bytes: int64(s.End - s.Body), Kind: sectionKind(s.Name)})
		}
	}
}

func sectionKind(name string) string {
	switch {
	case strings.HasPrefix(name, AssetPrefix):
		return "asset"
	case name == "name":
		return "names"
	}
	return "dropped"
}

// limits lists what the check compares with: of the file, of what it declares, of its code.
func (r *Report) limits(m *binary.Module, code codeUse) {
	named := map[int]string{} // finding a name reads the whole section
	add := func(what string, figure, most int64, function int) {
		u := LimitUse{What: what, Figure: figure, Most: most}
		if function >= 0 && figure > 0 {
			if named[function] == "" {
				named[function] = functionText(m, function)
			}
			u.Function = named[function]
		}
		r.Limits = append(r.Limits, u)
	}
	add("bytes of the file", r.Size, MaxSize, -1)
	add("pages of memory at its start", int64(startPages(m)), MaxMemoryPages, -1)
	for _, u := range m.Uses() {
		add(u.What, int64(u.Figure), int64(u.Most), u.Function)
	}
	for i, l := range code.limits {
		function := -1
		if code.in[i] >= 0 {
			function = m.ImportedFuncs() + code.in[i]
		}
		add(l.what, int64(l.figure), int64(l.most), function)
	}
	add("milliseconds to compile, estimated", int64(code.cost/1e6), maxCost/1e6, -1)
}

// startPages is how many pages of memory a module begins with.
func startPages(m *binary.Module) uint32 {
	if len(m.Memories) == 0 {
		return 0
	}
	return m.Memories[0].Min
}

// rewritten compares the module with what is compiled.
func (r *Report) rewritten(m *binary.Module, p *Prepared, use codeUse) error {
	after, err := binary.DecodeWritten(p.Code)
	if err != nil {
		return fmt.Errorf("read the rewritten module: %w", err)
	}
	w := &RewriteReport{
		Pipeline: rewrite.PipelineVersion, Instructions: use.instructions, Functions: len(m.Bodies),
		ChargePoints: p.Rewritten.ChargePoints, SizedCharges: p.Rewritten.SizedCharges,
		DepthFunctions: p.Rewritten.DepthFunctions, CanonicalNaNs: p.Rewritten.CanonicalSites,
		SavingFunctions: p.Rewritten.SavingFunctions, SavingSites: p.Rewritten.SavingSites, SavedValues: p.Rewritten.SavedValues,
		CodeBefore: codeBytes(m), CodeAfter: codeBytes(after), Compiled: int64(len(p.Code)),
		MemoryPages: startPages(m), MemoryMost: startPages(after),
	}
	if w.CodeBefore > 0 {
		w.Growth = math.Round(1000*float64(w.CodeAfter-w.CodeBefore)/float64(w.CodeBefore)) / 10
	}
	if len(after.Memories) > 0 && after.Memories[0].HasMax {
		w.MemoryMost = after.Memories[0].Max
	}
	if len(after.Tables) > 0 {
		w.TableEntries, w.TableMost = after.Tables[0].Min, after.Tables[0].Max
	}
	r.Rewritten = w
	return nil
}

func codeBytes(m *binary.Module) int64 {
	for _, s := range m.Sections {
		if s.ID == binary.CodeSection {
			return int64(s.End - s.Body)
		}
	}
	return 0
}

// CheckSize refuses a file of that many bytes, so that nobody needs to read it.
func CheckSize(bytes int64) error {
	if bytes <= MaxSize {
		return nil
	}
	return &RefusedError{Code: "too_large", What: fmt.Sprintf("the module has %d bytes, more than %d", bytes, MaxSize), Where: "file",
		Fix: "build it smaller: strip symbols and DWARF, leave out what it does not use"}
}
