package rewrite

import (
	"math"

	"reprise/modules/binary"
)

// canonicalNaN puts one NaN in the place of any that an instruction computes. Which of its operands' NaNs
// such an instruction gives, and with which sign, differs between processors and between an interpreter and
// a compiler on the same one. NaNs that come from memory, constants and parameters stay as they are: they
// are the same everywhere.
//
// It also makes arithmetic of integers of the module's copysigns and selects of floats, with the same bits. On amd64 wazero
// 1.12 compiles both wrong when it is short of registers: its allocator does not know that they change a register in
// place, so it may forget the change (copysign) or take another register (select, wazero's issue 2534), in which anything
// may be, the host's own data too.
type canonicalNaN struct {
	info *Info
}

var (
	nan32 = []byte{byte(binary.OpF32Const), 0, 0, 0xc0, 0x7f}
	nan64 = []byte{byte(binary.OpF64Const), 0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
)

// computesNaN says of which type an instruction may compute a NaN. The ones that only move the sign
// (abs, neg, copysign) and those between integers and floats do not.
func computesNaN(op binary.Opcode) (binary.ValType, bool) {
	switch {
	case op >= 0x8d && op <= 0x97, op == 0xb6: // f32.ceil to f32.max, f32.demote_f64
		return binary.F32, true
	case op >= 0x9b && op <= 0xa5, op == 0xbb: // f64.ceil to f64.max, f64.promote_f32
		return binary.F64, true
	}
	return 0, false
}

// copiesSign says of which type an instruction is a copysign.
func copiesSign(op binary.Opcode) (binary.ValType, bool) {
	switch op {
	case opF32Copysign:
		return binary.F32, true
	case opF64Copysign:
		return binary.F64, true
	}
	return 0, false
}

func isFloat(t binary.ValType) bool { return t == binary.F32 || t == binary.F64 }

func (p *canonicalNaN) function(f *function) error {
	if !f.computes && !f.chooses {
		return nil
	}
	e := editOf(f.code)
	scratch := map[binary.ValType]uint32{}
	local := func(t binary.ValType) uint32 {
		if _, ok := scratch[t]; !ok {
			scratch[t] = f.local(t)
		}
		return scratch[t]
	}
	own := 0 // selects without a type so far: no other pass adds one
	c := binary.Instructions(f.code)
	for c.Next() {
		if t, ok := computesNaN(c.Op); ok {
			e.upto(c.End)
			e.canonical(t, local(t))
			p.info.CanonicalSites++
			continue
		}
		if t, ok := copiesSign(c.Op); ok {
			e.upto(c.Start)
			e.copysign(t, local(integerOf(t)))
			e.without(c.End)
			continue
		}
		var t binary.ValType
		switch c.Op {
		case binary.OpSelect:
			t = f.selects[own]
			own++
		case binary.OpSelectTyped:
			t = typeOfSelect(f.code[c.Start:c.End])
		}
		if isFloat(t) {
			e.upto(c.Start)
			e.choose(t, local(t), local(binary.I32))
			e.without(c.End)
		}
	}
	f.code = e.done()
	return c.Err()
}

// canonical makes the one NaN of any on the stack; x is a local of the type. This select of floats is safe: its first operand
// was in a register for the comparison right before and has no later use, so that the allocator, which takes the register
// whose value is used last, leaves it there.
func (c *code) canonical(t binary.ValType, x uint32) {
	nan, equal := nan32, opF32Eq
	if t == binary.F64 {
		nan, equal = nan64, opF64Eq
	}
	c.op(binary.OpLocalTee, x)
	*c = append(*c, nan...)
	c.op(binary.OpLocalGet, x)
	c.op(binary.OpLocalGet, x)
	c.op(equal) // false for a NaN only
	c.op(binary.OpSelect)
}

// choose is a select of floats by their bits; x is a local of the type and which one of type i32.
func (c *code) choose(t binary.ValType, x, which uint32) {
	c.op(binary.OpLocalSet, which)
	c.op(binary.OpLocalSet, x)
	c.toBits(t)
	c.op(binary.OpLocalGet, x)
	c.toBits(t)
	c.op(binary.OpLocalGet, which)
	c.op(binary.OpSelect)
	c.fromBits(t)
}

// copysign does by integers what the instruction does; x is a local of the integer's type.
func (c *code) copysign(t binary.ValType, x uint32) {
	c.toBits(t)
	c.mask(t, true)
	c.op(binary.OpLocalSet, x)
	c.toBits(t)
	c.mask(t, false)
	c.op(binary.OpLocalGet, x)
	if t == binary.F64 {
		c.op(opI64Or)
	} else {
		c.op(opI32Or)
	}
	c.fromBits(t)
}

// mask leaves of a float's bits the sign, or all but it.
func (c *code) mask(t binary.ValType, sign bool) {
	switch {
	case t == binary.F64 && sign:
		c.i64(math.MinInt64)
	case t == binary.F64:
		c.i64(math.MaxInt64)
	case sign:
		c.i32(math.MinInt32)
	default:
		c.i32(math.MaxInt32)
	}
	if t == binary.F64 {
		c.op(opI64And)
	} else {
		c.op(opI32And)
	}
}

// integerOf is the integer of a float's size.
func integerOf(t binary.ValType) binary.ValType {
	if t == binary.F64 {
		return binary.I64
	}
	return binary.I32
}

// toBits makes an integer of a float's bits, fromBits a float of them.
func (c *code) toBits(t binary.ValType) {
	if t == binary.F64 {
		c.op(opI64ReinterpretF64)
	} else {
		c.op(opI32ReinterpretF32)
	}
}

func (c *code) fromBits(t binary.ValType) {
	if t == binary.F64 {
		c.op(opF64ReinterpretI64)
	} else {
		c.op(opF32ReinterpretI32)
	}
}
