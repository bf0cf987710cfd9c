package sandbox

import (
	"context"
	"errors"
	"os"
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
