package rewrite

import (
	"fmt"

	"reprise/modules/binary"
)

// saver writes one function anew. At each point the operands that lie above the begin of its block are put into locals,
// so that the stack is empty there and the place can be the end of a block: a function that comes back jumps there, from the
// begin of the block around, without running what is in between, and goes on as one that came along.
type saver struct {
	edit
	pass   *suspend
	f      *function
	now    binary.Code // where it is in the old code
	types  operands
	depth  int   // open blocks in what is written
	labels []int // the depth of each open block, loop and if of the old code, the function's first
	resume uint32
	spills map[spill]uint32
	values []value // what a frame is, beside resume
	most   int     // bytes
}

// spill names the local of an operand: by its height on the stack and its type. The condition of an if, which has to be
// the same when the function comes back, has a negative height of its own.
type spill struct {
	height int
	is     binary.ValType
}

// value is a local that a frame has.
type value struct {
	local uint32
	is    binary.ValType
}

func newSaver(p *suspend, f *function, locals []binary.ValType) *saver {
	return &saver{
		edit: editOf(f.code), pass: p, f: f, now: binary.Instructions(f.code),
		types: operands{module: p.module, funcType: p.writer.FuncType, globals: p.globals, locals: locals,
			frames: []operandFrame{{results: f.typ.Results}}},
		resume: f.local(binary.I32), spills: map[spill]uint32{}, most: maxSaving*len(f.code) + maxSavingSmall,
	}
}

// body writes all of the function's code as a block. Around it is the block that leads to the tail.
func (s *saver) body(points []point) error {
	s.depth = 2
	s.labels = []int{2}
	s.begin(binary.OpBlock, typeOfBlock(s.pass.writer, s.f.typ))
	if err := s.region(points, 0); err != nil {
		return err
	}
	s.upto(s.now.End)
	return nil
}

// region writes the instructions of a block up to its end or else, which is then the current one. base is the height of the
// stack below the block's parameters.
func (s *saver) region(points []point, base int) error {
	if len(points) > 0 {
		if err := s.spill(base); err != nil {
			return err
		}
		s.choose(points)
		s.reload(base)
	}
	open := 0 // blocks without points
	for s.now.Next() {
		c := &s.now
		if len(points) > 0 && c.Start == points[0].at {
			if err := s.point(points[0], base); err != nil {
				return err
			}
			points = points[1:]
			continue
		}
		switch c.Op {
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			open++
			s.open()
		case binary.OpElse:
			if open == 0 {
				return nil
			}
		case binary.OpEnd:
			if open == 0 {
				return nil
			}
			open--
			s.close()
		case binary.OpBr, binary.OpBrIf, binary.OpBrTable:
			if err := s.branch(); err != nil {
				return err
			}
		}
		s.types.step(c)
	}
	return s.now.Err()
}

func (s *saver) open() {
	s.depth++
	s.labels = append(s.labels, s.depth)
}

func (s *saver) close() {
	s.depth--
	s.labels = s.labels[:len(s.labels)-1]
}

// choose opens a block that ends at each point, and jumps to the one with the call that the function comes back to.
func (s *saver) choose(points []point) {
	n := len(points)
	first, last := points[0].first, points[n-1].last
	if n == 1 { // one block less
		s.begin(binary.OpBlock, noValues)
		s.depth++
		s.code.op(binary.OpLocalGet, s.resume)
		s.code.op(binary.OpBrIf, 0)
		return
	}
	for range n + 1 {
		s.begin(binary.OpBlock, noValues)
	}
	s.depth += n
	s.code.op(binary.OpLocalGet, s.resume)
	s.code.op(opI32Eqz)
	s.code.op(binary.OpBrIf, 0)
	s.code.op(binary.OpLocalGet, s.resume)
	if int(last-first) < 2*n {
		labels := []uint32{last - first}
		for i, p := range points {
			for range p.last - p.first + 1 {
				labels = append(labels, uint32(i+1))
			}
		}
		s.code.i32(int32(first))
		s.code.op(opI32Sub)
		s.code.op(binary.OpBrTable, labels...)
	} else { // a table for each level would take the square of the code
		for i, p := range points[:n-1] {
			s.code.i32(int32(p.last))
			s.code.op(opI32LeU)
			s.code.op(binary.OpBrIf, uint32(i+1))
			s.code.op(binary.OpLocalGet, s.resume)
		}
		s.code.op(binary.OpDrop)
		s.code.op(binary.OpBr, uint32(n))
	}
	s.code.op(binary.OpEnd)
}

