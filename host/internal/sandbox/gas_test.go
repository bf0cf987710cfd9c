package sandbox

import (
	"context"
	"errors"
	"os"
	"sort"
	"testing"
	"time"

	"reprise/abi"
	"reprise/modules"
)

// shared prepares a fixture that all packages use.
func shared(t *testing.T, name string) *modules.Prepared {
	t.Helper()
	b, err := os.ReadFile("../../../testdata/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	p, err := modules.Prepare(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGas stops a guest that computes without end, at the same place on both engines.
func TestGas(t *testing.T) {
	for name, cfg := range map[string]Config{"compiler": {}, "interpreter": {Interpret: true}} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, cfg)
			end := load(t, e, shared(t, "spin")).Run(t.Context(), &fakeWorld{entry: Entry{Limits: abi.Limits{Gas: 3 * gasSlice}}}, "")
			if end.Cause != nil || end.Failure == nil || end.Failure.Code != abi.CodeOutOfGas {
				t.Errorf("got %+v, want a failure out_of_gas", end)
			}
			if n := e.places.taken(); n != 0 {
				t.Errorf("%d places to compute are held after the end, want none", n)
			}
		})
	}
}

// TestGasLimitsAreExact: each limit is met at one more than it allows, and that is the same on both engines.
func TestGasLimitsAreExact(t *testing.T) {
	compiled, interpreted := load(t, newEngine(t, Config{}), prepared(t, "count")), load(t, newEngine(t, Config{Interpret: true}), prepared(t, "count"))
	enough := func(m *Module, l abi.Limits) bool {
		end := m.Run(t.Context(), &fakeWorld{entry: Entry{Limits: l}}, "")
		if end.Cause != nil || (end.Failure == nil) != (string(end.Output) == "done") || end.Failure != nil && end.Failure.Code != abi.CodeOutOfGas {
			t.Fatalf("got %+v, want done or out_of_gas", end)
		}
		return end.Failure == nil
	}
	least := map[string]int{}
	for name, limits := range map[string]func(int) abi.Limits{
		"between two waits": func(n int) abi.Limits { return abi.Limits{Gas: int64(n)} },
		"in all":            func(n int) abi.Limits { return abi.Limits{RunGas: int64(n)} },
	} {
		n := sort.Search(100_000_000, func(n int) bool { return n > 0 && enough(compiled, limits(n)) })
		if !enough(interpreted, limits(n)) || enough(interpreted, limits(n-1)) {
			t.Errorf("%s: %d gas is the least that the compiled guest needs, and not what the interpreted one does", name, n)
		}
		least[name] = n
	}
	if one, all := least["between two waits"], least["in all"]; one < gasSlice || all < 2*one-gasSlice || all > 2*one+gasSlice {
		t.Errorf("got %d between two waits and %d in all, want several slices, and about twice as much", one, all)
	}
}

func TestCallDepth(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, shared(t, "recurse"))
	for range 3 {
		if end := m.Run(t.Context(), &fakeWorld{}, ""); end.Failure == nil || end.Failure.Code != abi.CodeCallDepth {
			t.Errorf("got %+v, want a failure call_depth", end)
		}
	}
}

// TestContextStopsAComputingGuest: a host that may not go on does not wait for a guest.
func TestContextStopsAComputingGuest(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, shared(t, "spin"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Ending)
	const guests = 4
	for range guests {
		go func() { ended <- m.Run(ctx, &fakeWorld{}, "") }()
	}
	for e.places.taken() == 0 {
		time.Sleep(time.Millisecond)
	}
	// Others get their turn meanwhile.
	if end := load(t, e, shared(t, "trap")).Run(t.Context(), &fakeWorld{}, ""); end.Failure == nil || end.Failure.Code != abi.CodeTrap {
		t.Errorf("got %+v of another guest, want its trap", end)
	}
	cancel()
	for range guests {
		if end := <-ended; !errors.Is(end.Cause, context.Canceled) || end.Failure != nil {
			t.Errorf("got %+v, want the context's error and no failure", end)
		}
	}
}
