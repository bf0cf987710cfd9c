package binary

// Bounds of what a module may declare. Legitimate maxima were seen in Go and Rust programs of several
// megabytes (2,133 functions, 36,744 data segments, 441 locals); the compiler's time grows faster than
// these numbers do.
const (
	maxTypes    = 10_000
	maxParams   = 64
	maxResults  = 16
	maxImports  = 128
	maxFuncs    = 50_000
	maxGlobals  = 10_000
	maxExports  = 1_000
	maxSegments = 100_000
	maxElements = 2 * maxFuncs // of a segment
	maxEntries  = 100_000      // of the table, at the start
	maxLocals   = 2_000        // of a function
	maxBody     = 512 << 10
	maxSections = 10_000
	// maxPages is what a 32-bit memory can have.
	maxPages = 1 << 16
)

// bound is one of the bounds that Uses tells of.
type bound int

const (
	boundSections bound = iota
	boundTypes
	boundParams
	boundResults
	boundImports
	boundFuncs
	boundEntries
	boundGlobals
	boundExports
	boundElementSegments
	boundElements
	boundBody
	boundLocals
	boundDataSegments
	boundCount
)

// bounds has the word of each bound in a refusal, what Uses adds to it, and the bound itself.
var bounds = [boundCount]struct {
	what, of string
	most     int
}{
	boundSections:        {"sections", "", maxSections},
	boundTypes:           {"types", "", maxTypes},
	boundParams:          {"parameters", " of a function", maxParams},
	boundResults:         {"results", " of a function", maxResults},
	boundImports:         {"imports", "", maxImports},
	boundFuncs:           {"functions", "", maxFuncs},
	boundEntries:         {"entries", " of the table at its start", maxEntries},
	boundGlobals:         {"globals", "", maxGlobals},
	boundExports:         {"exports", "", maxExports},
	boundElementSegments: {"element segments", "", maxSegments},
	boundElements:        {"elements of a segment", "", maxElements},
	boundBody:            {"bytes", " of a function", maxBody},
	boundLocals:          {"locals", " of a function", maxLocals},
	boundDataSegments:    {"data segments", "", maxSegments},
}

// Use is how much of one bound a module takes.
type Use struct {
	What         string
	Figure, Most int
	// Function is the index of the function that has the figure, -1 when it is the whole module's.
	Function int
}

// figure is the most that was read for a bound.
type figure struct {
	n        int64
	function int
}

// bounded reads the number of elements of a vector that has a bound of its own.
func (r *reader) bounded(b bound, each int) int {
	n := r.count(r.most(b), each, bounds[b].what)
	r.use(b, int64(n), -1)
	return n
}

// most is the bound of a count.
func (r *reader) most(b bound) int {
	if r.unbounded {
		return len(r.file)
	}
	return bounds[b].most
}

// use notes a figure, if it is the largest, of a reader that decodes a module. It says whether the figure
// is within its bound.
func (r *reader) use(b bound, n int64, function int) bool {
	if r.used != nil && n > r.used[b].n {
		r.used[b] = figure{n, function}
	}
	return r.unbounded || n <= int64(bounds[b].most)
}

// Uses lists the bounds that reading a module compares with, in the order of its sections, and how much of each
// the module takes.
func (m *Module) Uses() []Use {
	uses := make([]Use, boundCount)
	for b, f := range m.used {
		uses[b] = Use{What: bounds[b].what + bounds[b].of, Figure: int(f.n), Most: bounds[b].most, Function: -1}
		if f.n > 0 && bounds[b].of == " of a function" {
			uses[b].Function = f.function
		}
	}
	for i, t := range m.funcTypes { // a type is of the first function that has it
		for b, n := range map[bound]int{boundParams: len(m.Types[t].Params), boundResults: len(m.Types[t].Results)} {
			if n > 0 && n == uses[b].Figure && uses[b].Function < 0 {
				uses[b].Function = i
			}
		}
	}
	return uses
}
