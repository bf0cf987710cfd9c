package rewrite

import "reprise/modules/binary"

// operands follows the types of the operands on the stack, in code that an engine would accept; in other code what it says
// means nothing. A type is 0 where nothing runs.
type operands struct {
	module *binary.Module
	// funcType and globals are of the numbers that the code has.
	funcType func(index uint32) binary.FuncType
	globals  []binary.GlobalType
	locals   []binary.ValType
	stack    []binary.ValType
	frames   []operandFrame
}

// operandFrame is the function, or an open block, loop or if.
type operandFrame struct {
	base    int // operands below its parameters
	params  []binary.ValType
	results []binary.ValType
}

// selectTypes lists the types of a function's selects that do not say their type themselves.
func selectTypes(m *binary.Module, i int) []binary.ValType {
	var found []binary.ValType
	t := m.Types[m.Functions[i]]
	o := operands{module: m, funcType: m.FuncType, globals: m.Globals, frames: []operandFrame{{results: t.Results}}}
	o.locals = m.AppendLocals(append(o.locals, t.Params...), i)
	for c := m.Code(i); c.Next(); {
		if o.step(&c); c.Op == binary.OpSelect {
			found = append(found, o.stack[len(o.stack)-1])
		}
	}
	return found
}

func (o *operands) push(ts ...binary.ValType) { o.stack = append(o.stack, ts...) }

func (o *operands) pop() binary.ValType {
	n := len(o.stack)
	if n <= o.base() {
		return 0
	}
	t := o.stack[n-1]
	o.stack = o.stack[:n-1]
	return t
}

func (o *operands) base() int {
	if n := len(o.frames); n > 0 {
		return o.frames[n-1].base
	}
	return 0
}

func (o *operands) popAll(n int) {
	for range n {
		o.pop()
	}
}

// dead drops what is on the stack: nothing behind a jump runs.
func (o *operands) dead() { o.stack = o.stack[:min(o.base(), len(o.stack))] }

func (o *operands) step(c *binary.Code) {
	switch c.Op {
	case binary.OpBlock, binary.OpLoop, binary.OpIf:
		if c.Op == binary.OpIf {
			o.pop()
		}
		t, _ := o.module.Func(c.BlockType)
		o.popAll(len(t.Params))
		o.frames = append(o.frames, operandFrame{base: len(o.stack), params: t.Params, results: t.Results})
		o.push(t.Params...)
	case binary.OpElse:
		o.dead()
		if n := len(o.frames); n > 0 {
			o.push(o.frames[n-1].params...)
		}
	case binary.OpEnd:
		o.dead()
		if n := len(o.frames); n > 0 {
			results := o.frames[n-1].results
			o.frames = o.frames[:n-1]
			o.push(results...)
		}
	case binary.OpBr, binary.OpBrTable, binary.OpReturn, binary.OpUnreachable:
		o.dead()
	case binary.OpCall:
		o.call(o.funcType(c.Index))
	case binary.OpCallIndirect:
		o.pop()
		if int64(c.Index) < int64(len(o.module.Types)) {
			o.call(o.module.Types[c.Index])
		}
	default:
		o.variable(c)
	}
}

func (o *operands) call(t binary.FuncType) {
	o.popAll(len(t.Params))
	o.push(t.Results...)
}

// variable does instructions whose type is that of what they name.
func (o *operands) variable(c *binary.Code) {
	switch c.Op {
	case binary.OpLocalGet, binary.OpLocalTee:
		if c.Op == binary.OpLocalTee {
			o.pop()
		}
		if int64(c.Index) < int64(len(o.locals)) {
			o.push(o.locals[c.Index])
		}
	case binary.OpGlobalGet:
		if int64(c.Index) < int64(len(o.globals)) {
			o.push(o.globals[c.Index].Type)
		}
	case binary.OpSelect:
		o.pop()
		first, second := o.pop(), o.pop()
		o.push(max(first, second))
	case binary.OpSelectTyped:
		o.popAll(3)
		o.push(typeOfSelect(o.module.Bytes(c.Start, c.End)))
	default:
		p := plainOf(c.Op)
		if o.popAll(p.pops); p.result != 0 {
			o.push(p.result)
		}
	}
}

