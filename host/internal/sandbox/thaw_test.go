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
