package rewrite

import "reprise/modules/binary"

// function is a function on its way through the passes.
type function struct {
	survey
	index  int // in the code section
	typ    binary.FuncType
	own    int // locals before any pass, parameters included
	locals int // and with those that passes added
	added  []binary.ValType
	saved  int    // locals among them that a frame is saved from
	code   []byte // the instructions, with their last end
}

// local adds a local and returns its index.
func (f *function) local(t binary.ValType) uint32 {
	f.added = append(f.added, t)
	f.locals++
	return uint32(f.locals - 1)
}

// edit makes new code of old: what is between two changes is copied.
type edit struct {
	old    []byte
	copied int // old is copied up to here
	code
}

// editOf begins an edit that has room for a few changes.
func editOf(old []byte) edit {
	return edit{old: old, code: make(code, 0, len(old)+len(old)/4+64)}
}

// upto copies the old code up to an offset.
func (e *edit) upto(at int) {
	e.code = append(e.code, e.old[e.copied:at]...)
	e.copied = at
}

// without skips old code from the place reached to an offset.
func (e *edit) without(at int) { e.copied = at }

// done copies the rest.
func (e *edit) done() []byte {
	e.upto(len(e.old))
	return e.code
}

// code is a sequence of instructions under construction.
type code []byte

// op appends an instruction with its indexes.
func (c *code) op(op binary.Opcode, indexes ...uint32) {
	*c = append(*c, byte(op))
	for _, i := range indexes {
		*c = binary.AppendUint(*c, i)
	}
}

// i32 appends a constant.
func (c *code) i32(v int32) {
	*c = binary.AppendInt(append(*c, byte(binary.OpI32Const)), int64(v))
}

// i64 appends a constant.
func (c *code) i64(v int64) {
	*c = binary.AppendInt(append(*c, byte(binary.OpI64Const)), v)
}

// begin opens a block, loop or if of a type.
func (c *code) begin(op binary.Opcode, t binary.BlockType) {
	*c = binary.AppendInt(append(*c, byte(op)), int64(t))
}

// The arithmetic that the passes use.
const (
	opI32Eqz     binary.Opcode = 0x45
	opI32Eq      binary.Opcode = 0x46
	opI32LtS     binary.Opcode = 0x48
	opI32LeU     binary.Opcode = 0x4d
	opI32Add     binary.Opcode = 0x6a
	opI32Sub     binary.Opcode = 0x6b
	opI32DivU    binary.Opcode = 0x6e
	opI32WrapI64 binary.Opcode = 0xa7
	opI64LtS     binary.Opcode = 0x53
	opI64Sub     binary.Opcode = 0x7d
	opI64Shl     binary.Opcode = 0x86
	opI64ShrU    binary.Opcode = 0x88
	opI64ExtendU binary.Opcode = 0xad
	opF32Eq      binary.Opcode = 0x5b
	opF64Eq      binary.Opcode = 0x61

	opI32And      binary.Opcode = 0x71
	opI32Or       binary.Opcode = 0x72
	opF32Copysign binary.Opcode = 0x98
	opF64Copysign binary.Opcode = 0xa6
	opI64And      binary.Opcode = 0x83
	opI64Or       binary.Opcode = 0x84

	opI32ReinterpretF32 binary.Opcode = 0xbc
	opI64ReinterpretF64 binary.Opcode = 0xbd
	opF32ReinterpretI32 binary.Opcode = 0xbe
	opF64ReinterpretI64 binary.Opcode = 0xbf
)
