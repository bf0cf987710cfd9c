package rewrite

import "reprise/modules/binary"

// point is a call that can reach a wait, or a block, loop or if with such calls in it: a place that a function
// goes to when it comes back to a call. Calls are numbered from 1 in the order of the code.
type point struct {
	op          binary.Opcode
	at          int    // of the instruction in the old code
	first, last uint32 // calls in it
	body, other []point
}

// scanned is what a function has to come back to.
type scanned struct {
	points []point // of the function's own level
	sites  int
	// carried are the locals whose value may be needed behind a call.
	carried []bool
}

// scanFrame is an open block, loop, if or function.
type scanFrame struct {
	point
	dead   bool // it begins in code that nothing reaches
	points []point
}

// scan finds the points of a function. A call in code that nothing reaches is none.
//
// A local is carried unless each read of it follows a write of it without a call or a label in between: then what it
// has at a call is not read any more. Most of what a compiler makes without optimising is like that.
func (p *suspend) scan(old []byte, locals int) (scanned, error) {
	found := scanned{carried: make([]bool, locals)}
	written, stretch := make([]int, locals), 0 // the stretch that wrote a local last; the first has the parameters and zeros
	frames, dead := []scanFrame{{}}, false
	c := binary.Instructions(old)
	for c.Next() {
		top := &frames[len(frames)-1]
		switch c.Op {
		case binary.OpBlock, binary.OpLoop, binary.OpIf:
			frames = append(frames, scanFrame{point: point{op: c.Op, at: c.Start, first: uint32(found.sites + 1)}, dead: dead})
			if c.Op == binary.OpLoop {
				stretch++
			}
		case binary.OpElse:
			top.body, top.points, dead = top.points, nil, top.dead
			top.op = binary.OpElse
			stretch++
		case binary.OpEnd:
			dead = top.dead
			stretch++
			frames = frames[:len(frames)-1]
			if len(frames) == 0 {
				found.points = top.points
				break
			}
			if top.last = uint32(found.sites); top.last >= top.first {
				up := &frames[len(frames)-1]
				up.points = append(up.points, top.closed())
			}
		case binary.OpBr, binary.OpBrTable, binary.OpReturn, binary.OpUnreachable:
			dead = true
		case binary.OpLocalGet:
			if int64(c.Index) < int64(locals) && written[c.Index] != stretch {
				found.carried[c.Index] = true
			}
		case binary.OpLocalSet, binary.OpLocalTee:
			if int64(c.Index) < int64(locals) {
				written[c.Index] = stretch
			}
		case binary.OpCall, binary.OpCallIndirect:
			if !dead && p.reaches(&c) {
				found.sites++
				n := uint32(found.sites)
				top.points = append(top.points, point{op: c.Op, at: c.Start, first: n, last: n})
				stretch++
			}
		}
	}
	return found, c.Err()
}

// closed is the point of a block, loop or if that is complete.
func (f *scanFrame) closed() point {
	p := f.point
	if p.op == binary.OpElse {
		p.op, p.other = binary.OpIf, f.points
		return p
	}
	p.body = f.points
	return p
}
