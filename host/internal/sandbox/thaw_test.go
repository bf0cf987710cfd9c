package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/internal/checkpoint"
)

// packed takes a frozen instance through its byte form.
func packed(t *testing.T) func(*Frozen) *Frozen {
	p := checkpoint.NewPacker()
	return func(f *Frozen) *Frozen {
		t.Helper()
		var w checkpoint.Writer
		f.AppendTo(&w)
		sealed, err := p.Seal(w.Fields())
		if err != nil {
			t.Fatal(err)
		}
		fields, err := p.Open(sealed)
		if err != nil {
			t.Fatal(err)
		}
		r := checkpoint.NewReader(fields)
		got := ReadFrozen(r)
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		return got
	}
}

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

// thawEnv makes the test binary a process that carries a frozen instance on: its value names the folder of what it needs.
const thawEnv = "REPRISE_TEST_THAW"

// thawAt is the wait at which the two processes meet.
const thawAt = 17

// thawChild runs the guest up to the wait itself, so that its world is there, freezes it, compares, and carries on what the
// other process has frozen.
func thawChild(dir string) error {
	ctx := context.Background()
	e, err := New(ctx, Config{})
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	file, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	if err != nil {
		return err
	}
	m, err := begin(ctx, e, file, fromShared)
	if err != nil {
		return err
	}
	fields, err := os.ReadFile(filepath.Join(dir, "frozen"))
	if err != nil {
		return err
	}
	w := newHourglass(torturedEntry("1"), func(wait int) bool { return wait == thawAt })
	own := m.Run(ctx, w, "").Frozen
	if own == nil {
		return errors.New("the guest was not frozen")
	}
	var mine checkpoint.Writer
	own.AppendTo(&mine)
	r := checkpoint.NewReader(fields)
	theirs := ReadFrozen(r)
	if err := r.Done(); err != nil {
		return err
	}
	end := m.Thaw(ctx, w, theirs)
	return json.NewEncoder(os.Stdout).Encode([]string{strconv.FormatBool(string(mine.Fields()) == string(fields)), fmt.Sprintf("%v %+v %s", end.Cause, end.Failure, end.Output), strings.Join(w.trace, "\n")})
}

// TestThawedInAnotherProcess: what one process froze, another carries on. The same guest at the same wait gives the same
// bytes in both.
func TestThawedInAnotherProcess(t *testing.T) {
	file, err := builtGo("torture", "-buildmode=c-shared")
	if err != nil {
		t.Fatal(err)
	}
	m, err := begin(t.Context(), newEngine(t, Config{}), file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := newHourglass(torturedEntry("1"), neverFreeze).run(t, m, nil)
	end := m.Run(t.Context(), newHourglass(torturedEntry("1"), func(wait int) bool { return wait == thawAt }), "")
	if end.Frozen == nil {
		t.Fatalf("got %v, want a frozen instance", end.Cause)
	}
	var w checkpoint.Writer
	end.Frozen.AppendTo(&w)
	dir := t.TempDir()
	for name, b := range map[string][]byte{"guest.wasm": file, "frozen": w.Fields()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), thawEnv+"="+dir), os.Stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	var got []string
	if err := json.Unmarshal(said, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"true", want.Ending, strings.Join(want.Trace, "\n")}, got); diff != "" {
		t.Errorf("(-one process +two):\n%s", diff)
	}
}

// TestFrozenTwice: a wait that finds nothing to show when an instance is thawed leaves it as it was.
func TestFrozenTwice(t *testing.T) {
	m := tortured(t, newEngine(t, Config{}), "-buildmode=c-shared")
	w := newHourglass(torturedEntry("1"), func(wait int) bool { return wait == 3 })
	first := m.Run(t.Context(), w, "").Frozen
	w.frozen = false
	if again := m.Thaw(t.Context(), w, first); again.Frozen != first || !errors.Is(again.Cause, ErrFreeze) {
		t.Errorf("got %+v, want what was thawed", again)
	}
	if end := m.Thaw(t.Context(), w, first); end.Cause != nil || end.Failure != nil {
		t.Errorf("got %v, %v, want a guest that ends well", end.Cause, end.Failure)
	}
}

// TestNotFreezable: a guest that cannot be frozen is stopped with what its world said.
func TestNotFreezable(t *testing.T) {
	file, err := os.ReadFile("../../../modules/testdata/freeze/data_drop.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := begin(t.Context(), newEngine(t, Config{}), file, fromShared)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Freezable(""); err == nil {
		t.Fatal("got nil, want why a guest that drops segments cannot be frozen")
	}
	in := &instance{mod: m, export: abi.ExportRun}
	if in.beginFreeze(nil, ErrFreeze) || in.freezing != nil {
		t.Error("it is on its way out of its calls")
	}
}

// FuzzThaw carries on what nobody has frozen. The guest may do what it likes; the host lives.
func FuzzThaw(f *testing.F) {
	file, err := builtGo("go", "-buildmode=c-shared", "-ldflags=-s -w")
	if err != nil {
		f.Fatal(err)
	}
	e, err := New(context.Background(), Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = e.Close(context.Background()) })
	m, err := begin(context.Background(), e, file, fromShared)
	if err != nil {
		f.Fatal(err)
	}
	entry := Entry{Name: "steps", Input: []byte("3"), Limits: abi.Limits{Gas: 30_000_000, RunGas: 100_000_000}}
	world := newHourglass(entry, func(wait int) bool { return wait == 1 })
	world.echoes = true
	end := m.Run(context.Background(), world, "")
	if end.Frozen == nil {
		f.Fatalf("got %+v, want a frozen instance", end)
	}
	var w checkpoint.Writer
	end.Frozen.AppendTo(&w)
	whole := w.Fields()
	f.Add(0, []byte{1})
	f.Add(len(whole)/2, []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at int, with []byte) {
		fields := append([]byte(nil), whole...)
		if at >= 0 && at < len(fields) {
			copy(fields[at:], with)
		}
		r := checkpoint.NewReader(fields)
		fz := ReadFrozen(r)
		if r.Done() != nil {
			return
		}
		world := newHourglass(entry, neverFreeze)
		world.ops = []*sand{{input: "0"}, {input: "1"}}
		if end := m.Thaw(t.Context(), world, fz); end.Cause != nil && !errors.Is(end.Cause, ErrUnusable) && strings.Contains(end.Cause.Error(), "host function") {
			t.Errorf("the host failed: %v", end.Cause)
		}
	})
}
