package rewrite

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

// waits are programs that wait in every kind of place, most with operands below.
func waits() map[string][]byte {
	f := func(results, locals string, parts ...any) []byte {
		return wasm(fn{name: "f", params: "i", results: results, locals: locals, code: ins(parts...)})
	}
	w := func(n int) []byte { return ins(num(int64(n)), call(0)) }                                                                          // gives n + 1000
	lnum, fnum, dnum := ins(0x42, 0x85, 0x80, 0x80, 0x80, 0x80, 0x01), ins(0x43, 1, 2, 0xc0, 0x7f), ins(0x44, 1, 2, 3, 4, 5, 6, 0xf8, 0x7f) // NaNs with bits of their own
	return map[string][]byte{
		"call":                   f("i", "", get(0), call(0)),
		"two calls":              f("i", "", get(0), call(0), call(0)),
		"operands of every type": f("ildf", "", w(1), lnum, dnum, fnum, w(2), drop),
		"locals of every type":   f("ldf", "ldf", lnum, set(1), dnum, set(2), fnum, set(3), w(1), drop, get(1), get(2), get(3)),
		"locals that die":        f("i", "ii", w(1), set(1), get(1), set(2), w(2), set(1), get(1)),
		"stores across":          f("i", "", num(8), get(0), w(3), add, 0x36, 2, 0, w(4), drop, num(8), 0x28, 2, 0),
		"grows":                  f("i", "", num(1), 0x40, 0, w(1), drop, num(1), 0x40, 0, add, w(2), drop, 0x3f, 0, add),
		"global":                 f("i", "", 0x23, 0, w(1), add, 0x24, 0, w(2), drop, 0x23, 0),
		"in a block":             f("i", "", num(7), 0x02, 0x7f, num(8), w(1), add, end, add),
		"in a block that takes":  f("i", "", num(7), num(8), num(9), 0x02, 1, w(1), drop, sub, w(2), end, sub, sub),
		"in a loop that takes":   f("i", "", num(70), get(0), num(5), 0x03, 1, w(1), drop, num(1), sub, 0x22, 0, w(2), drop, get(0), get(0), 0x0d, 0, drop, end, add, add),
		"in an if that takes":    f("i", "", num(5), get(0), get(0), 0x04, 0, w(1), add, 0x05, num(3), add, w(2), add, end, sub),
		"in both arms":           f("i", "", num(6), get(0), 0x04, 0x7f, w(1), 0x05, w(2), end, sub),
		"in one arm":             f("i", "", num(6), get(0), 0x04, empty, w(1), drop, end, w(3), sub),
		"in the other arm":       f("i", "", num(6), get(0), 0x04, 0x7f, num(9), 0x05, w(1), w(2), add, end, sub, w(3), sub),
		"condition":              f("i", "", get(0), call(0), num(1001), 0x46, 0x04, 0x7f, w(1), 0x05, w(2), end),
		"ifs in ifs":             f("i", "", get(0), 0x04, 0x7f, get(0), num(1), sub, 0x04, 0x7f, w(1), 0x05, w(2), end, w(3), add, 0x05, w(4), end),
		"gives two":              f("ii", "", w(1), w(2), 0x02, 1, w(3), add, end),
		"countdown":              f("i", "i", 0x03, empty, get(0), call(0), get(1), add, set(1), get(0), num(1), sub, 0x22, 0, num(0), 0x4a, 0x0d, 0, end, get(1)),
		"loops in loops": f("i", "ii", num(3), set(1), 0x03, empty, num(2), set(2), 0x03, empty, get(1), call(0), get(0), add, set(0),
			get(2), num(1), sub, 0x22, 2, 0x0d, 0, end, get(1), num(1), sub, 0x22, 1, 0x0d, 0, end, get(0)),
		"branch with operands": f("i", "", 0x02, 0x7f, num(1), num(2), get(0), call(0), num(1003), 0x4a, 0x0d, 0, drop, w(5), sub, end),
		"br_table": f("i", "", 0x02, empty, 0x02, empty, 0x02, empty, get(0), call(0), num(1000), sub, 0x0e, 2, 0, 1, 2,
			end, w(1), ret, end, w(2), 0x0c, 0, end, w(3)),
		"return over operands": f("i", "", num(1), num(2), get(0), call(0), num(1002), 0x46, 0x04, empty, num(3), w(4), ret, end, drop),
		"behind a branch":      f("i", "", 0x02, 0x7f, w(4), 0x0c, 0, 0x6a, get(0), call(0), 0x04, empty, w(1), drop, 0x03, empty, end, 0x05, end, 0x00, end),
		"block that ends dead": f("i", "", w(1), drop, 0x02, empty, w(2), drop, 0x0c, 0, end, 0x02, 0x7f, w(3), ret, end),
		"select":               f("i", "", w(1), w(2), get(0), 0x1b, w(3), sub),
		"trap behind":          f("i", "", get(0), call(0), num(0), 0x6d),
		"in a row":             f("i", "", w(1), w(2), w(3), w(4), w(5), w(6), w(7), w(8), w(9), w(10), add, add, add, add, add, add, add, add, add),
		"in blocks in a row": f("i", "", 0x02, empty, w(1), drop, w(1), drop, w(1), drop, w(1), drop, end, 0x02, empty, w(1), drop, w(1), drop, w(1), drop, w(1), drop, end,
			0x02, empty, w(1), drop, w(1), drop, w(1), drop, w(1), drop, end, 0x02, empty, w(1), drop, w(2), drop, w(3), drop, w(4), drop, end, get(0)),
		"recursion": wasm(fn{name: "f", params: "i", results: "i", locals: "l", code: ins(lnum, set(1), get(0), num(0), 0x4c, 0x04, 0x7f, w(7), 0x05,
			get(0), get(0), num(1), sub, call(1), add, get(0), call(0), add, end, get(1), 0xa7, add)}),
		"nested": wasm(fn{name: "f", params: "i", results: "id", code: ins(num(40), get(0), call(2), call(3))},
			fn{params: "ii", results: "i", code: ins(get(0), get(1), call(0), add)},
			fn{params: "i", results: "id", code: ins(get(0), call(0), dnum)}),
		"by table": wasm(fn{name: "f", params: "i", results: "i", locals: "i", code: ins(num(30), w(1), num(20), get(0), num(2), 0x70, num(1), add, 0x11, 0, 0, add, add)},
			fn{params: "i", results: "i", code: ins(get(0), call(0), num(2), add)}, fn{params: "i", results: "i", code: ins(num(3), get(0), call(0), sub)}),
		"by table, wrong": wasm(fn{name: "f", params: "i", results: "i", code: ins(w(1), num(2), 0x11, 0, 0)}, fn{params: "i", results: "i", code: get(0)}, fn{}),
	}
}

