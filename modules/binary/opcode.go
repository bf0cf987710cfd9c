package binary

// Opcode is the number of an instruction: its byte, or 0xfc00 plus the number behind the prefix 0xfc.
type Opcode uint16

// The instructions that a reader of code has a reason to tell apart. The rest is arithmetic.
const (
	OpUnreachable  Opcode = 0x00
	OpBlock        Opcode = 0x02
	OpLoop         Opcode = 0x03
	OpIf           Opcode = 0x04
	OpElse         Opcode = 0x05
	OpEnd          Opcode = 0x0b
	OpBr           Opcode = 0x0c
	OpBrIf         Opcode = 0x0d
	OpBrTable      Opcode = 0x0e
	OpReturn       Opcode = 0x0f
	OpCall         Opcode = 0x10
	OpCallIndirect Opcode = 0x11
	OpDrop         Opcode = 0x1a
	OpSelect       Opcode = 0x1b
	OpSelectTyped  Opcode = 0x1c
	OpLocalGet     Opcode = 0x20
	OpLocalSet     Opcode = 0x21
	OpLocalTee     Opcode = 0x22
	OpGlobalGet    Opcode = 0x23
	OpGlobalSet    Opcode = 0x24
	OpTableGet     Opcode = 0x25
	OpTableSet     Opcode = 0x26
	OpI32Load      Opcode = 0x28 // the first of the loads
	OpI64Load32U   Opcode = 0x35 // the last of the loads
	OpI32Store     Opcode = 0x36 // the first of the stores
	OpI64Store32   Opcode = 0x3e // the last of the stores
	OpMemorySize   Opcode = 0x3f
	OpMemoryGrow   Opcode = 0x40
	OpI32Const     Opcode = 0x41
	OpI64Const     Opcode = 0x42
	OpF32Const     Opcode = 0x43
	OpF64Const     Opcode = 0x44
	OpRefNull      Opcode = 0xd0
	OpRefIsNull    Opcode = 0xd1
	OpRefFunc      Opcode = 0xd2
	OpMemoryInit   Opcode = 0xfc08
	OpDataDrop     Opcode = 0xfc09
	OpMemoryCopy   Opcode = 0xfc0a
	OpMemoryFill   Opcode = 0xfc0b
	OpTableInit    Opcode = 0xfc0c
	OpElemDrop     Opcode = 0xfc0d
	OpTableCopy    Opcode = 0xfc0e
	OpTableGrow    Opcode = 0xfc0f
	OpTableSize    Opcode = 0xfc10
	OpTableFill    Opcode = 0xfc11
)

const (
	prefixMisc Opcode = 0xfc
	miscBase   Opcode = 0xfc00
	// miscCount is the number of instructions behind the prefix 0xfc.
	miscCount = 18
)

// immediate says what follows an opcode in the binary.
type immediate byte

const (
	noOpcode     immediate = iota // zero value: there is no such instruction
	immNone                       // nothing
	immBlock                      // a block type
	immIndex                      // one index
	immTwo                        // two indexes
	immIndexZero                  // one index and a byte that is 0
	immZero                       // a byte that is 0
	immZeroZero                   // two bytes that are 0
	immMemory                     // alignment and offset
	immI32                        // a signed number of 32 bits
	immI64                        // a signed number of 64 bits
	imm4                          // 4 bytes
	imm8                          // 8 bytes
	immRefType                    // a reference type
	immTable                      // a vector of labels and a label
	immTypes                      // a vector of value types
	immPrefix                     // another number
)

// immediates is core Wasm 2.0 without vectors.
var immediates = func() (t [256]immediate) {
	set := func(first, last Opcode, is immediate) {
		for op := first; op <= last; op++ {
			t[op] = is
		}
	}
	set(OpUnreachable, 0x01, immNone) // and nop
	set(OpBlock, OpIf, immBlock)
	t[OpElse], t[OpEnd], t[OpReturn] = immNone, immNone, immNone
	t[OpBr], t[OpBrIf], t[OpBrTable] = immIndex, immIndex, immTable
	t[OpCall], t[OpCallIndirect] = immIndex, immTwo
	t[OpDrop], t[OpSelect], t[OpSelectTyped] = immNone, immNone, immTypes
	set(OpLocalGet, OpTableSet, immIndex)
	set(OpI32Load, OpI64Store32, immMemory)
	t[OpMemorySize], t[OpMemoryGrow] = immZero, immZero
	t[OpI32Const], t[OpI64Const], t[OpF32Const], t[OpF64Const] = immI32, immI64, imm4, imm8
	set(0x45, 0xc4, immNone) // arithmetic
	t[OpRefNull], t[OpRefIsNull], t[OpRefFunc] = immRefType, immNone, immIndex
	t[prefixMisc] = immPrefix
	return t
}()

// miscImmediates is what follows the number behind the prefix 0xfc.
var miscImmediates = [miscCount]immediate{
	immNone, immNone, immNone, immNone, immNone, immNone, immNone, immNone, // truncation that saturates
	immIndexZero, immIndex, immZeroZero, immZero, // memory.init, data.drop, memory.copy, memory.fill
	immTwo, immIndex, immTwo, immIndex, immIndex, immIndex, // table.init, elem.drop, table.copy, grow, size, fill
}

// featureOf names the proposal that an opcode without a place in immediates belongs to.
func featureOf(op Opcode) (feature, what string) {
	switch {
	case op == 0xfd:
		return "simd", "vector instructions (SIMD)"
	case op == 0xfe:
		return "shared_memory", "atomic instructions (threads)"
	case op == 0xfb || op == 0xd3:
		return "gc", "instructions of the GC proposal"
	case op == 0x12 || op == 0x13 || op == 0x15:
		return "tail_calls", "tail calls"
	case op >= 0x06 && op <= 0x0a || op == 0x18 || op == 0x19 || op == 0x1f:
		return "exceptions", "Wasm exceptions"
	case op == 0x14 || op >= 0xd4 && op <= 0xd6:
		return "function_references", "typed function references"
	case op >= 0xe0 && op <= 0xe6:
		return "stack_switching", "stack switching"
	}
	return "", ""
}
