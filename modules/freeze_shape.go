package modules

import "reprise/modules/binary"

// The instructions that the shapes of Go's functions have, beside those that package binary names.
const (
	opI32Load8U  binary.Opcode = 0x2d
	opI32Load16U binary.Opcode = 0x2f
	opI64Store   binary.Opcode = 0x37
	opI64Store8  binary.Opcode = 0x3c
	opI32Eqz     binary.Opcode = 0x45
	opI32Eq      binary.Opcode = 0x46
	opI32Add     binary.Opcode = 0x6a
	opI32Sub     binary.Opcode = 0x6b
	opI64ShrU    binary.Opcode = 0x88
	opI32WrapI64 binary.Opcode = 0xa7
	opI64Extend  binary.Opcode = 0xad
)

// noValues is the type of a block that takes and gives nothing.
const noValues = -64

// step is an instruction with the number behind it: an index, a constant, a displacement or a block type.
type step struct {
	op  binary.Opcode
	arg int64
}

// codeShape compares a function with what it should look like, from its first instruction on. The first
// difference sticks.
type codeShape struct {
	steps []step
	bad   bool
}

// shapeOf reads a function by its index. One of more than maxShape instructions, and one that is imported, has no
// shape.
func shapeOf(m *binary.Module, index uint32) *codeShape {
	const maxShape = 200 // the wrapper of an import of 64 parameters has 140
	i := int(index) - m.ImportedFuncs()
	if i < 0 || i >= len(m.Bodies) {
		return &codeShape{bad: true}
	}
	s := &codeShape{}
	code := m.Code(i)
	for code.Next() {
		if len(s.steps) == maxShape {
			return &codeShape{bad: true}
		}
		arg := int64(code.Index)
		switch op := code.Op; {
		case op == binary.OpI32Const || op == binary.OpI64Const:
			arg = code.Constant()
		case op >= binary.OpI32Load && op <= binary.OpI64Store32:
			arg = int64(code.Displacement())
		case op == binary.OpBlock || op == binary.OpLoop || op == binary.OpIf:
			arg = int64(code.BlockType)
		}
		s.steps = append(s.steps, step{code.Op, arg})
	}
	s.bad = code.Err() != nil
	return s
}

// take passes an instruction and returns its number.
func (s *codeShape) take(op binary.Opcode) int64 {
	if s.bad || len(s.steps) == 0 || s.steps[0].op != op {
		s.bad = true
		return 0
	}
	arg := s.steps[0].arg
	s.steps = s.steps[1:]
	return arg
}

// want passes instructions, each given by opcode and number.
func (s *codeShape) want(pairs ...int64) {
	for i := 0; i < len(pairs); i += 2 {
		if s.take(binary.Opcode(pairs[i])) != pairs[i+1] {
			s.bad = true
		}
	}
}

// next says whether an instruction comes next.
func (s *codeShape) next(op binary.Opcode) bool {
	return len(s.steps) > 0 && s.steps[0].op == op
}

// done says whether the whole function was passed and is as it should be.
func (s *codeShape) done() bool { return !s.bad && len(s.steps) == 0 }

// ret passes the end of a function that returns.
func (s *codeShape) ret() {
	s.take(binary.OpReturn)
	s.take(binary.OpUnreachable)
	s.take(binary.OpEnd)
}

// underSP leaves SP minus 8 on the stack, where the return address is.
func (s *codeShape) underSP() {
	s.want(int64(binary.OpGlobalGet), goSP, int64(binary.OpI32Const), 8, int64(opI32Sub), 0)
}

// loop is wasm_pc_f_loop.
func (s *codeShape) loop() bool {
	s.want(int64(binary.OpGlobalGet), goPause, int64(opI32Eqz), 0, int64(binary.OpIf), noValues, int64(binary.OpLoop), noValues)
	s.underSP()
	s.want(int64(opI32Load16U), 0)
	s.underSP()
	s.want(int64(binary.OpI32Load), 2)
	s.take(binary.OpCallIndirect)
	s.take(binary.OpDrop)
	s.want(int64(binary.OpGlobalGet), goPause, int64(opI32Eqz), 0, int64(binary.OpBrIf), 0)
	s.loopEnd()
	return s.done()
}

func (s *codeShape) loopEnd() {
	s.take(binary.OpEnd)
	s.take(binary.OpEnd)
	s.want(int64(binary.OpI32Const), 0, int64(binary.OpGlobalSet), goPause)
	s.ret()
}

