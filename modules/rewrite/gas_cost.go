package rewrite

import "reprise/modules/binary"

// A unit of gas is about a nanosecond of compiled code on an ordinary core, and the most of an instruction
// that takes less. What the instructions cost is a part of PipelineVersion.
const (
	// costOfTurn is paid at the head of a loop beside its instructions.
	costOfTurn = 1
	// localsAUnit is how many locals are set to zero for a unit when a function is entered.
	localsAUnit = 16
	costOfCall  = 2
	// costOfCallIndirect adds the checks of the table's bounds and of the type.
	costOfCallIndirect = 4
	// costOfDivision is paid for what takes a processor tens of cycles: division, remainder, square root.
	costOfDivision = 5
	// costOfExit is paid for instructions that the compiler hands to the host.
	costOfExit = 100
	// costOfBulk is paid for an instruction over memory or a table beside its size.
	costOfBulk = 20
)

// cost is what an instruction pays beside the size of its operands.
func cost(op binary.Opcode) int64 {
	switch op {
	case binary.OpBlock, binary.OpLoop, binary.OpElse, binary.OpEnd, 0x01: // nop
		return 0 // no code
	case binary.OpCall:
		return costOfCall
	case binary.OpCallIndirect:
		return costOfCallIndirect
	case binary.OpMemoryGrow, binary.OpTableGrow, binary.OpRefFunc:
		return costOfExit
	case binary.OpMemoryInit, binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpTableInit, binary.OpTableCopy, binary.OpTableFill:
		return costOfBulk
	case 0x91, 0x95, 0x9f, 0xa3: // sqrt and division of floats
		return costOfDivision
	}
	if op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 { // division and remainder of integers
		return costOfDivision
	}
	return 1
}

// costOfEntry is paid when a function is entered, beside its instructions.
func costOfEntry(m *binary.Module, f *function) int64 {
	return 1 + int64(m.Bodies[f.index].Declared)/localsAUnit
}

// size says how an instruction pays for an operand: the upper one on the stack, an i32 without a sign.
type size struct {
	shift int64  // a unit pays for 2^shift of it, or 2^-shift units for one
	most  uint32 // above it the instruction fails at once and pays nothing
}

const (
	// bytesAUnit is the binary logarithm of the bytes that are copied or set for a unit.
	bytesAUnit = 3
	// pageUnits is the binary logarithm of the units for a page of 64 KiB that is new.
	pageUnits = 16 - bytesAUnit
)

// sizeOf says whether an instruction pays for an operand. Entries of a table take 8 bytes.
func (p *gas) sizeOf(op binary.Opcode) (size, bool) {
	switch op {
	case binary.OpMemoryInit, binary.OpMemoryCopy, binary.OpMemoryFill:
		return size{shift: bytesAUnit}, true
	case binary.OpTableInit, binary.OpTableCopy, binary.OpTableFill:
		return size{}, true
	case binary.OpMemoryGrow:
		return size{shift: -pageUnits, most: p.pages}, true
	case binary.OpTableGrow:
		return size{most: p.entries}, true
	}
	return size{}, false
}

// amount leaves what the operand in a local costs on the stack. A memory or table that cannot grow by as
// much does not grow at all, and guests ask for that: it must not take all their gas.
func (s size) amount(c *code, operand uint32) {
	c.op(binary.OpLocalGet, operand)
	c.op(opI64ExtendU)
	switch {
	case s.shift > 0:
		c.i64(s.shift)
		c.op(opI64ShrU)
	case s.shift < 0:
		c.i64(-s.shift)
		c.op(opI64Shl)
	}
	if s.most == 0 {
		return
	}
	c.i64(0)
	c.op(binary.OpLocalGet, operand)
	c.i32(int32(s.most))
	c.op(opI32LeU)
	// With its type: those without one are the module's own.
	*c = append(*c, byte(binary.OpSelectTyped), 1, byte(binary.I64))
}
