package rewrite

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

// generator writes valid functions of type (i) -> (i) with every kind of branch. Their loops end, because
// a jump to a loop's head takes from a local.
type generator struct {
	*rand.Rand
	code   []byte
	labels []label // of the open blocks, innermost last
	calls  []int   // functions that may be called
	rich   bool    // with operands below statements, of every type, and blocks that take and give them
}

// label is an open block.
type label struct {
	loop  bool
	takes int // integers of 32 bits that a branch to it brings
}

const (
	fuel  = 1 // local that jumps back take from
	other = 2 // local
)

func (g *generator) put(parts ...any) { g.code = append(g.code, ins(parts...)...) }

func (g *generator) statements(depth int) {
	for range 1 + g.IntN(5) {
		g.statement(depth)
	}
}

func (g *generator) statement(depth int) {
	kind := g.IntN(14)
	if g.rich && depth > 0 && g.IntN(3) == 0 {
		g.above(depth)
		return
	}
	if depth == 0 && kind >= 8 {
		kind -= 8
	}
	switch kind {
	case 0, 1, 2:
		for range 1 + g.IntN(12) {
			g.put(get(0), get(other), []int{0x6a, 0x6b, 0x6c, 0x73, 0x71}[g.IntN(5)], set([]int{0, other}[g.IntN(2)]))
		}
	case 3:
		g.put(get(0), call(0), set(other))
	case 4:
		if len(g.calls) > 0 {
			g.put(get(other), call(g.calls[g.IntN(len(g.calls))]), set(0))
		}
	case 5, 6:
		g.branch()
	case 7:
		if g.IntN(4) == 0 {
			g.put(get(0), ret)
		}
	case 8, 9:
		g.put(get(other), num(int64(g.IntN(100))), 0x4a, 0x04, empty) // i32.gt_s, if
		g.inside(false, depth)
		if g.IntN(2) == 0 {
			g.put(0x05)
			g.inside(false, depth)
		}
		g.put(end)
	case 10, 11:
		g.put(0x02, empty)
		g.inside(false, depth)
		g.put(end)
	default:
		g.put(0x03, empty)
		g.inside(true, depth)
		g.put(end)
	}
}

func (g *generator) inside(loop bool, depth int) {
	g.labels = append(g.labels, label{loop: loop})
	g.statements(depth - 1)
	if loop {
		g.jump(0)
	}
	g.labels = g.labels[:len(g.labels)-1]
}

// jump goes to a label if a local is above 0, from which a jump back takes.
func (g *generator) jump(label int) {
	to := g.labels[len(g.labels)-1-label]
	for range to.takes {
		g.put(get(0))
	}
	if to.loop {
		g.put(get(fuel), num(1), sub, 0x22, fuel, num(0), 0x4a, 0x0d, label)
	} else {
		g.put(get(other), num(0), 0x4a, 0x0d, label)
	}
	for range to.takes {
		g.put(drop)
	}
}

func (g *generator) branch() {
	if len(g.labels) == 0 {
		return
	}
	label := g.IntN(len(g.labels))
	forward := []int{}
	for i := range g.labels {
		if to := g.labels[len(g.labels)-1-i]; !to.loop && to.takes == 0 {
			forward = append(forward, i)
		}
	}
	switch kind := g.IntN(6); {
	case kind == 0 && len(forward) > 0:
		g.put(0x0c, forward[g.IntN(len(forward))])
	case kind == 1 && len(forward) > 0:
		pick := func() int { return forward[g.IntN(len(forward))] }
		g.put(get(other), 0x0e, 2, pick(), pick(), pick())
	default:
		g.jump(label)
	}
}

// above puts operands on the stack and statements above them.
func (g *generator) above(depth int) {
	convert := [][]byte{{}, {0xac}, {0xb2}, {0xb7}} // an i32 to each type
	back := [][]byte{{}, {0xa7}, {0xfc, 0}, {0xfc, 2}}
	var is []int
	for range 1 + g.IntN(3) {
		t := g.IntN(len(convert))
		is = append(is, t)
		g.put(get([]int{0, other}[g.IntN(2)]), convert[t])
		switch g.IntN(3) {
		case 0:
			g.put(get(other), convert[t], []int{0x6b, 0x7d, 0x95, 0xa3}[t]) // sub, or div of floats
		case 1:
			g.put(get(0), convert[t], get(other), 0x1b) // select
		}
	}
	switch takes := g.IntN(3); takes {
	case 0:
		g.statements(depth - 1)
	default: // a block of type (i) -> (i) or (i, i) -> (i, i)
		for range takes {
			g.put(get(other))
		}
		loop := g.IntN(3) == 0
		if loop {
			g.put(0x03, takes-1)
		} else {
			g.put(0x02, takes-1)
		}
		g.labels = append(g.labels, label{loop, takes})
		g.statements(depth - 1)
		g.put(call(0))
		g.jump(0)
		g.labels = g.labels[:len(g.labels)-1]
		g.put(end)
		for range takes {
			g.put(get(0), add, set(0))
		}
	}
	for i := len(is) - 1; i >= 0; i-- {
		g.put(back[is[i]], get(other), 0x73, set(other))
	}
}

