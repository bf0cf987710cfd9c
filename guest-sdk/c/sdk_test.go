// Package c_test runs the tests of reprise.h, which are a C program for this machine. It has no place in a host.
package c_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHeader compiles and runs the checks in every mode that the header promises, and once in search of undefined behaviour.
func TestHeader(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags []string
	}{
		{"C99", []string{"-std=c99", "-O2"}},
		{"C11 sanitized", []string{"-std=c11", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "check")
			args := append(tc.flags, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I.", "-I../../abi", "-o", program, "test/check.c", "-lm")
			if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				t.Fatalf("gcc: %v\n%s", err, out)
			}
			cmd := exec.Command(program)
			cmd.Env = append(cmd.Environ(), "ASAN_OPTIONS=detect_leaks=0") // what a short instance takes goes with it
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