// loopExport is wasm_pc_f_loop_export. Its local 1 says whether a function was left before its end, 2 is the function.
func (s *codeShape) loopExport() bool {
	s.want(int64(binary.OpGlobalGet), goPause, int64(opI32Eqz), 0, int64(binary.OpIf), noValues)
	s.want(int64(binary.OpI32Const), 1, int64(binary.OpLocalSet), 1, int64(binary.OpLoop), noValues)
	s.underSP()
	s.want(int64(binary.OpI32Load), 2, int64(binary.OpLocalTee), 2, int64(binary.OpLocalGet), 0, int64(opI32Eq), 0)
	s.want(int64(binary.OpIf), noValues, int64(binary.OpLocalGet), 1, int64(opI32Eqz), 0, int64(binary.OpBrIf), 2)
	s.take(binary.OpEnd)
	s.underSP()
	s.want(int64(opI32Load16U), 0, int64(binary.OpLocalGet), 2)
	s.take(binary.OpCallIndirect)
	s.want(int64(binary.OpLocalSet), 1, int64(binary.OpGlobalGet), goPause, int64(opI32Eqz), 0, int64(binary.OpBrIf), 0)
	s.loopEnd()
	return s.done()
}

// rt0 is _rt0_wasm_wasip1: it sets SP, calls the runtime's first function, and then the loop.
func (s *codeShape) rt0(loop uint32) bool {
	s.take(binary.OpI64Const)
	s.take(opI32WrapI64)
	s.want(int64(binary.OpGlobalSet), goSP, int64(binary.OpI32Const), 0)
	s.take(binary.OpCall)
	s.take(binary.OpDrop)
	s.want(int64(binary.OpCall), int64(loop))
	s.ret()
	return s.done()
}

// lowerSP passes a change of SP and returns by how much.
func (s *codeShape) lowerSP() int64 {
	s.want(int64(binary.OpGlobalGet), goSP)
	by := s.take(binary.OpI32Const)
	s.want(int64(opI32Sub), 0, int64(binary.OpGlobalSet), goSP)
	return by
}

// goEntry is the wrapper of an exported function without parameters. It calls the function and, when that was
// left before its end, the loop. unready is what it calls when the runtime has not started.
func (s *codeShape) goEntry(result bool) (e GoEntry, loop, unready uint32) {
	s.want(int64(binary.OpGlobalGet), goSP, int64(opI32Eqz), 0, int64(binary.OpIf), noValues)
	unready = uint32(s.take(binary.OpCall))
	s.take(binary.OpEnd)
	frame := s.lowerSP()
	if len(s.steps) > 1 && s.steps[1].op == binary.OpI32Const {
		if s.lowerSP() != 8 {
			s.bad = true
		}
	} else if frame != 8 {
		s.bad = true
	} else {
		frame = 0
	}
	s.want(int64(binary.OpGlobalGet), goSP)
	address := s.take(binary.OpI64Const)
	s.want(int64(opI64Store), 0, int64(binary.OpI32Const), 0)
	s.take(binary.OpCall)
	s.want(int64(binary.OpIf), noValues, int64(binary.OpI64Const), address, int64(binary.OpI64Const), 16)
	s.take(opI64ShrU)
	s.take(opI32WrapI64)
	loop = uint32(s.take(binary.OpCall))
	s.take(binary.OpEnd)
	e.StopPC = uint32(uint64(address) >> 16)
	if e.HasResult = result; result {
		s.want(int64(binary.OpGlobalGet), goSP)
		op := binary.OpI32Load
		e.ResultBytes = 4
		if s.next(opI32Load8U) { // a bool
			op, e.ResultBytes = opI32Load8U, 1
		}
		e.ResultAt = uint32(s.take(op))
	}
	if frame > 0 {
		s.want(int64(binary.OpGlobalGet), goSP, int64(binary.OpI32Const), frame, int64(opI32Add), 0, int64(binary.OpGlobalSet), goSP)
	}
	s.ret()
	return e, loop, unready
}

// goPoint is the wrapper of an import that returns an i32. It keeps SP in a local, loads the arguments from the stack in memory,
// stores the result there and returns to the address on top of that stack.
func (s *codeShape) goPoint(index uint32, t binary.FuncType) (p GoPoint) {
	s.want(int64(binary.OpGlobalGet), goSP)
	sp := s.take(binary.OpLocalSet)
	for range t.Params {
		s.want(int64(binary.OpLocalGet), sp)
		if len(s.steps) == 0 || s.steps[0].op < binary.OpI32Load || s.steps[0].op > binary.OpI64Load32U {
			s.bad = true
			return p
		}
		s.take(s.steps[0].op)
	}
	s.want(int64(binary.OpCall), int64(index), int64(binary.OpGlobalGet), goSP, int64(binary.OpLocalSet), sp)
	s.take(opI64Extend)
	r := s.take(binary.OpLocalSet)
	s.want(int64(binary.OpLocalGet), sp, int64(binary.OpLocalGet), r)
	op := binary.OpI64Store32
	p.ResultBytes = 4
	switch {
	case s.next(opI64Store): // a pointer
		op, p.ResultBytes = opI64Store, 8
	case s.next(opI64Store8): // a bool
		op, p.ResultBytes = opI64Store8, 1
	}
	p.ResultAt = uint32(s.take(op))
	s.want(int64(binary.OpLocalGet), sp, int64(binary.OpI32Const), 8, int64(opI32Add), 0, int64(binary.OpLocalTee), sp, int64(binary.OpGlobalSet), goSP)
	s.want(int64(binary.OpI32Const), 0)
	s.ret()
	return p
}
