package modules

import "reprise/modules/binary"

// figures are what the compiler's time for one function depends on. The compiler builds static single
// assignment form by searching the definition of each local backwards through the blocks, and then
// removes the values that it joined in vain; both are harmless in what toolchains write and grow with
// the third power in what an attacker can.
type figures struct {
	instructions int
	// branches counts block, if and br_if once and loop twice, because gas puts a branch at its head. The
	// compiler's time over blocks grows with the square.
	branches int
	nesting  int // of blocks, loops and ifs
	loops    int // nesting of loops
	labels   int // of all br_tables
	table    int // labels of the largest br_table
	bulk     int // memory and table instructions that the compiler expands to loops
	// carried is the number of locals that are read in another block than the one that wrote them; the
	// rest need no search.
	carried int
	// joined is the number of edges into blocks that several edges lead to.
	joined int
	// searched bounds the blocks that the searches visit: for each read its distance to the last join, and
	// for each joining edge that distance times carried.
	searched int
	// cost is the time for the instructions as such, see costs.
	cost int
}

// values bounds the arguments that the joins take.
func (f *figures) values() int { return f.carried * f.joined }

// removals bounds the work to remove joined values that all have one source. Each pass over a join of V
// values from E edges takes V*V*E, and nested loops need a pass each.
func (f *figures) removals() int { return f.carried * f.values() * (f.loops + 1) }

// frame is an open block, loop, if or function.
type frame struct {
	op       binary.Opcode
	dead     bool // it begins in code that nothing reaches
	elsed    bool // its else has begun
	distance int  // where it begins
	edges    int  // edges to its label
	walked   int  // sum of the distances of these edges
	last     int  // distance of the newest
}

func (f *frame) edge(distance int) {
	f.edges++
	f.walked += distance
	f.last = distance
}

// flow measures one function after another and keeps its memory in between.
type flow struct {
	figures
	frames  []frame
	targets []uint32
	dead    bool // nothing reaches this place
	// distance is the number of blocks with one predecessor between here and the last join.
	distance int
	reads    int // sum of the distances of reads of locals
	walked   int // sum of the distances of joining edges
	loopsNow int
	// segment numbers the straight stretches of all functions; written is where a local was last written,
	// and seen the first segment of the function that last counted it as carried.
	segment, first int
	written, seen  []int
}

// measure walks over a function. It stops at the first figure that is too high for it to go on.
func (f *flow) measure(m *binary.Module, i int) (figures, error) {
	params := len(m.Types[m.Functions[i]].Params)
	f.begin(params + m.Bodies[i].Declared)
	code := m.Code(i)
	for code.Next() && f.instructions < maxInstructions+1 && len(f.frames) <= maxNesting+1 {
		f.step(&code)
	}
	f.searched = f.reads + f.carried*f.walked
	return f.figures, code.Err()
}

func (f *flow) begin(locals int) {
	f.segment++
	f.figures, f.dead, f.distance, f.reads, f.walked, f.loopsNow, f.first = figures{}, false, 0, 0, 0, 0, f.segment
	f.frames = append(f.frames[:0], frame{op: binary.OpBlock})
	for len(f.written) < locals {
		f.written, f.seen = append(f.written, 0), append(f.seen, 0)
	}
}

func (f *flow) step(c *binary.Code) {
	f.instructions++
	f.cost += int(costs[c.Op&0xff])
	switch c.Op {
	case binary.OpBlock, binary.OpLoop, binary.OpIf:
		f.open(c.Op)
	case binary.OpElse:
		f.otherwise()
	case binary.OpEnd:
		f.close()
	case binary.OpBr:
		f.jump(c.Index)
		f.stop()
	case binary.OpBrIf:
		f.branches++
		f.jump(c.Index)
		f.next(f.distance + 1)
	case binary.OpBrTable:
		f.jumps(c)
	case binary.OpReturn, binary.OpUnreachable:
		f.stop()
	case binary.OpLocalGet:
		f.read(c.Index)
	case binary.OpLocalSet, binary.OpLocalTee:
		if int(c.Index) < len(f.written) {
			f.written[c.Index] = f.segment
		}
	default:
		if c.Op > 0xff {
			f.misc(c.Op)
		}
	}
}

// next begins the next straight stretch.
func (f *flow) next(distance int) {
	f.segment++
	f.distance = distance
}

func (f *flow) stop() {
	f.dead = true
	f.segment++
}

func (f *flow) open(op binary.Opcode) {
	f.branches++
	f.frames = append(f.frames, frame{op: op, dead: f.dead, distance: f.distance})
	f.nesting = max(f.nesting, len(f.frames)-1)
	switch op {
	case binary.OpLoop:
		f.branches++
		f.loopsNow++
		f.loops = max(f.loops, f.loopsNow)
		f.next(0) // the search stops at a loop's head
	case binary.OpIf:
		f.next(f.distance + 1)
	}
}

func (f *flow) otherwise() {
	top := &f.frames[len(f.frames)-1]
	if top.dead || top.elsed {
		return
	}
	top.elsed = true
	if !f.dead {
		top.edge(f.distance)
	}
	f.dead = false
	f.next(top.distance + 1)
}

// close ends the innermost frame: its label, or for a loop its head, is known to the last edge.
func (f *flow) close() {
	if len(f.frames) == 0 {
		return
	}
	top := f.frames[len(f.frames)-1]
	f.frames = f.frames[:len(f.frames)-1]
	if top.op == binary.OpLoop {
		f.loopsNow--
	}
	if top.dead {
		return
	}
	if top.op == binary.OpLoop {
		f.joined += top.edges + 1
		f.walked += top.walked + top.distance
		f.next(f.distance + 1)
		return
	}
	if top.op == binary.OpIf && !top.elsed {
		top.edge(top.distance + 1)
	}
	if !f.dead {
		top.edge(f.distance)
	}
	f.dead = top.edges == 0
	if top.edges > 1 {
		f.joined += top.edges
		f.walked += top.walked
		f.next(0)
		return
	}
	f.next(top.last + 1)
}

// jump adds an edge to a label. Nothing is looked up behind the end of the function.
func (f *flow) jump(label uint32) {
	if at := len(f.frames) - 1 - int(label); !f.dead && at > 0 {
		f.frames[at].edge(f.distance)
	}
}

func (f *flow) jumps(c *binary.Code) {
	f.labels += c.Labels
	f.table = max(f.table, c.Labels)
	f.cost += c.Labels * costLabel
	f.targets = c.AppendLabels(f.targets[:0])
	f.distance++
	for _, l := range f.targets {
		f.jump(l)
	}
	f.stop()
}

func (f *flow) read(local uint32) {
	if f.dead || int(local) >= len(f.written) || f.written[local] == f.segment {
		return
	}
	f.reads += f.distance
	if f.seen[local] < f.first {
		f.seen[local] = f.segment
		f.carried++
	}
}

// misc is for the instructions behind the prefix 0xfc. The ones that the compiler expands to a loop join
// its two ways out.
func (f *flow) misc(op binary.Opcode) {
	switch op {
	case binary.OpMemoryInit, binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpTableInit, binary.OpTableCopy, binary.OpTableFill:
		f.bulk++
		f.branches += branchesOfBulk
		f.cost += costBulk
		f.joined += branchesOfBulk + 1
		f.walked += f.distance
		f.next(0)
	case binary.OpDataDrop, binary.OpElemDrop, binary.OpTableGrow:
		f.cost += costTable
	}
}
