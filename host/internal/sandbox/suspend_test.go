package sandbox

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules"
)

// suspended are the guests of testdata/guests/suspend, which wait wherever their language lets them.
func suspended(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(guestRoot, "suspend", "*.wasm"))
	if err != nil || len(paths) < 9 {
		t.Fatalf("got %d guests (%v), want those of each language and level of optimisation", len(paths), err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[strings.TrimSuffix(filepath.Base(path), ".wasm")], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestSuspendedAtEveryWait freezes guests that save their frames, and carries them on in new instances: they compute what
// those do that are left alone, ask the same, pay the same, and leave the same memory.
func TestSuspendedAtEveryWait(t *testing.T) {
	for engine, cfg := range map[string]Config{"compiler": {}, "interpreter": {Interpret: true}} {
		e := newEngine(t, cfg)
		for name, file := range suspended(t) {
			t.Run(engine+"/"+name, func(t *testing.T) {
				m, err := begin(t.Context(), e, file, fromShared)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Freezable(""); err != nil || m.prepared.Freeze.Kind != modules.FreezeSuspend {
					t.Fatalf("got %v (%+v), want a guest that saves its frames", err, m.prepared.Freeze)
				}
				entry := torturedEntry("2")
				if name == "plain-c" {
					entry.Input = []byte("so it reads sleeps wherever a program may and prints")
				}
				want, _ := newHourglass(entry, neverFreeze).run(t, m, nil)
				if !strings.HasPrefix(want.Ending, "<nil> <nil> ") || len(want.Trace) < 50 {
					t.Fatalf("got %s after %d calls, want a result after more", want.Ending, len(want.Trace))
				}
				r := rand.New(rand.NewPCG(1, 2))
				for often, freezes := range map[string]func(int) bool{"each": alwaysFreeze, "a third": func(int) bool { return r.IntN(3) == 0 }, "some": func(int) bool { return r.IntN(20) == 0 }} {
					w := newHourglass(entry, freezes)
					got, n := w.run(t, m, nil)
					if often == "each" && n != w.waits || n == 0 {
						t.Errorf("got %d freezes at %d waits", n, w.waits)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("(-left alone +frozen %d times, at %s of %d waits):\n%s", n, often, w.waits, diff)
					}
				}
			})
		}
	}
}

// TestSuspendedOnBothEngines freezes on one engine and thaws on the other, at each wait.
func TestSuspendedOnBothEngines(t *testing.T) {
	compiler, interpreter := newEngine(t, Config{}), newEngine(t, Config{Interpret: true})
	files := suspended(t)
	for _, name := range []string{"torture-c-O2", "torture-rust-O0", "torture-as"} {
		t.Run(name, func(t *testing.T) {
			var ms [2]*Module
			for i, e := range []*Engine{compiler, interpreter} {
				m, err := begin(t.Context(), e, files[name], fromShared)
				if err != nil {
					t.Fatal(err)
				}
				ms[i] = m
			}
			alone := newHourglass(torturedEntry("1"), neverFreeze)
			want := ms[0].Run(t.Context(), alone, "")
			w, n := newHourglass(torturedEntry("1"), alwaysFreeze), 0
			got := ms[0].Run(t.Context(), w, "")
			for ; got.Frozen != nil; n++ {
				f := got.Frozen
				got = ms[(n+1)%2].Thaw(t.Context(), w, f)
			}
			if n < 50 {
				t.Errorf("got %d freezes, want more", n)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-left alone +frozen):\n%s", diff)
			}
			if diff := cmp.Diff(alone.trace, w.trace); diff != "" {
				t.Errorf("(-left alone +frozen):\n%s", diff)
			}
		})
	}
}

// TestTooManyFrames does not freeze a guest whose calls are nested too deep, and freezes it when they are not.
func TestTooManyFrames(t *testing.T) {
	e := newEngine(t, Config{})
	file, err := os.ReadFile("testdata/deep.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := begin(t.Context(), e, file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]bool{"9000": false, "1000": true} {
		entry := torturedEntry(n)
		w := newHourglass(entry, alwaysFreeze)
		end := m.Run(t.Context(), w, "")
		if frozen := end.Frozen != nil; !errors.Is(end.Cause, ErrFreeze) || frozen != want {
			t.Fatalf("%s calls: got %+v, want %v and frozen %v", n, end.Cause, ErrFreeze, want)
		}
		if !want {
			continue
		}
		if len(end.Frozen.Frames) < 16_000 {
			t.Errorf("got %d words, want those of %s calls", len(end.Frozen.Frames), n)
		}
		alone := m.Run(t.Context(), newHourglass(entry, neverFreeze), "")
		if diff := cmp.Diff(alone, m.Thaw(t.Context(), w, end.Frozen)); diff != "" || alone.Failure != nil {
			t.Errorf("%s calls (-left alone +frozen):\n%s", n, diff)
		}
	}
	if err := m.Freezable(""); err != nil {
		t.Errorf("got %v, want a guest that can be frozen", err)
	}
}

// wary is an hourglass that knows which handles there are.
type wary struct{ *hourglass }

func (w wary) known(h int32) error {
	if h < 1 || int(h) > len(w.ops) || w.ops[h-1] == nil {
		return &Misuse{Function: "test", Reason: "there is no such handle"}
	}
	return nil
}

func (w wary) Wait(handles []int32, timeout int64, most int) ([]int32, error) {
	for _, h := range handles {
		if err := w.known(h); err != nil {
			return nil, err
		}
	}
	return w.hourglass.Wait(handles, timeout, most)
}

func (w wary) Result(h int32) ([]byte, error) {
	if err := w.known(h); err != nil {
		return nil, err
	}
	return w.hourglass.Result(h)
}

func (w wary) Drop(h int32) error {
	if err := w.known(h); err != nil {
		return err
	}
	return w.hourglass.Drop(h)
}

// frozenAt runs a guest until a wait and freezes it there.
func frozenAt(t *testing.T, m *Module, wait int) (wary, *Frozen) {
	t.Helper()
	entry := torturedEntry("1")
	entry.Limits.Gas, entry.Limits.RunGas = 2_000_000, 5_000_000
	w := wary{newHourglass(entry, func(n int) bool { return n == wait })}
	end := m.Run(t.Context(), w, "")
	if end.Frozen == nil || end.Frozen.Kind != modules.FreezeSuspend || len(end.Frozen.Frames) == 0 {
		t.Fatalf("got %+v, want a frozen guest with frames", end)
	}
	return w, end.Frozen
}

// TestDamagedFrames thaws guests whose frames somebody changed. Each is refused before the world was asked for anything, or
// runs as a guest does that computes something else; a limit of gas ends it.
func TestDamagedFrames(t *testing.T) {
	e := newEngine(t, Config{})
	files := suspended(t)
	refused, ran := 0, 0
	for i, name := range []string{"torture-c-O0", "torture-c-O2", "torture-rust-Os", "torture-as"} {
		m, err := begin(t.Context(), e, files[name], fromShared)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, uint64(i)))
		for range 80 {
			w, f := frozenAt(t, m, r.IntN(60))
			asked := len(w.trace)
			damage(r, f)
			switch end := m.Thaw(t.Context(), w, f); {
			case errors.Is(end.Cause, ErrUnusable):
				refused++
				if len(w.trace) != asked {
					t.Errorf("%s: it was refused and the world was asked for %v", name, w.trace[asked:])
				}
			case end.Cause != nil:
				t.Errorf("%s: got %v, want %v or an end of the guest's own", name, end.Cause, ErrUnusable)
			default:
				ran++
			}
		}
	}
	if refused < 50 || ran < 20 {
		t.Errorf("got %d that were refused and %d that ran, want some of each", refused, ran)
	}
}

