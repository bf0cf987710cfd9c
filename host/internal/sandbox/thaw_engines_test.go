//go:build !race

package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
)

// TestFrozenOtherwise freezes at some waits, packs what is frozen, and carries it on in an engine of another kind.
func TestFrozenOtherwise(t *testing.T) {
	args := []string{"-buildmode=c-shared"}
	shared := tortured(t, newEngine(t, Config{}), args...)
	copies := tortured(t, newEngine(t, Config{Copies: true}), args...)
	want, _ := newHourglass(torturedEntry("1"), neverFreeze).run(t, shared, nil)
	for name, m := range map[string]*Module{"shared": shared, "copies": copies} {
		t.Run(name, func(t *testing.T) {
			got, freezes := newHourglass(torturedEntry("1"), func(wait int) bool { return wait%3 == 1 }).run(t, m, packed(t))
			if diff := cmp.Diff(want, got); diff != "" || freezes < 5 {
				t.Errorf("%d freezes (-left alone +frozen):\n%s", freezes, diff)
			}
		})
	}
	t.Run("from one to the other", func(t *testing.T) {
		w := newHourglass(torturedEntry("1"), func(wait int) bool { return wait == 9 || wait == 20 })
		end := shared.Run(t.Context(), w, "")
		end = copies.Thaw(t.Context(), w, packed(t)(end.Frozen))
		end = shared.Thaw(t.Context(), w, packed(t)(end.Frozen))
		if got := fmt.Sprintf("%v %+v %s", end.Cause, end.Failure, end.Output); got != want.Ending {
			t.Errorf("got %s, want %s", got, want.Ending)
		}
		if diff := cmp.Diff(want.Trace, w.trace); diff != "" {
			t.Errorf("trace (-want +got):\n%s", diff)
		}
	})
}

// TestThawedByInterpreter freezes what compiled code computes, and carries it on by interpreter.
func TestThawedByInterpreter(t *testing.T) {
	file, err := builtGo("go", "-buildmode=c-shared", "-ldflags=-s -w")
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := begin(t.Context(), newEngine(t, Config{}), file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := begin(t.Context(), newEngine(t, Config{Interpret: true}), file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	w := newHourglass(Entry{Name: "steps", Input: []byte("6"), Limits: abi.DefaultLimits()}, func(wait int) bool { return wait%2 == 1 })
	w.echoes = true
	end := compiled.Run(t.Context(), w, "")
	for i := 0; end.Frozen != nil; i++ {
		end = []*Module{slow, compiled}[i%2].Thaw(t.Context(), w, end.Frozen)
	}
	if end.Cause != nil || end.Failure != nil || string(end.Output) != "15" {
		t.Errorf("got %v, %v, %s, want 0 to 5 added up", end.Cause, end.Failure, end.Output)
	}
}

// TestLimitsOfFrozen: a limit of gas or depth is met at the same place, frozen or not.
func TestLimitsOfFrozen(t *testing.T) {
	m := tortured(t, newEngine(t, Config{}), "-buildmode=c-shared")
	all, _ := newHourglass(torturedEntry("1"), neverFreeze).run(t, m, nil)
	both := func(set func(l *abi.Limits)) ran {
		t.Helper()
		e := torturedEntry("1")
		set(&e.Limits)
		want, _ := newHourglass(e, neverFreeze).run(t, m, nil)
		got, _ := newHourglass(e, alwaysFreeze).run(t, m, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limits %+v (-left alone +frozen):\n%s", e.Limits, diff)
		}
		return want
	}
	for part := range int64(5) {
		if got := both(func(l *abi.Limits) { l.RunGas = all.Gas / 7 * (part + 1) }); !strings.Contains(got.Ending, abi.CodeOutOfGas) {
			t.Errorf("got %s, want the gas to be used up", got.Ending)
		}
	}
	fails := func(ending string) bool { return strings.Contains(ending, abi.CodeCallDepth) }
	enough, few := int32(abi.MaxDepth), int32(10)
	for enough-few > 1 {
		e := torturedEntry("1")
		e.Limits.Depth = (enough + few) / 2
		if got, _ := newHourglass(e, neverFreeze).run(t, m, nil); fails(got.Ending) {
			few = e.Limits.Depth
		} else {
			enough = e.Limits.Depth
		}
	}
	if got := both(func(l *abi.Limits) { l.Depth = enough }); got.Ending != all.Ending {
		t.Errorf("depth %d: got %s, want %s", enough, got.Ending, all.Ending)
	}
	if got := both(func(l *abi.Limits) { l.Depth = few }); !fails(got.Ending) {
		t.Errorf("depth %d: got %s, want calls that are too deep", few, got.Ending)
	}
}