func randomProgram(seed uint64) []byte {
	return program(&generator{Rand: rand.New(rand.NewPCG(seed, 1))})
}

// richProgram is a random program that has more than integers of 32 bits.
func richProgram(seed uint64) []byte {
	return program(&generator{Rand: rand.New(rand.NewPCG(seed, 2)), rich: true})
}

func program(g *generator) []byte {
	fns := make([]fn, 4)
	for i := len(fns) - 1; i >= 0; i-- {
		g.code, g.labels = nil, nil
		g.put(num(int64(3+g.IntN(10))), set(fuel))
		g.statements(4)
		fns[i] = fn{params: "i", results: "i", locals: "ii", code: ins(g.code, get(0))}
		g.calls = append(g.calls, 1+i)
	}
	fns[0].name = "f"
	return wasm(fns...)
}

// eachPays meters in the simplest way: every instruction pays for itself when it runs.
func eachPays(t *testing.T, file []byte) []byte {
	m := decode(t, file)
	w := binary.NewWriter(m)
	w.AddImport(ImportModule, ImportOutOfGas, binary.FuncType{})
	left := w.AddGlobal(binary.I64, 0)
	w.AddExport(ExportGas, binary.Global, left)
	for i := range m.Bodies {
		f := &function{index: i, locals: 3}
		e := edit{old: w.AppendRenumbered(nil, i)}
		pay := func(amount int64) {
			e.op(binary.OpGlobalGet, left)
			e.i64(amount)
			e.op(opI64Sub)
			e.op(binary.OpGlobalSet, left)
		}
		pay(costOfEntry(m, f))
		for c := binary.Instructions(e.old); c.Next(); {
			if n := cost(c.Op); n > 0 {
				e.upto(c.Start)
				pay(n)
			}
			if c.Op == binary.OpLoop {
				e.upto(c.End)
				pay(costOfTurn)
			}
		}
		w.SetBody(i, nil, e.done())
	}
	return w.Bytes()
}

// TestRandomPrograms says that gas is exact when no stretch lends, and no less than exact otherwise, and
// that nothing else changes.
func TestRandomPrograms(t *testing.T) {
	compiler, interpreter := newMachine(t, "compiler"), newMachine(t, "interpreter")
	ran, most := 0, int64(0)
	for seed := range uint64(400) {
		file := randomProgram(seed)
		simple := compiler.call(t, eachPays(t, file), 300_000, "f", seed)
		if simple.Gas > 300_000 {
			continue // it would take long
		}
		ran, most = ran+1, max(most, simple.Gas)
		if got := compiler.call(t, exactly(t, file), plenty, "f", seed); got.Gas != simple.Gas {
			t.Errorf("seed %d: got %d gas, want %d as what runs", seed, got.Gas, simple.Gas)
		}
		out, _ := apply(t, file, Options{Gas: true, Depth: PortableDepth, CanonicalNaN: true, LazyTable: 1})
		got := compiler.call(t, out, plenty, "f", seed)
		if got.Gas < simple.Gas {
			t.Errorf("seed %d: got %d gas, want at least %d", seed, got.Gas, simple.Gas)
		}
		if diff := cmp.Diff(got, interpreter.call(t, out, plenty, "f", seed)); diff != "" {
			t.Errorf("seed %d: engines differ (-compiler +interpreter):\n%s", seed, diff)
		}
		if got.Trap == "" && got.Depth != PortableDepth {
			t.Errorf("seed %d: got depth %d, want %d", seed, got.Depth, PortableDepth)
		}
		got.Gas, got.Depth = 0, 0
		if diff := cmp.Diff(compiler.call(t, file, 0, "f", seed), got); diff != "" {
			t.Errorf("seed %d (-original +rewritten):\n%s", seed, diff)
		}
	}
	if ran < 300 || most < 10_000 {
		t.Errorf("got %d programs of at most %d instructions, want more", ran, most)
	}
}