// damage changes the frames, or what was pending.
func damage(r *rand.Rand, f *Frozen) {
	n := len(f.Frames)
	switch at := r.IntN(n); r.IntN(8) {
	case 0:
		f.Frames = f.Frames[:at]
	case 1:
		f.Frames = append(f.Frames, r.Uint64())
	case 2:
		f.Frames = slices.Insert(f.Frames, at, f.Frames[r.IntN(n)])
	case 3:
		f.Frames = append(f.Frames, f.Frames...)
	case 4:
		f.Args[r.IntN(len(f.Args))]++
	case 5:
		slices.Reverse(f.Frames)
	default:
		f.Frames[at] ^= 1 << r.IntN(33)
	}
}

// TestThawedAgain thaws the same frozen guest twice.
func TestThawedAgain(t *testing.T) {
	e := newEngine(t, Config{})
	m, err := begin(t.Context(), e, suspended(t)["torture-c-Os"], fromShared)
	if err != nil {
		t.Fatal(err)
	}
	var ends []Ending
	for range 2 {
		w, f := frozenAt(t, m, 30)
		_, again := frozenAt(t, m, 30)
		if diff := cmp.Diff(f, again); diff != "" {
			t.Errorf("frozen at the same place (-once +again):\n%s", diff)
		}
		ends = append(ends, m.Thaw(t.Context(), w, f))
		if diff := cmp.Diff(again, f); diff != "" {
			t.Errorf("thawing changes what was frozen (-before +after):\n%s", diff)
		}
	}
	if diff := cmp.Diff(ends[0], ends[1]); diff != "" || ends[0].Failure != nil || ends[0].Cause != nil {
		t.Errorf("got %+v (-once +again):\n%s", ends[0], diff)
	}
}
