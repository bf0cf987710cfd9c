package binary

// Body is where one function stands in the file: File[Start:End] is its size and all of it, Code its
// instructions up to End.
type Body struct {
	Start, Locals, Code, End int
	Declared                 int // locals, parameters not counted
}

// Instruction is one instruction of a function. Which fields mean something depends on the opcode.
type Instruction struct {
	Op Opcode
	// Start and End are offsets in the file.
	Start, End int
	// Depth is the number of blocks, loops and ifs that are open around the instruction. For block, loop
	// and if that is without themselves, for else and end without the one that they belong to; the end of
	// the function has -1.
	Depth int
	// Index is the first index behind the opcode: a label, function, type, local, global, table or segment.
	Index uint32
	// Second is the second index: the table of call_indirect and table.init, the source of table.copy.
	Second uint32
	// Labels is the number of labels of a br_table, the default included.
	Labels int
	// BlockType is the type of a block, loop or if.
	BlockType BlockType
}

// BlockType is what a block, loop or if takes and gives: an index of a type, or a negative number.
type BlockType int64

// Func says what a block type means.
func (m *Module) Func(b BlockType) (FuncType, bool) {
	switch {
	case b >= 0 && int64(b) < int64(len(m.Types)):
		return m.Types[b], true
	case b == blockEmpty:
		return FuncType{}, true
	case b >= -64 && b < 0:
		return FuncType{Results: []ValType{ValType(b & 0x7f)}}, true
	}
	return FuncType{}, false
}

// blockEmpty is the block type of a block without values: the byte 0x40 as a signed number.
const blockEmpty BlockType = -64

// Code walks over the instructions of one function. It finds where each begins and ends and that blocks
// are closed; it does not check types, which is the engine's part. It allocates nothing.
//
//	for code := m.Code(i); code.Next(); {
//		use(code.Op, code.Index)
//	}
type Code struct {
	Instruction
	r     reader
	open  int // blocks, loops and ifs that are open, the function itself included
	ended bool
}

// Code begins a walk over the function that is i-th in the code section.
func (m *Module) Code(i int) Code {
	b := m.Bodies[i]
	return Code{r: reader{file: m.file, pos: b.Code, end: b.End, section: CodeSection.String()}, open: 1}
}

// Instructions begins a walk over instructions that stand alone, with an end as their last.
func Instructions(code []byte) Code {
	return Code{r: reader{file: code, end: len(code), section: CodeSection.String()}, open: 1}
}

// Err is why Next returned false before the function's end: nil or an *Error.
func (c *Code) Err() error {
	if c.r.err == nil {
		return nil
	}
	return c.r.err
}

// Next reads the next instruction. It returns false behind the last and at an error.
func (c *Code) Next() bool {
	r := &c.r
	if c.ended || r.err != nil {
		return false
	}
	c.Instruction = Instruction{Start: r.pos, Depth: c.open - 1}
	if r.pos < r.end {
		c.Op = Opcode(r.file[r.pos])
		r.pos++
	} else {
		r.truncated("an instruction")
	}
	is := immediates[c.Op&0xff]
	if is == immPrefix {
		is = c.misc()
	}
	switch c.Op {
	case OpBlock, OpLoop, OpIf:
		c.open++
	case OpElse:
		c.Depth--
	case OpEnd:
		c.open--
		c.Depth--
	}
	if is != immNone && r.err == nil {
		c.immediate(is)
	}
	if c.End = r.pos; c.open == 0 && r.err == nil {
		c.ended = true
		if r.left() > 0 {
			r.malformed(r.pos, "%d bytes follow the end of a function", r.left())
		}
	}
	return r.err == nil
}

// misc reads the number behind the prefix 0xfc.
func (c *Code) misc() immediate {
	n := c.r.u32("an instruction")
	switch {
	case c.r.err != nil:
		return noOpcode
	case n >= 19 && n <= 22:
		c.r.unsupported(c.Start, "wide_arithmetic", "a function uses arithmetic of 128 bits (wide arithmetic)")
		return noOpcode
	case n >= miscCount:
		c.r.malformed(c.Start, "there is no instruction 0xfc %d", n)
		return noOpcode
	}
	c.Op = miscBase + Opcode(n)
	return miscImmediates[n]
}

func (c *Code) immediate(is immediate) {
	r := &c.r
	switch is {
	case immIndex:
		c.Index = r.u32("an index")
	case immMemory:
		c.memory()
	case immI32:
		r.leb(5, "an i32 constant")
	case immI64:
		r.leb(10, "an i64 constant")
	case imm4:
		r.skip(4, "an f32 constant")
	case imm8:
		r.skip(8, "an f64 constant")
	case immBlock:
		c.block()
	case immTwo:
		c.Index, c.Second = r.u32("an index"), r.u32("an index")
	case immIndexZero:
		c.Index = r.u32("an index")
		c.zero()
	case immZero:
		c.zero()
	case immZeroZero:
		c.zero()
		c.zero()
	case immRefType:
		r.valType()
	case immTable:
		c.table()
	case immTypes:
		for range r.count(maxParams, 1, "types of a select") {
			r.valType()
		}
	default:
		c.unknown()
	}
}

// zero reads the place of a memory's index, which only the multi-memory proposal fills.
func (c *Code) zero() {
	if at := c.r.pos; c.r.byte("a memory's index") != 0 {
		c.r.unsupported(at, "multi_memory", "a function uses a second memory")
	}
}

// memory reads alignment and offset. Bit 6 of the alignment announces a memory's index.
func (c *Code) memory() {
	at := c.r.pos
	align := c.r.u32("an alignment")
	if align >= 64 {
		c.r.unsupported(at, "multi_memory", "a function uses a second memory")
	}
	c.r.leb(5, "an offset")
}

func (c *Code) block() {
	at := c.r.pos
	v := c.r.s33("a block's type")
	if c.r.err != nil || v >= 0 || v == blockEmpty {
		c.BlockType = v
		return
	}
	c.r.pos = at // a value type, or a feature that valType names
	c.BlockType = BlockType(c.r.valType()) - 0x80
}

// table skips the labels of a br_table.
func (c *Code) table() {
	r := &c.r
	c.Labels = r.count(maxBody, 1, "labels of a br_table") + 1
	for range c.Labels {
		if r.u32("a label"); r.err != nil {
			return
		}
	}
}

func (c *Code) unknown() {
	if feature, what := featureOf(c.Op); feature != "" {
		c.r.unsupported(c.Start, feature, "a function uses "+what)
		return
	}
	c.r.malformed(c.Start, "there is no instruction 0x%02x", byte(c.Op))
}

// AppendLabels appends the labels of a br_table, the default as the last.
func (c *Code) AppendLabels(to []uint32) []uint32 {
	r := reader{file: c.r.file, pos: c.Start + 1, end: c.End}
	r.u32("the number of labels")
	for range c.Labels {
		to = append(to, r.u32("a label"))
	}
	return to
}