// TestSuspend freezes programs at each of their waits, and at some.
func TestSuspend(t *testing.T) {
	files := waits()
	for engine := range engines {
		z := newFreezer(t, engine)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			t.Run(engine+"/"+name, func(t *testing.T) {
				m := decode(t, files[name])
				o := saving(m)
				out, info := apply(t, files[name], o)
				again, _ := apply(t, files[name], o)
				if !bytes.Equal(out, again) {
					t.Error("got other bytes the second time")
				}
				if info.SavingFunctions == 0 || info.SavingSites == 0 || info.SavedValues == 0 {
					t.Errorf("got %+v, want functions that save", info)
				}
				o.Suspend = nil
				plain, _ := apply(t, files[name], o)
				for _, arg := range []uint64{0, 1, 2, 3, 5} {
					want := z.runPlain(t, plain, "f", arg)
					if got := z.run(t, out, never, "f", arg); z.freezes > 0 || len(z.calls) == 0 && arg == 1 {
						t.Errorf("got %d freezes and %d calls", z.freezes, len(z.calls))
					} else if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("f(%d), not frozen (-want +got):\n%s", arg, diff)
					}
					if diff := cmp.Diff(want, z.run(t, out, always, "f", arg)); diff != "" {
						t.Errorf("f(%d), frozen (-want +got):\n%s", arg, diff)
					}
					if z.freezes != len(z.calls) {
						t.Errorf("f(%d): got %d freezes, want %d", arg, z.freezes, len(z.calls))
					}
				}
			})
		}
	}
}

