package sandbox

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// ran is what an execution came to.
type ran struct {
	Ending  string
	Trace   []string
	Gas     int64 // in all
	Depth   uint64
	Memory  string
	Globals []uint64 // but the stack pointer, which the wrapper of an entry moves
}

// run executes a guest in a world and freezes it wherever that says. Each thawing is in a new instance; carry may give the
// frozen one another form on the way.
func (w *hourglass) run(t *testing.T, m *Module, carry func(*Frozen) *Frozen) (got ran, freezes int) {
	t.Helper()
	gas := int64(0)
	m.ended = func(in *instance, inst api.Module) {
		gas = in.meter.spent + in.meter.given - int64(in.gas(inst).Get())
		mem := memory(inst)
		b, _ := mem.Read(0, mem.Size())
		got.Memory = fmt.Sprintf("%d bytes, %x", len(b), sha256.Sum256(b))
		for i, name := range m.globals {
			if f := m.prepared.Freeze.Go; f == nil || m.prepared.Rewritten.Globals[i] != f.SP {
				got.Globals = append(got.Globals, inst.ExportedGlobal(name).Get())
			}
		}
		if in.exited || in.cause != nil {
			return // which gives no depth back
		}
		got.Depth = inst.ExportedGlobal(rewrite.ExportDepth).Get()
		if freezes > 0 && m.prepared.Freeze.Go != nil { // the wrapper of the entry was left where the first instance was frozen
			entry, _ := m.goEntry(in.export)
			got.Depth += uint64(m.prepared.Rewritten.Units[entry.Function])
		}
	}
	defer func() { m.ended = nil }()
	end := m.Run(t.Context(), w, "")
	for ; end.Frozen != nil; freezes++ {
		f := end.Frozen
		if carry != nil {
			f = carry(f)
		}
		end = m.Thaw(t.Context(), w, f)
	}
	got.Ending, got.Trace, got.Gas = fmt.Sprintf("%v %+v %s", end.Cause, end.Failure, end.Output), w.trace, gas
	return got, freezes
}

func alwaysFreeze(int) bool { return true }
func neverFreeze(int) bool  { return false }

// tortured loads the guest of testdata/guests/torture.
func tortured(t *testing.T, e *Engine, args ...string) *Module {
	t.Helper()
	file, err := builtGo("torture", args...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := begin(t.Context(), e, file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func torturedEntry(rounds string) Entry {
	return Entry{Name: "torture", Input: []byte(rounds), Args: []string{"torture"}, Limits: abi.DefaultLimits()}
}

// TestFrozenAtEveryWait fails when Go's toolchain writes code that is not recognised any more, and when a guest that is
// frozen and carried on in another instance, at every wait, computes anything else than one that is left alone.
func TestFrozenAtEveryWait(t *testing.T) {
	e := newEngine(t, Config{})
	for name, args := range map[string][]string{"reactor": {"-buildmode=c-shared"}, "command": {}} {
		t.Run(name, func(t *testing.T) {
			m := tortured(t, e, args...)
			if err := m.Freezable(""); err != nil || m.prepared.Freeze.Kind != modules.FreezeGo {
				t.Fatalf("got %v (%s) for a guest of the installed Go toolchain, want one that can be frozen", err, m.prepared.Freeze.Reason)
			}
			want, _ := newHourglass(torturedEntry("2"), neverFreeze).run(t, m, nil)
			w := newHourglass(torturedEntry("2"), alwaysFreeze)
			got, freezes := w.run(t, m, nil)
			if freezes != w.waits || freezes < 50 {
				t.Errorf("got %d freezes at %d waits", freezes, w.waits)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-left alone +frozen at each of %d waits):\n%s", freezes, diff)
			}
		})
	}
}
