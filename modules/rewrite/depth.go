package rewrite

import "reprise/modules/binary"

// depth counts nested calls. The count goes down at a function's entry and up again at each of its ends:
// the body becomes a block, and a return a branch out of it. A function that calls no function of
// the module is not counted: it adds one frame to those that are.
//
// Engines differ in how many frames they have room for, and in how large a frame is: a compiler keeps
// there the values that it has no register for. So a function takes 1 and a unit more for each ValuesAUnit
// values that it may hold at a time, and the deepest stack is some megabytes whatever the functions are.
type depth struct {
	writer *binary.Writer
	info   *Info
	call   uint32 // the imported function
	left   uint32 // the global

	imported int // functions
}

// ValuesAUnit is how many values a function may hold for each unit of depth that it takes: a quarter of a kilobyte of
// frame.
const ValuesAUnit = 32

func (p *depth) function(f *function) error {
	if !f.calls {
		return nil
	}
	p.info.DepthFunctions++
	units := int32(1 + (f.own+f.highest+f.saved)/ValuesAUnit)
	if _, asked := p.info.Units[uint32(p.imported+f.index)]; asked {
		p.info.Units[uint32(p.imported+f.index)] = units
	}
	scratch := f.local(binary.I32)
	e := editOf(f.code)
	e.op(binary.OpGlobalGet, p.left)
	e.i32(units)
	e.op(opI32Sub)
	e.op(binary.OpLocalTee, scratch)
	e.op(binary.OpGlobalSet, p.left)
	e.op(binary.OpLocalGet, scratch)
	e.i32(0)
	e.op(opI32LtS)
	e.begin(binary.OpIf, noValues)
	e.op(binary.OpCall, p.call)
	e.op(binary.OpUnreachable)
	e.op(binary.OpEnd)
	e.begin(binary.OpBlock, typeOfBlock(p.writer, f.typ))
	if err := p.returns(f, &e); err != nil {
		return err
	}
	e.upto(len(f.code)) // its last end closes the block
	e.op(binary.OpGlobalGet, p.left)
	e.i32(units)
	e.op(opI32Add)
	e.op(binary.OpGlobalSet, p.left)
	e.op(binary.OpEnd)
	f.code = e.code
	return nil
}

// returns makes branches of the returns.
func (p *depth) returns(f *function, e *edit) error {
	if !f.survey.returns {
		return nil
	}
	c := binary.Instructions(f.code)
	for c.Next() {
		if c.Op == binary.OpReturn {
			e.upto(c.Start)
			e.op(binary.OpBr, uint32(c.Depth)) // what was the function's label is the block's
			e.without(c.End)
		}
	}
	return c.Err()
}

// typeOfBlock is the type of a block that gives what a function gives.
func typeOfBlock(w *binary.Writer, t binary.FuncType) binary.BlockType {
	switch len(t.Results) {
	case 0:
		return noValues
	case 1:
		return binary.BlockType(t.Results[0]) - 0x80
	}
	return binary.BlockType(w.AddType(binary.FuncType{Results: t.Results}))
}
