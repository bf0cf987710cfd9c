//go:build !race

package rust_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// distribution is where `make guests` puts the compiler: a later one in PATH would accept what the oldest that is supported does not.
const distribution = "/usr/bin/"

// run runs a compiler or what it made, and fails the test with what it said.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestCrate compiles the crate without warnings, runs its tests, and compiles and runs the examples of its documentation.
func TestCrate(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "libreprise.rlib")
	flags := []string{"--edition", "2021", "-D", "warnings", "--cfg", `feature="std"`}
	run(t, distribution+"rustc", append(flags, "--crate-type", "rlib", "--crate-name", "reprise", "-o", lib, "src/lib.rs")...)
	for _, source := range []string{"src/lib.rs", "tests/values.rs", "tests/workflows.rs"} {
		t.Run(source, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "test")
			run(t, distribution+"rustc", append(flags, "--test", "--crate-name", "tests", "--extern", "reprise="+lib, "-o", program, source)...)
			run(t, program)
		})
	}
	t.Run("documentation", func(t *testing.T) {
		run(t, distribution+"rustdoc", "--edition", "2021", "--cfg", `feature="std"`, "--test", "--crate-name", "reprise", "--extern", "reprise="+lib, "src/lib.rs")
	})
}

// TestTargets compiles the crate as modules have it, with and without the standard library.
func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags []string
	}{
		{"std", []string{"--target", "wasm32-wasi", "--cfg", `feature="std"`}},
		{"alloc", []string{"--target", "wasm32-unknown-unknown"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append(tc.flags, "--edition", "2021", "-D", "warnings", "--crate-type", "rlib", "--crate-name", "reprise")
			run(t, distribution+"rustc", append(args, "-o", filepath.Join(t.TempDir(), "libreprise.rlib"), "src/lib.rs")...)
		})
	}
}
