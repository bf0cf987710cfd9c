package rewrite

import "reprise/modules/binary"

// canonicalNaN puts one NaN in the place of any that an instruction computes. Which of its operands' NaNs
// such an instruction gives, and with which sign, differs between processors and between an interpreter and
// a compiler on the same one. NaNs that come from memory, constants and parameters stay as they are: they
// are the same everywhere.
//
// It leaves none of the instructions behind that wazero 1.12 compiles wrong for amd64 when it is short of registers, because
// they write a register on one of two ways only and the allocator of registers does not know; what such an instruction
// gives then is what the register held before, maybe the host's:
//   - select of floats (wazero's issue 2534), neither the module's own nor one that it adds: a select of integers with the same
//     bits takes its place;
//   - conversion of an unsigned i64 to a float: arithmetic without a branch takes its place.
type canonicalNaN struct {
	info *Info
}

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

// convertsUnsigned says to which type an instruction converts an unsigned i64.
func convertsUnsigned(op binary.Opcode) (binary.ValType, bool) {
	switch op {
	case opF32ConvertI64U:
		return binary.F32, true
	case opF64ConvertI64U:
		return binary.F64, true
	}
	return 0, false
}

func isFloat(t binary.ValType) bool { return t == binary.F32 || t == binary.F64 }

func (p *canonicalNaN) function(f *function) error {
	if !f.computes && !f.chooses && !f.converts {
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
		if t, ok := convertsUnsigned(c.Op); ok {
			e.upto(c.Start)
			e.convert(t, local(binary.I64))
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

// canonical makes the one NaN of any on the stack; x is a local of the type.
func (c *code) canonical(t binary.ValType, x uint32) {
	equal := opF32Eq
	if t == binary.F64 {
		equal = opF64Eq
	}
	c.op(binary.OpLocalTee, x)
	c.toBits(t)
	if t == binary.F64 {
		c.i64(0x7ff8 << 48)
	} else {
		c.i32(0x7fc0 << 16)
	}
	c.op(binary.OpLocalGet, x)
	c.op(binary.OpLocalGet, x)
	c.op(equal) // false for a NaN only
	c.op(binary.OpSelect)
	c.fromBits(t)
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

// convert makes a float of the unsigned i64 on the stack; x is a local of type i64. From 2^63 on, half of it is converted, with
// the bit that is lost kept in the lowest so that it is rounded as the whole would be, and doubled: the shift is by the
// sign, and the factor 1 more than it.
func (c *code) convert(t binary.ValType, x uint32) {
	sign := func() {
		c.op(binary.OpLocalGet, x)
		c.i64(63)
		c.op(opI64ShrU)
	}
	c.op(binary.OpLocalTee, x)
	sign()
	c.op(opI64ShrU)
	c.op(binary.OpLocalGet, x)
	sign()
	c.op(opI64And)
	c.op(opI64Or)
	c.fromSigned(t)
	sign()
	c.i64(1)
	c.op(opI64Add)
	c.fromSigned(t)
	if t == binary.F64 {
		c.op(opF64Mul)
	} else {
		c.op(opF32Mul)
	}
}

func (c *code) fromSigned(t binary.ValType) {
	if t == binary.F64 {
		c.op(opF64ConvertI64S)
	} else {
		c.op(opF32ConvertI64S)
	}
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
