package modules

import (
	"bytes"

	"reprise/modules/binary"
)

// The shapes are functions that are cheap to write and dear to compile, each of a size that the caller
// chooses. They are valid, so that an engine gets as far as its compiler.

func times(n int, parts ...[]byte) []byte { return bytes.Repeat(bytes.Join(parts, nil), n) }

// op is an instruction and its indexes.
func op(code byte, indexes ...int) []byte {
	out := []byte{code}
	for _, i := range indexes {
		out = append(out, leb(i)...)
	}
	return out
}

// each joins what make yields for 0 to n-1.
func each(n int, make func(int) []byte) []byte {
	var out []byte
	for i := range n {
		out = append(out, make(i)...)
	}
	return out
}

var (
	end    = []byte{0x0b}
	zero   = []byte{0x41, 0} // i32.const 0
	void   = []byte{0x40}
	block  = []byte{0x02, 0x40}
	loop   = []byte{0x03, 0x40}
	ifThen = []byte{0x04, 0x40}
	drop   = []byte{0x1a}
	fill   = bytes.Join([][]byte{zero, zero, zero, {0xfc, 0x0b, 0}}, nil)
)

func get(i int) []byte  { return op(0x20, i) }
func set(i int) []byte  { return op(0x21, i) }
func brIf(i int) []byte { return op(0x0d, i) }

// table is a br_table whose n labels are all the same.
func table(n, label int) []byte {
	return append(op(0x0e, n-1), bytes.Repeat(leb(label), n)...)
}

// function is a body of type () -> () with locals of type i32.
func function(locals int, code ...[]byte) []byte {
	var declared []byte
	if locals > 0 {
		declared = bytes.Join([][]byte{{1}, leb(locals), {0x7f}}, nil)
	} else {
		declared = []byte{0}
	}
	return bytes.Join(append(append([][]byte{declared}, code...), end), nil)
}

// program is a command of functions of type () -> (), one memory and one table. The first is the entry.
func program(functions ...[]byte) []byte {
	n := len(functions)
	code := each(n, func(i int) []byte { return append(leb(len(functions[i])), functions[i]...) })
	return with(header,
		section(binary.TypeSection, []byte{1, 0x60, 0, 0}),
		section(binary.FunctionSection, leb(n), make([]byte, n)),
		section(binary.TableSection, []byte{1, 0x70, 0, 1}),
		section(binary.MemorySection, []byte{1, 0, 1}),
		section(binary.ExportSection, []byte{2}, str("_start"), []byte{0, 0}, str("memory"), []byte{2, 0}),
		section(binary.ElementSection, []byte{1, 3, 0, 1, 0}), // declares function 0, for ref.func
		section(binary.CodeSection, leb(n), code))
}

// shape makes a function whose figure is n.
type shape struct {
	name  string
	limit int
	step  int // the next larger figure is this much larger
	say   string
	make  func(n int) []byte
}

var atLimits = []shape{
	{"instructions", maxInstructions, 1, "instructions", func(n int) []byte { return function(0, times(n-1, []byte{0x01})) }},
	{"blocks", maxBranches, 1, "blocks, loops, ifs", func(n int) []byte { return function(0, times(n, block, end)) }},
	{"loops and branches", maxBranches, 1, "blocks, loops, ifs", func(n int) []byte {
		return function(0, times(n/3, loop, zero, brIf(0), end), times(n%3, block, end))
	}},
	{"nested blocks", maxNesting, 1, "blocks in one another", func(n int) []byte { return function(0, times(n, block), times(n, end)) }},
	{"nested ifs", maxNesting, 1, "blocks in one another", func(n int) []byte { return function(0, times(n, zero, ifThen), times(n, end)) }},
	{"nested loops", maxLoops, 1, "loops in one another", func(n int) []byte { return function(0, times(n, loop), times(n, zero, brIf(0), end)) }},
	{"one br_table", maxTable, 1, "labels in one br_table", func(n int) []byte { return function(0, block, zero, table(n, 0), end) }},
	{"br_tables", maxLabels, 1, "labels in its br_tables", func(n int) []byte {
		return function(0, times(n/100, block, zero, table(100, 0), end), block, zero, table(n%100, 0), end)
	}},
	{"memory.fill", maxBulk, 1, "bulk instructions", func(n int) []byte { return function(0, times(n, fill)) }},
	{"values", maxValues, 100, "locals times branches", func(n int) []byte { return joining(100, n/100, 0) }},
	{"searched", maxSearched, 5_000, "steps to find", func(n int) []byte {
		return function(1, times(5_000, zero, brIf(0)), times(n/5_000, get(0), drop))
	}},
	{"removals", maxRemovals, 1_000 * 1_000 * 10, "steps to join", func(n int) []byte {
		return joining(1_000, n/1_000/1_000/10, 9)
	}},
}

// joining has locals that edges carry to the end of a block in nested loops.
func joining(locals, edges, loops int) []byte {
	tables := edges - 1 - loops // one edge comes from above, and one into each loop
	jump := each((tables+999)/1000, func(i int) []byte {
		return bytes.Join([][]byte{zero, ifThen, zero, table(min(1000, tables-i*1000), 1), end}, nil)
	})
	write := each(locals, func(i int) []byte { return append(op(0x3f, 0), set(i)...) }) // memory.size
	read := each(locals, func(i int) []byte { return append(get(i), drop...) })
	return function(locals, times(loops, loop), block, jump, write, end, read, times(loops, end))
}
