package rewrite

import "reprise/modules/binary"

// canonicalNaN puts one NaN in the place of any that an instruction computes. Which of its operands' NaNs
// such an instruction gives, and with which sign, differs between processors and between an interpreter and
// a compiler on the same one. NaNs that come from memory, constants and parameters stay as they are: they
// are the same everywhere.
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

func (p *canonicalNaN) function(f *function) error {
	if !f.computes {
		return nil
	}
	e := editOf(f.code)
	var scratch [2]uint32
	var have [2]bool
	c := binary.Instructions(f.code)
	for c.Next() {
		t, ok := computesNaN(c.Op)
		if !ok {
			continue
		}
		which, nan, eq := 0, nan32, opF32Eq
		if t == binary.F64 {
			which, nan, eq = 1, nan64, opF64Eq
		}
		if !have[which] {
			scratch[which], have[which] = f.local(t), true
		}
		x := scratch[which]
		e.upto(c.End)
		e.op(binary.OpLocalTee, x)
		e.code = append(e.code, nan...)
		e.op(binary.OpLocalGet, x)
		e.op(binary.OpLocalGet, x)
		e.op(eq) // false for a NaN only
		e.op(binary.OpSelect)
		p.info.CanonicalSites++
	}
	f.code = e.done()
	return c.Err()
}
