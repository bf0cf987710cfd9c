//go:build !race

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// observedEnv names a folder with what another processor observed, for the program that looks whether this one agrees.
const observedEnv = "REPRISE_TEST_OBSERVED"

// processor is one that the machine need not have: a program emulates it.
type processor struct {
	name, arch string
	emulator   []string
}

var processors = []processor{
	{"arm64", "arm64", []string{"qemu-aarch64"}},
	// For some instructions the compiler has other code where a processor is this old.
	{"amd64 of 2008", "amd64", []string{"qemu-x86_64", "-cpu", "Nehalem"}},
}

// observedCase is a case and what came of it.
type observedCase struct {
	Case guestCase
	Want *observation
}

// TestProcessorsAgree runs guests on other processors, with the compiler and the interpreter of each, and compares everything
// that can be seen with this one's.
func TestProcessorsAgree(t *testing.T) {
	if dir := os.Getenv(observedEnv); dir != "" {
		compareWith(t, dir)
		return
	}
	dir := t.TempDir()
	record(t, dir)
	for _, p := range processors {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(p.emulator[0]); err != nil {
				t.Fatalf("%v: install it with `make deps`, or: sudo apt-get install -y qemu-user", err)
			}
			program := filepath.Join(t.TempDir(), "sandbox.test")
			build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".")
			build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+p.arch, "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build for %s: %v\n%s", p.arch, err, out)
			}
			args := append(p.emulator[1:], program, "-test.run", "^TestProcessorsAgree$", "-test.v")
			run := exec.CommandContext(t.Context(), p.emulator[0], args...)
			run.Env = append(os.Environ(), observedEnv+"="+dir)
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%.10000s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// record observes the cases here and writes them to a folder.
func record(t *testing.T, dir string) {
	t.Helper()
	o := testObserver(t, "compiler")
	var all []observedCase
	for _, c := range []*corpus{fixtures(t), numbers(60), goCorpus(t, 1, func(g goGuest) bool { return g.name == "sleeper" })} {
		for _, one := range c.cases {
			saw, err := o.observe(one, c.files[one.File])
			if err != nil {
				t.Fatalf("%s: %v", one.Name, err)
			}
			all = append(all, observedCase{one, saw})
		}
		for name, file := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name+".wasm"), file, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cases.json"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compareWith observes the cases of a folder on both engines and compares.
func compareWith(t *testing.T, dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []observedCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for engine := range engineConfigs {
		o, compared := testObserver(t, engine), 0
		for _, one := range all {
			if err := compareOne(o, one, dir, files); err != nil {
				t.Errorf("%s, %s: %v", engine, one.Case.Name, err)
			}
			compared++
		}
		t.Logf("%s: %d executions compared", engine, compared)
		if compared < 300 {
			t.Errorf("got %d executions, want the whole corpus", compared)
		}
	}
}

func compareOne(o *observer, one observedCase, dir string, files map[string][]byte) error {
	name := one.Case.File
	if files[name] == nil {
		file, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
		if err != nil {
			return err
		}
		files[name] = file
	}
	got, err := o.observe(one.Case, files[name])
	if err != nil {
		return err
	}
	if got.Shallow && !o.engine.cfg.Interpret {
		return errors.New("the compiler has no room for the guest's calls")
	}
	if diff := difference(one.Want, got); diff != "" {
		return fmt.Errorf("processors differ (-there +here):\n%.3000s", diff)
	}
	return nil
}
