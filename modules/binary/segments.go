package binary

// constExpr skips the expression that gives a global or segment its value.
func (r *reader) constExpr() {
	for r.err == nil {
		at := r.pos
		switch op := r.byte("a constant expression"); op {
		case 0x0b: // end
			return
		case 0x41: // i32.const
			r.leb(5, "an i32 constant")
		case 0x42: // i64.const
			r.leb(10, "an i64 constant")
		case 0x43: // f32.const
			r.skip(4, "an f32 constant")
		case 0x44: // f64.const
			r.skip(8, "an f64 constant")
		case 0x23: // global.get
			r.u32("a global's index")
		case 0xd0: // ref.null
			r.valType()
		case 0xd2: // ref.func
			r.funcIndex("a function's index")
		case 0xfd: // the prefix of vector instructions
			r.unsupported(at, "simd", "a constant expression has a vector (SIMD)")
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e:
			r.unsupported(at, "extended_const", "a constant expression computes (extended constants)")
		case 0xfb: // the prefix of GC instructions
			r.unsupported(at, "gc", "a constant expression makes a GC object")
		default:
			r.malformed(at, "the instruction 0x%02x is in a constant expression", op)
		}
	}
}

// elements walks over the element section. A segment's flags say: bit 0 passive or declared, bit 1 a
// table index or declared, bit 2 expressions instead of function indexes.
func (m *Module) elements(r *reader) {
	for range r.bounded(boundElementSegments, 3) {
		var e Element
		at := r.pos
		flags := r.u32("an element segment")
		if flags > 7 {
			r.malformed(at, "an element segment has the flags %d", flags)
		}
		if flags&1 == 0 {
			if flags&2 != 0 {
				r.u32("a table's index")
			}
			e.Active = true
			e.Offset, e.Constant = r.offset()
		}
		exprs := flags&4 != 0
		e.Expressions = exprs
		if flags&3 != 0 {
			r.elementKind(exprs)
		}
		for range r.bounded(boundElements, 1) {
			if exprs {
				r.constExpr()
			} else {
				e.Funcs = append(e.Funcs, r.funcIndex("a function's index"))
			}
			if r.err != nil {
				return
			}
		}
		if r.err != nil {
			return
		}
		m.Elements = append(m.Elements, e)
	}
}

func (r *reader) elementKind(exprs bool) {
	if exprs {
		r.valType()
		return
	}
	at := r.pos
	if b := r.byte("an element's kind"); b != 0 {
		r.malformed(at, "an element segment has the kind 0x%02x", b)
	}
}

// code walks over the bodies: their sizes and locals. Their instructions are for Code.
func (m *Module) code(r *reader) {
	n := r.count(maxFuncs, 3, "function bodies")
	m.Bodies = make([]Body, 0, n)
	for i := range n {
		at := r.pos
		size := r.count(len(r.file), 1, "bytes of a function")
		if index := m.ImportedFuncs() + i; r.err == nil && !r.use(boundBody, int64(size), index) {
			r.fail(at, "too_large", "split the function, or build with less inlining", "a function has %d bytes, more than %d", size, maxBody)
		}
		if r.err != nil {
			return
		}
		b := Body{Start: at, Locals: r.pos, End: r.pos + size}
		body := r.within(size)
		b.Declared = body.locals(at, m.ImportedFuncs()+i)
		b.Code = body.pos
		if body.err == nil && body.left() == 0 || body.err == nil && r.file[body.end-1] != 0x0b {
			body.malformed(body.end, "a function does not end with the instruction end")
		}
		if r.err = body.err; r.err != nil {
			return
		}
		m.Bodies = append(m.Bodies, b)
	}
}

// locals reads the groups of locals. Their sum is bounded because a group of 4 billion takes 6 bytes.
func (r *reader) locals(at, function int) int {
	var sum int64
	for range r.count(r.most(boundLocals), 2, "groups of locals") {
		sum += int64(r.u32("a number of locals"))
		r.valType()
		if r.err != nil {
			return 0
		}
		if !r.use(boundLocals, sum, function) {
			r.fail(at, "too_many", "split the function", "a function has more than %d locals", maxLocals)
			return 0
		}
	}
	return int(sum)
}

func (m *Module) data(r *reader) {
	n := r.bounded(boundDataSegments, 2)
	m.Data = make([]Data, 0, n)
	for range n {
		at := r.pos
		flags := r.u32("a data segment")
		if flags > 2 {
			r.malformed(at, "a data segment has the flags %d", flags)
		}
		if flags == 2 {
			r.u32("a memory's index")
		}
		d := Data{At: at, Passive: flags == 1}
		if !d.Passive {
			d.Offset, d.Constant = r.offset()
		}
		size := r.count(len(r.file), 1, "bytes of a data segment")
		d.Start, d.End = r.pos, r.pos+size
		r.skip(size, "a data segment")
		if r.err != nil {
			return
		}
		m.Data = append(m.Data, d)
	}
}

// offset reads the expression that says where a segment begins; constant when it is an i32 constant alone.
func (r *reader) offset() (value uint32, constant bool) {
	at := r.pos
	r.constExpr()
	if r.err != nil || r.file[at] != byte(OpI32Const) {
		return 0, false
	}
	pos, shift, v := at+1, 0, int64(0)
	for ; r.file[pos]&0x80 != 0; pos, shift = pos+1, shift+7 {
		v |= int64(r.file[pos]&0x7f) << shift
	}
	v |= int64(r.file[pos]) << shift
	if shift += 7; shift < 32 && r.file[pos]&0x40 != 0 {
		v |= -1 << shift
	}
	return uint32(v), pos+2 == r.pos
}
