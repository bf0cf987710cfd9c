package rewrite

import (
	"slices"

	"reprise/modules/binary"
)

// lazy fills the table entry by entry, as the module calls them: an engine makes an object for each entry in each instance,
// and a Go program has thousands of them, of which a run calls a few. Each call by table looks first whether its entry is
// there. What the module computes is the same: nothing but calls looks at the table, and a call of what the table does not
// have finds nothing as before.
type lazy struct {
	fill uint32 // the function that fills an entry: (index) -> ()
}

// entriesAChunk is how many entries one function fills.
const entriesAChunk = 64

// Bounds of the stretch of the table from the first entry to the last: for each entry that there is, so that most of it
// is entries; and in all, so that the function that picks a chunk is compiled quickly.
const (
	maxSpread = 4
	maxLazy   = 512 * entriesAChunk
)

// lazily adds what fills a table of at least so many entries; nil when the module is not one for it. All imports were
// added before.
func lazily(w *binary.Writer, m *binary.Module, least int, info *Info) *lazy {
	entries, first, last := entriesOf(m)
	if len(entries) < least || len(entries) == 0 || int(last-first) >= min(maxSpread*len(entries), maxLazy) || looksAtTables(m) {
		return nil
	}
	info.LazyEntries = len(entries)
	take := binary.FuncType{Params: []binary.ValType{binary.I32}}
	var chunks []uint32
	for at := first; at <= last; at += entriesAChunk {
		n := int(min(entriesAChunk, last-at+1))
		chunks = append(chunks, w.AddFunc(take, choose(at, 1, n, func(c *code, k int) {
			if f, ok := entries[at+uint32(k)]; ok {
				c.op(binary.OpLocalGet, 0)
				c.op(binary.OpRefFunc, w.FuncIndex(f))
				c.op(binary.OpTableSet, 0)
			}
		})))
	}
	w.DeclareElements()
	return &lazy{fill: w.AddFunc(take, choose(first, entriesAChunk, len(chunks), func(c *code, k int) {
		c.op(binary.OpLocalGet, 0)
		c.op(binary.OpCall, chunks[k])
	}))}
}

// entriesOf is what the table begins with; none when that is more than a list of functions at known places.
func entriesOf(m *binary.Module) (entries map[uint32]uint32, first, last uint32) {
	imported := slices.ContainsFunc(m.Imports, func(im binary.Import) bool { return im.Kind == binary.Table })
	if len(m.Tables) != 1 || imported || m.NamesUnknownFunc() { // which could be one of those that are added
		return nil, 0, 0
	}
	entries, first = map[uint32]uint32{}, m.Tables[0].Min
	for _, e := range m.Elements {
		if e.Expressions || e.Active && (!e.Constant || uint64(e.Offset)+uint64(len(e.Funcs)) > uint64(m.Tables[0].Min)) {
			return nil, 0, 0
		}
		if !e.Active {
			continue // for instructions that looksAtTables knows
		}
		for i, f := range e.Funcs {
			at := e.Offset + uint32(i)
			entries[at], first, last = f, min(first, at), max(last, at)
		}
	}
	return entries, first, last
}

// looksAtTables says whether code does anything with a table but call.
func looksAtTables(m *binary.Module) bool {
	for i := range m.Bodies {
		for c := m.Code(i); c.Next(); {
			switch c.Op {
			case binary.OpTableGet, binary.OpTableSet, binary.OpTableInit, binary.OpElemDrop, binary.OpTableCopy, binary.OpTableGrow, binary.OpTableSize, binary.OpTableFill:
				return true
			}
		}
	}
	return false
}

func (p *lazy) function(f *function) error {
	e := editOf(f.code)
	index, found := uint32(0), false
	c := binary.Instructions(f.code)
	for c.Next() {
		if c.Op != binary.OpCallIndirect {
			continue
		}
		if !found {
			index, found = f.local(binary.I32), true
		}
		e.upto(c.Start)
		e.op(binary.OpLocalTee, index)
		e.op(binary.OpTableGet, 0)
		e.op(binary.OpRefIsNull)
		e.begin(binary.OpIf, noValues)
		e.op(binary.OpLocalGet, index)
		e.op(binary.OpCall, p.fill)
		e.op(binary.OpEnd)
		e.op(binary.OpLocalGet, index)
	}
	if found {
		f.code = e.done()
	}
	return c.Err()
}

// choose is the code of a function that does the k-th of n things, where k is its parameter less a number and divided by
// another, and nothing when there is no such thing.
func choose(from uint32, by int32, n int, do func(c *code, k int)) []byte {
	var c code
	targets := []uint32{uint32(n)} // as many as there are, and then the one for any other k
	for k := range n + 1 {
		c.begin(binary.OpBlock, noValues)
		targets = append(targets, uint32(k))
	}
	c.op(binary.OpLocalGet, 0)
	c.i32(int32(from))
	c.op(opI32Sub)
	c.i32(by)
	c.op(opI32DivU)
	c.op(binary.OpBrTable, targets...)
	for k := range n {
		c.op(binary.OpEnd)
		do(&c, k)
		c.op(binary.OpReturn)
	}
	c.op(binary.OpEnd)
	c.op(binary.OpEnd)
	return c
}