// typeOfSelect is the type that a select says: it says one, in its last byte.
func typeOfSelect(code []byte) binary.ValType { return binary.ValType(code[len(code)-1]) }

// plain is what an instruction of a fixed type takes and gives: nothing when result is 0.
type plain struct {
	pops   int
	result binary.ValType
}

func plainOf(op binary.Opcode) plain {
	if op < 0x100 {
		return plains[op]
	}
	switch {
	case op <= 0xfc03: // saturating conversions
		return plain{1, binary.I32}
	case op <= 0xfc07:
		return plain{1, binary.I64}
	case op == binary.OpTableSize:
		return plain{0, binary.I32}
	case op == binary.OpTableGrow:
		return plain{2, binary.I32}
	case op == binary.OpDataDrop, op == binary.OpElemDrop:
		return plain{}
	}
	return plain{pops: 3} // over memory or a table
}

// plains are those of one byte, as the standard numbers them.
var plains = func() (t [256]plain) {
	set := func(first, last binary.Opcode, pops int, result binary.ValType) {
		for op := first; op <= last; op++ {
			t[op] = plain{pops, result}
		}
	}
	for _, op := range []binary.Opcode{binary.OpDrop, binary.OpLocalSet, binary.OpGlobalSet, binary.OpBrIf} {
		set(op, op, 1, 0)
	}
	set(binary.OpTableGet, binary.OpTableGet, 1, binary.FuncRef)
	set(binary.OpTableSet, binary.OpTableSet, 2, 0)
	set(binary.OpI32Load, 0x35, 1, binary.I32) // then those of other types
	set(0x29, 0x29, 1, binary.I64)
	set(0x2a, 0x2a, 1, binary.F32)
	set(0x2b, 0x2b, 1, binary.F64)
	set(0x30, 0x35, 1, binary.I64)
	set(binary.OpI32Store, binary.OpI64Store32, 2, 0)
	set(binary.OpMemorySize, binary.OpMemorySize, 0, binary.I32)
	set(binary.OpMemoryGrow, binary.OpMemoryGrow, 1, binary.I32)
	set(binary.OpI32Const, binary.OpI32Const, 0, binary.I32)
	set(binary.OpI64Const, binary.OpI64Const, 0, binary.I64)
	set(binary.OpF32Const, binary.OpF32Const, 0, binary.F32)
	set(binary.OpF64Const, binary.OpF64Const, 0, binary.F64)
	set(0x45, 0x66, 2, binary.I32) // comparisons
	set(0x45, 0x45, 1, binary.I32)
	set(0x50, 0x50, 1, binary.I32)
	set(0x67, 0x69, 1, binary.I32) // arithmetic: of one operand, of two
	set(0x6a, 0x78, 2, binary.I32)
	set(0x79, 0x7b, 1, binary.I64)
	set(0x7c, 0x8a, 2, binary.I64)
	set(0x8b, 0x91, 1, binary.F32)
	set(0x92, 0x98, 2, binary.F32)
	set(0x99, 0x9f, 1, binary.F64)
	set(0xa0, 0xa6, 2, binary.F64)
	set(0xa7, 0xab, 1, binary.I32) // conversions
	set(0xac, 0xb1, 1, binary.I64)
	set(0xb2, 0xb6, 1, binary.F32)
	set(0xb7, 0xbb, 1, binary.F64)
	set(0xbc, 0xbc, 1, binary.I32) // the bits of another type
	set(0xbd, 0xbd, 1, binary.I64)
	set(0xbe, 0xbe, 1, binary.F32)
	set(0xbf, 0xbf, 1, binary.F64)
	set(0xc0, 0xc1, 1, binary.I32) // extension of signs
	set(0xc2, 0xc4, 1, binary.I64)
	set(binary.OpRefNull, binary.OpRefNull, 0, binary.FuncRef)
	set(binary.OpRefIsNull, binary.OpRefIsNull, 1, binary.I32)
	set(binary.OpRefFunc, binary.OpRefFunc, 0, binary.FuncRef)
	return t
}()
