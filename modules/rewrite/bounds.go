package rewrite

import (
	"fmt"

	"reprise/modules/binary"
)

const (
	maxPages   = 1 << 16   // of a memory that says nothing
	maxEntries = 1<<32 - 1 // of a table that says nothing
)

// bound writes the bounds of memory and table into the module, where they are the same for every engine
// and every node.
func bound(w *binary.Writer, m *binary.Module, o Options) error {
	if o.MemoryPages > 0 && len(m.Memories) > 0 {
		l, err := limited(m, binary.Memory, m.Memories[0], memoryBound(m, o), "pages of memory", "too_much_memory")
		if err != nil {
			return err
		}
		w.SetMemory(l)
	}
	if o.TableEntries > 0 && len(m.Tables) > 0 {
		l, err := limited(m, binary.Table, m.Tables[0], tableBound(m, o), "entries of the table", "too_many")
		if err != nil {
			return err
		}
		w.SetTable(l)
	}
	return nil
}

func limited(m *binary.Module, kind binary.Kind, l binary.Limits, most uint32, what, code string) (binary.Limits, error) {
	for _, im := range m.Imports {
		if im.Kind == kind {
			return l, &binary.Error{Code: "unknown_import", What: fmt.Sprintf("the module imports its %s, which cannot be bounded", kind), Section: "import", Offset: im.Offset, Fix: "let the module define it"}
		}
	}
	if l.Min > most {
		return l, &binary.Error{Code: code, What: fmt.Sprintf("the module begins with %d %s, more than %d", l.Min, what, most), Section: kind.String(), Fix: "begin with fewer"}
	}
	return binary.Limits{Min: l.Min, Max: most, HasMax: true}, nil
}

// memoryBound is the most pages that the memory can have in the end.
func memoryBound(m *binary.Module, o Options) uint32 {
	return lowest(m.Memories, maxPages, o.MemoryPages)
}

// tableBound is the most entries that the table can have in the end.
func tableBound(m *binary.Module, o Options) uint32 {
	return lowest(m.Tables, maxEntries, o.TableEntries)
}

func lowest(declared []binary.Limits, most, option uint32) uint32 {
	if option > 0 {
		most = min(most, option)
	}
	if len(declared) > 0 && declared[0].HasMax {
		most = min(most, declared[0].Max)
	}
	return most
}
