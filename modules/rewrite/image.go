package rewrite

import (
	"fmt"

	"reprise/modules/binary"
)

// ExportStart is the function of the start section, which is left out: the host calls it when it has made
// an instance, so that no code of a guest runs inside the making.
const ExportStart = ExportPrefix + "start"

// Run is a stretch of bytes that a memory begins with.
type Run struct {
	Offset uint32
	Bytes  []byte
}

// pageBytes is the size of a page of memory.
const pageBytes = 64 << 10

// apart takes out of the module what can be in an image of its memory: the data section, and the start
// section. It comes after the passes, which know what the code does.
func apart(w *binary.Writer, m *binary.Module, does survey, info *Info) error {
	if m.HasStart {
		w.AddExport(ExportStart, binary.Func, w.FuncIndex(m.Start))
		w.Omit(binary.StartSection)
		info.Start = true
	}
	if info.Frozen = frozen(m, does); does.segments || len(m.Data) == 0 {
		return nil
	}
	for _, d := range m.Data {
		if !d.Passive && !d.Constant {
			return nil // the engine knows the value of the global
		}
	}
	runs, err := initial(m)
	if err != nil {
		return err
	}
	w.Omit(binary.DataSection, binary.DataCount)
	info.Data = runs
	return nil
}

// maxGap is how many zeros are worth keeping in a run, instead of beginning another.
const maxGap = 64

// initial gathers the active segments. Neighbours become one run: a Go program has 30,000 of them.
func initial(m *binary.Module) ([]Run, error) {
	total, limit := 0, uint64(0)
	if len(m.Memories) > 0 {
		limit = uint64(m.Memories[0].Min) * pageBytes
	}
	ascending, end := true, uint64(0)
	for i, d := range m.Data {
		if d.Passive {
			continue
		}
		if end := uint64(d.Offset) + uint64(d.End-d.Start); end > limit {
			return nil, &binary.Error{Code: "malformed", What: fmt.Sprintf("data segment %d ends at byte %d of a memory that begins with %d", i, end, limit), Section: binary.DataSection.String(), Offset: d.At,
				Fix: "give the memory a minimum that holds its data"}
		}
		ascending = ascending && uint64(d.Offset) >= end
		end = uint64(d.Offset) + uint64(d.End-d.Start)
		total += d.End - d.Start + maxGap
	}
	arena := make([]byte, 0, total) // never grows, so that the runs in it stay
	var runs []Run
	for _, d := range m.Data {
		if d.Passive || d.Start == d.End {
			continue
		}
		from := len(arena)
		if n := len(runs) - 1; n >= 0 && ascending {
			if gap := int64(d.Offset) - int64(runs[n].Offset) - int64(len(runs[n].Bytes)); gap <= maxGap {
				arena = append(arena, make([]byte, gap)...)
				arena = append(arena, m.Bytes(d.Start, d.End)...)
				runs[n].Bytes = arena[from-len(runs[n].Bytes) : len(arena) : len(arena)]
				continue
			}
		}
		arena = append(arena, m.Bytes(d.Start, d.End)...)
		runs = append(runs, Run{Offset: d.Offset, Bytes: arena[from:len(arena):len(arena)]})
	}
	return runs, nil
}

// frozen says why a state of an instance is more than its memory and its exported globals; empty when it is not.
func frozen(m *binary.Module, does survey) string {
	switch {
	case does.table:
		return "its code changes a table"
	case does.segments:
		return "its code copies or drops passive segments"
	}
	for _, g := range m.Globals {
		if g.Mutable && (g.Type == binary.FuncRef || g.Type == binary.ExternRef) {
			return "it has a mutable global that holds a reference"
		}
	}
	return ""
}
