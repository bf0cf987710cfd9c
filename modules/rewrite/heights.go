package rewrite

import "reprise/modules/binary"

// heights follows how many operands are on the stack, in code that an engine would accept; in other code
// the numbers mean nothing.
type heights struct {
	module *binary.Module
	writer *binary.Writer

	now, highest int
	frames       []heightFrame
}

// heightFrame is an open block, loop or if.
type heightFrame struct {
	base            int // operands below its parameters
	params, results int
}

func (h *heights) step(c *binary.Code) {
	switch c.Op {
	case binary.OpBlock, binary.OpLoop, binary.OpIf:
		if c.Op == binary.OpIf {
			h.move(-1)
		}
		t, _ := h.module.Func(c.BlockType)
		h.frames = append(h.frames, heightFrame{base: h.now - len(t.Params), params: len(t.Params), results: len(t.Results)})
	case binary.OpElse:
		if n := len(h.frames); n > 0 {
			h.now = h.frames[n-1].base + h.frames[n-1].params
		}
	case binary.OpEnd:
		if n := len(h.frames); n > 0 {
			h.now = h.frames[n-1].base
			h.move(h.frames[n-1].results)
			h.frames = h.frames[:n-1]
		}
	case binary.OpCall:
		h.callOf(h.module.FuncType(c.Index))
	case binary.OpCallIndirect:
		h.move(-1)
		if int64(c.Index) < int64(len(h.module.Types)) {
			h.callOf(h.module.Types[c.Index])
		}
	default:
		h.move(effect(c.Op))
	}
}

// move takes operands from the stack or puts them on it. In code that nothing reaches there may be fewer.
func (h *heights) move(n int) {
	base := 0
	if len(h.frames) > 0 {
		base = h.frames[len(h.frames)-1].base
	}
	h.now = max(h.now+n, base)
	h.highest = max(h.highest, h.now)
}

func (h *heights) callOf(t binary.FuncType) {
	h.move(-len(t.Params))
	h.move(len(t.Results))
}

// effect is by how many operands an instruction with a fixed type changes the stack.
func effect(op binary.Opcode) int {
	in := func(first, last binary.Opcode) bool { return op >= first && op <= last }
	switch {
	case op == binary.OpLocalGet, op == binary.OpGlobalGet, op == binary.OpMemorySize, op == binary.OpTableSize,
		in(binary.OpI32Const, binary.OpF64Const), op == binary.OpRefNull, op == binary.OpRefFunc:
		return 1
	case op == binary.OpDrop, op == binary.OpLocalSet, op == binary.OpGlobalSet, op == binary.OpBrIf, op == binary.OpBrTable, op == binary.OpTableGrow:
		return -1
	case in(0x46, 0x4f), in(0x51, 0x66), in(0x6a, 0x78), in(0x7c, 0x8a), in(0x92, 0x98), in(0xa0, 0xa6): // of two operands
		return -1
	case op == binary.OpSelect, op == binary.OpSelectTyped, op == binary.OpTableSet, in(binary.OpI32Store, binary.OpI64Store32):
		return -2
	case op == binary.OpMemoryInit, op == binary.OpMemoryCopy, op == binary.OpMemoryFill, op == binary.OpTableInit, op == binary.OpTableCopy, op == binary.OpTableFill:
		return -3
	}
	return 0
}