// runPlain runs a module that does not save its frames.
func (z *freezer) runPlain(t testing.TB, file []byte, name string, args ...uint64) ended {
	t.Helper()
	m := decode(t, file)
	w := newNamed(m)
	return z.run(t, w, never, name, args...)
}

// TestSuspendRandom freezes random programs at random waits.
func TestSuspendRandom(t *testing.T) {
	compiler, interpreter := newFreezer(t, "compiler"), newFreezer(t, "interpreter")
	ran, freezes := 0, 0
	for seed := range uint64(120) {
		file := richProgram(seed)
		m := decode(t, file)
		o := saving(m)
		out, _ := apply(t, file, o)
		o.Suspend = nil
		plain, _ := apply(t, file, o)
		want := compiler.runPlain(t, plain, "f", seed%7)
		if len(want.Outcome.Calls) > 60 || want.Outcome.Gas > 300_000 {
			continue // it would take long
		}
		ran++
		for i, p := range []float64{0, 1, 0.3} {
			for engine, z := range map[string]*freezer{"compiler": compiler, "interpreter": interpreter} {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				got := z.run(t, out, func(int) bool { return r.Float64() < p }, "f", seed%7)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d, %s, frozen at %v of the waits (-want +got):\n%s", seed, engine, p, diff)
				}
				freezes += z.freezes
			}
		}
	}
	if ran < 60 || freezes < 1_000 {
		t.Errorf("got %d programs and %d freezes, want more", ran, freezes)
	}
}

// FuzzSuspend runs what ends, and freezes it in some of its waits: it gives the same.
func FuzzSuspend(f *testing.F) {
	for _, files := range []map[string][]byte{waits(), programs()} {
		for _, file := range files {
			f.Add(file, uint32(3), uint8(0xff))
			f.Add(file, uint32(2), uint8(0x55))
		}
	}
	z, k := newFreezer(f, "compiler"), newMachine(f, "interpreter")
	f.Fuzz(func(t *testing.T, file []byte, arg uint32, which uint8) {
		m, err := binary.Decode(file)
		if err != nil || m.HasStart {
			return
		}
		e, ok := m.Export("f")
		if !ok || e.Kind != binary.Func || len(e.Type.Params) != 1 || e.Type.Params[0] != binary.I32 || len(m.Memories) > 0 && m.Memories[0].Min > 100 {
			return
		}
		o := Options{Gas: true, Depth: PortableDepth, CanonicalNaN: true, LazyTable: 1, ExportGlobals: true}
		plain, _, err := Apply(m, o)
		if err != nil {
			return
		}
		const enough = 200_000
		want, err := k.try(plain, enough, "f", uint64(arg))
		if err != nil || want.Trap != "" || len(want.Calls) > 50 {
			return
		}
		if _, info, _ := Apply(m, Options{Apart: true}); info.Frozen != "" {
			return // more than what is carried to the next instance
		}
		o.Suspend = everyFunction(m)
		out, _, err := Apply(m, o)
		if errors.Is(err, ErrUnsaved) {
			return
		}
		got := z.run(t, out, func(call int) bool { return which>>(call%8)&1 != 0 }, "f", uint64(arg))
		if diff := cmp.Diff(masked(want, e.Type), masked(got.Outcome, e.Type)); diff != "" {
			t.Errorf("frozen %d times (-want +got):\n%s", z.freezes, diff)
		}
	})
}
