package sandbox

import (
	"encoding/binary"
	"errors"
	"testing"

	"reprise/abi"
	"reprise/modules"
)

// nestedRun runs the fixture nested.
func nestedRun(t *testing.T, m *Module, depth string, limits abi.Limits) Ending {
	t.Helper()
	return m.Run(t.Context(), newScriptWorld(Entry{Input: []byte(depth), Limits: limits}, 1, &transcript{}), "")
}

// TestInterpretedModule runs one module of an engine by interpreter: it does the same as compiled, or, when the interpreter has
// no room for it, the host says that it cannot. The engine's other modules are compiled.
func TestInterpretedModule(t *testing.T) {
	nested := shared(t, "nested")
	compiled := load(t, newEngine(t, Config{}), nested)
	mixed := newEngine(t, Config{Interpreted: []modules.Digest{nested.Digest}})
	interpreted := load(t, mixed, nested)
	if compiled.Interpreted() || !interpreted.Interpreted() {
		t.Fatalf("got interpreted %t and %t, want the second only", compiled.Interpreted(), interpreted.Interpreted())
	}
	tests := []struct {
		depth   string
		limits  abi.Limits
		deepest uint32 // reached; 0 for a failure call_depth
		shallow bool   // not by interpreter
	}{
		{"1", abi.Limits{}, 1, false},
		{"1900", abi.Limits{}, 1900, false},
		{"2100", abi.Limits{}, 2100, true},
		{"10000", abi.Limits{}, 10_000, true},
		{"19990", abi.Limits{}, 19_990, true},
		{"20010", abi.Limits{}, 0, true},
		{"20010", abi.Limits{Depth: 1000}, 0, false},
		{"990", abi.Limits{Depth: 1000}, 990, false},
	}
	for _, tt := range tests {
		for _, m := range []*Module{compiled, interpreted} {
			end := nestedRun(t, m, tt.depth, tt.limits)
			switch {
			case tt.shallow && m.Interpreted():
				if !errors.Is(end.Cause, ErrInterpreterDepth) || end.Failure != nil {
					t.Errorf("%s, %+v, interpreted: got %+v, want the host's inability", tt.depth, tt.limits, end)
				}
			case tt.deepest == 0:
				if end.Failure == nil || end.Failure.Code != abi.CodeCallDepth {
					t.Errorf("%s, %+v, interpreted %t: got %+v, want a failure call_depth", tt.depth, tt.limits, m.Interpreted(), end)
				}
			default:
				if want := binary.LittleEndian.AppendUint32(nil, tt.deepest); string(end.Output) != string(want) {
					t.Errorf("%s, %+v, interpreted %t: got %+v, want output %x", tt.depth, tt.limits, m.Interpreted(), end, want)
				}
			}
		}
	}
	other := load(t, mixed, shared(t, "recurse"))
	if end := other.Run(t.Context(), &fakeWorld{}, ""); other.Interpreted() || end.Failure == nil || end.Failure.Code != abi.CodeCallDepth {
		t.Errorf("got interpreted %t and %+v of another module, want it compiled and a failure call_depth", other.Interpreted(), end)
	}
}

// TestInterpretedInitialisation: an initialisation that the interpreter has no room for is not the module's failure either.
func TestInterpretedInitialisation(t *testing.T) {
	p := prepared(t, "init_deep")
	want := load(t, newEngine(t, Config{}), p).Run(t.Context(), &fakeWorld{}, "")
	if string(want.Output) != "\x88\x13\x00\x00" { // 5,000
		t.Errorf("compiled: got %+v, want its depth", want)
	}
	m := load(t, newEngine(t, Config{Interpreted: []modules.Digest{p.Digest}}), p)
	if end := m.Run(t.Context(), &fakeWorld{}, ""); !errors.Is(end.Cause, ErrInterpreterDepth) || end.Failure != nil || m.Warm() {
		t.Errorf("interpreted: got %+v, warm %t, want the host's inability", end, m.Warm())
	}
}

// TestInterpretedImages: what compiled code left in the cache is not used by interpreter, nor the other way round.
func TestInterpretedImages(t *testing.T) {
	p := prepared(t, "warm")
	dir := t.TempDir()
	for range 2 {
		a := load(t, newEngine(t, Config{CacheDir: dir}), p)
		b := load(t, newEngine(t, Config{CacheDir: dir, Interpreted: []modules.Digest{p.Digest}}), p)
		if !a.Warm() || !b.Warm() || a.Interpreted() || !b.Interpreted() {
			t.Fatalf("got warm %t and %t, interpreted %t and %t; want both warm, the second interpreted", a.Warm(), b.Warm(), a.Interpreted(), b.Interpreted())
		}
	}
	for _, path := range []string{imagePath(dir, p.ImageKey), imagePath(dir, p.ImageKey) + "-interpreted"} {
		if _, err := readImage(path); err != nil {
			t.Errorf("image: %v", err)
		}
	}
}
