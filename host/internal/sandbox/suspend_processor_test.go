//go:build !race

package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules"
)

// carriedEnv names a folder with instances that another processor froze, for the program that carries them on.
const carriedEnv = "REPRISE_TEST_CARRIED"

// carried is a guest that was frozen at each of its waits.
type carried struct {
	File   []byte
	Frozen []*Frozen
	Output string
	Trace  []string
}

// TestSuspendedOnAnotherProcessor carries instances on that this processor froze, at each wait, on one of another
// architecture. What that freezes is the same to the last bit.
func TestSuspendedOnAnotherProcessor(t *testing.T) {
	if dir := os.Getenv(carriedEnv); dir != "" {
		carryOn(t, filepath.Join(dir, "carried.json"))
		return
	}
	e, files := newEngine(t, Config{}), suspended(t)
	all := map[string]*carried{}
	for _, name := range []string{"torture-c-O0", "torture-c-O2", "torture-rust-Os", "torture-as", "plain-c"} {
		c := &carried{File: files[name]}
		m, err := begin(t.Context(), e, c.File, fromShared)
		if err != nil {
			t.Fatal(err)
		}
		c.freeze(t, m, func(f *Frozen) *Frozen {
			c.Frozen = append(c.Frozen, f)
			return f
		})
		all[name] = c
	}
	dir := t.TempDir()
	b, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "carried.json"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := processors[0]
	if _, err := exec.LookPath(p.emulator[0]); err != nil {
		t.Fatalf("%v: install it with `make deps`, or: sudo apt-get install -y qemu-user", err)
	}
	program := filepath.Join(dir, "sandbox.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+p.arch, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build for %s: %v\n%s", p.arch, err, out)
	}
	run := exec.CommandContext(t.Context(), p.emulator[0], append(p.emulator[1:], program, "-test.run", "^"+t.Name()+"$", "-test.v")...)
	run.Env = append(os.Environ(), carriedEnv+"="+dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.10000s", err, out)
	}
}

// freeze runs the guest, frozen at each wait; carry gives what is carried on.
func (c *carried) freeze(t *testing.T, m *Module, carry func(*Frozen) *Frozen) {
	t.Helper()
	entry := torturedEntry("1")
	if m.prepared.Shape == modules.Command {
		entry.Input = []byte("a few words")
	}
	w := newHourglass(entry, alwaysFreeze)
	end := m.Run(t.Context(), w, "")
	for end.Frozen != nil {
		end = m.Thaw(t.Context(), w, carry(end.Frozen))
	}
	c.Output, c.Trace = fmt.Sprintf("%v %+v %s", end.Cause, end.Failure, end.Output), w.trace
}

// carryOn carries on here what was frozen there.
func carryOn(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*carried
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	e, n := newEngine(t, Config{}), 0
	for name, there := range all {
		m, err := begin(t.Context(), e, there.File, fromShared)
		if err != nil {
			t.Fatal(err)
		}
		here, at := &carried{}, 0
		here.freeze(t, m, func(f *Frozen) *Frozen {
			if at == len(there.Frozen) {
				t.Fatalf("%s: it is frozen more often than there", name)
			}
			if diff := cmp.Diff(there.Frozen[at], f); diff != "" {
				t.Fatalf("%s, frozen for the %dth time (-there +here):\n%s", name, at, diff)
			}
			at++
			return there.Frozen[at-1]
		})
		if diff := cmp.Diff([]any{there.Output, there.Trace}, []any{here.Output, here.Trace}); diff != "" || at != len(there.Frozen) {
			t.Errorf("%s, carried on %d times (-there +here):\n%s", name, at, diff)
		}
		n += at
	}
	if n < 200 {
		t.Errorf("got %d instances to carry on, want hundreds", n)
	}
}
