package modules

import (
	"errors"
	"fmt"

	"reprise/modules/binary"
)

// Bounds of one function's code. The compiler works on one function at a time, cannot be interrupted in
// it, and takes time that grows with the square or the third power of these figures. The largest ones
// in programs of up to 15 MB (Go with net/http, Rust, Zig, TinyGo, C) are given beside each bound.
const (
	maxInstructions = 100_000       // 87,743
	maxBranches     = 8_000         // 5,553
	maxNesting      = 5_000         // 3,289
	maxLoops        = 64            // 8
	maxTable        = 8_192         // 5,491
	maxLabels       = 16_384        // 5,491
	maxBulk         = 1_000         // 197
	maxValues       = 400_000       // 219,960; each takes the compiler 0.8 KB
	maxSearched     = 50_000_000    // 185,000
	maxRemovals     = 1_000_000_000 // 21,700,000
)

// maxCost bounds the estimated time to compile the whole module, in nanoseconds of an ordinary core. The
// estimate is near to the truth for the worst that was found, and 1.3 to 2 times the truth for others.
const maxCost = 6_000_000_000

// The parts of the estimate, in nanoseconds.
const (
	costFunction = 3_000
	costLabel    = 5_000
	costBulk     = 20_000
	costTable    = 8_000
	costBranches = 12 // times the square of the branches
	costValues   = 800
	costSearched = 16
	costRemovals = 1
	// largeFunction is the number of instructions at which each begins to take twice as long.
	largeFunction = 20_000
	// branchesOfBulk is the number of branches of the loop that an instruction such as memory.fill becomes.
	branchesOfBulk = 3
)

// costs is the compiler's time for one instruction in nanoseconds, by opcode, in the worst surroundings
// that were found: no bounds check can be left out, and every trap has code of its own.
var costs = func() (t [256]uint16) {
	set := func(first, last binary.Opcode, ns uint16) {
		for op := first; op <= last; op++ {
			t[op] = ns
		}
	}
	set(0, 255, 60)
	set(binary.OpBlock, binary.OpIf, 4_000)
	t[binary.OpBrIf] = 4_000
	t[binary.OpCall], t[binary.OpCallIndirect] = 2_000, 6_000
	set(binary.OpTableGet, binary.OpTableSet, 8_000)
	set(binary.OpI32Load, binary.OpI64Store32, 1_500)
	t[binary.OpMemoryGrow], t[binary.OpRefFunc] = 6_000, 3_000
	set(0x6d, 0x70, 1_500)          // division of i32
	set(0x7f, 0x82, 1_500)          // division of i64
	set(0xa8, 0xab, 2_500)          // conversion of floats to i32
	set(0xae, 0xb1, 2_500)          // conversion of floats to i64
	t[0xb5], t[0xba] = 1_000, 1_000 // conversion of u64 to floats
	return t
}()

// limit is one figure of a function, its bound, and how to get below it.
type limit struct {
	figure, most int
	what, fix    string
}

// limitCount is the number of limits of a function.
const limitCount = 10

func (f *figures) limits() [limitCount]limit {
	const split = "split the function"
	return [...]limit{
		{f.instructions, maxInstructions, "instructions", split + ", or build with less inlining"},
		{f.branches, maxBranches, "blocks, loops, ifs and conditional branches", split + ", or build with less inlining"},
		{f.nesting, maxNesting, "blocks in one another", split + " or its largest switch"},
		{f.loops, maxLoops, "loops in one another", split},
		{f.table, maxTable, "labels in one br_table", "split the switch into several"},
		{f.labels, maxLabels, "labels in its br_tables", split + " or its switches"},
		{f.bulk, maxBulk, "bulk instructions on memory or tables", "call a function that fills or copies"},
		{f.values(), maxValues, "locals times branches", split + ", or build with optimisation"},
		{f.searched, maxSearched, "steps to find the values of its locals", split + ", or build with optimisation"},
		{f.removals(), maxRemovals, "steps to join the values of its locals", split + ", or build with optimisation"},
	}
}

// codeUse is how much a module's code takes of each limit. The check compares while this is gathered, so that what
// a report says is what was compared.
type codeUse struct {
	limits       [limitCount]limit // the largest figure of a function
	in           [limitCount]int   // the function in the code section that has it, -1 for none
	instructions int               // of all functions
	cost         int               // estimated time to compile all, in nanoseconds
}

// add takes in the figures of a function and refuses the first that is too high.
func (u *codeUse) add(i int, f figures) error {
	limits := f.limits()
	for l, next := range limits {
		if next.figure > u.limits[l].figure {
			u.limits[l], u.in[l] = next, i
		}
	}
	u.instructions += f.instructions
	u.cost += f.total()
	for _, l := range limits {
		if l.figure > l.most {
			return &RefusedError{Code: "too_many", Fix: l.fix, Where: "code section",
				What: fmt.Sprintf("a function has %d %s, more than %d", l.figure, l.what, l.most)}
		}
	}
	if u.cost > maxCost {
		return &RefusedError{Code: "too_many", Fix: "leave out what the module does not use, or split it", Where: "code section",
			What: fmt.Sprintf("to compile the module as far as this function takes about %.3f s, more than %.3f s", seconds(u.cost), seconds(maxCost))}
	}
	return nil
}

// total is the estimated time to compile a function, in nanoseconds.
func (f *figures) total() int {
	return costFunction + f.cost + f.cost/largeFunction*f.instructions + f.branches*f.branches*costBranches +
		f.values()*costValues + f.searched*costSearched + f.removals()*costRemovals
}

// measureCode walks over every function. It refuses what the engine has no support for, by name, and what
// would keep the engine's compiler busy for longer than an upload is worth. It says how much the code takes of each
// limit, up to the function that is refused.
func measureCode(m *binary.Module) (codeUse, error) {
	var f flow
	var u codeUse
	for l, limit := range (&figures{}).limits() {
		u.limits[l], u.in[l] = limit, -1
	}
	for i := range m.Bodies {
		figures, err := f.measure(m, i)
		if err != nil {
			return u, inFunction(m, i, refusedForm(err))
		}
		if err := u.add(i, figures); err != nil {
			return u, inFunction(m, i, err)
		}
	}
	return u, nil
}

func seconds(ns int) float64 { return float64(ns) / 1e9 }

// inFunction adds to a refusal which function is meant.
func inFunction(m *binary.Module, i int, err error) error {
	var e *RefusedError
	if !errors.As(err, &e) {
		return err
	}
	index := m.ImportedFuncs() + i
	where := fmt.Sprintf("function %d", index)
	if name := m.FuncName(index); name != "" {
		where += fmt.Sprintf(" %.100q", name)
	}
	e.Where = where + ", " + e.Where
	return e
}