// point writes a point, which is the current instruction.
func (s *saver) point(p point, base int) error {
	if len(s.code) > s.most {
		return tooMuch()
	}
	c := &s.now
	s.upto(c.Start)
	condition := uint32(0)
	if p.op == binary.OpIf {
		var err error
		if condition, err = s.local(spill{-len(s.labels), binary.I32}); err != nil {
			return err
		}
		s.code.op(binary.OpLocalSet, condition)
		s.types.pop()
	}
	if err := s.spill(base); err != nil {
		return err
	}
	s.code.op(binary.OpEnd)
	s.depth--
	takes := s.takes(c)
	beneath := max(base, len(s.types.stack)-takes)
	s.reload(beneath)
	if p.op == binary.OpIf {
		s.code.op(binary.OpLocalGet, condition)
		s.types.push(binary.I32)
	}
	s.upto(c.End)
	s.types.step(c)
	if p.op == binary.OpCall || p.op == binary.OpCallIndirect {
		s.look(p.first)
		return s.after(beneath, base)
	}
	s.open()
	if err := s.region(p.body, beneath); err != nil {
		return err
	}
	if s.now.Op == binary.OpElse {
		s.types.step(&s.now)
		s.upto(s.now.End)
		if err := s.region(p.other, beneath); err != nil {
			return err
		}
	}
	s.types.step(&s.now)
	s.upto(s.now.End)
	s.close()
	return s.after(beneath, base)
}

// takes is how many operands an instruction of a point takes, without the condition of an if.
func (s *saver) takes(c *binary.Code) int {
	switch c.Op {
	case binary.OpCall:
		return len(s.types.funcType(c.Index).Params)
	case binary.OpCallIndirect:
		return len(s.pass.module.Types[c.Index].Params) + 1
	}
	t, _ := s.pass.module.Func(c.BlockType)
	return len(t.Params)
}

// look leaves the function behind a call when the instance unwinds. When it rewinds no more, the call was reached.
func (s *saver) look(site uint32) {
	s.code.op(binary.OpGlobalGet, s.pass.state)
	s.begin(binary.OpIf, noValues)
	s.code.i32(int32(site))
	s.code.op(binary.OpLocalSet, s.resume)
	s.code.op(binary.OpBr, uint32(s.depth)) // of the block around all others, from within the if
	s.code.op(binary.OpEnd)
	s.code.i32(0)
	s.code.op(binary.OpLocalSet, s.resume)
}

// after puts the operands that are in locals below the results of a point, which are on the stack.
func (s *saver) after(beneath, base int) error {
	if beneath == base {
		return nil
	}
	if err := s.spill(beneath); err != nil {
		return err
	}
	s.reload(base)
	return nil
}

// spill takes the operands above a height off the stack, into locals. What types says stays.
func (s *saver) spill(height int) error {
	for i := len(s.types.stack) - 1; i >= height; i-- {
		local, err := s.local(spill{i, s.types.stack[i]})
		if err != nil {
			return err
		}
		s.code.op(binary.OpLocalSet, local)
	}
	return nil
}

// reload puts them back.
func (s *saver) reload(height int) {
	for i := height; i < len(s.types.stack); i++ {
		s.code.op(binary.OpLocalGet, s.spills[spill{i, s.types.stack[i]}])
	}
}

// local is the local of a spill.
func (s *saver) local(key spill) (uint32, error) {
	if local, ok := s.spills[key]; ok {
		return local, nil
	}
	switch key.is {
	case binary.I32, binary.I64, binary.F32, binary.F64:
	default:
		return 0, unsaved(key.is)
	}
	local := s.f.local(key.is)
	s.spills[key] = local
	s.values = append(s.values, value{local, key.is})
	return local, nil
}

// branch writes a branch to where its label is now.
func (s *saver) branch() error {
	c := &s.now
	s.upto(c.Start)
	s.without(c.End)
	labels := []uint32{c.Index}
	if c.Op == binary.OpBrTable {
		labels = c.AppendLabels(labels[:0])
	}
	for i, l := range labels {
		at := len(s.labels) - 1 - int(l)
		if at < 0 {
			return fmt.Errorf("%w: it branches to a block that there is not", ErrUnsaved)
		}
		labels[i] = uint32(s.depth - s.labels[at])
	}
	if c.Op == binary.OpBrTable {
		labels = append([]uint32{uint32(len(labels) - 1)}, labels...)
	}
	s.code.op(c.Op, labels...)
	return nil
}
