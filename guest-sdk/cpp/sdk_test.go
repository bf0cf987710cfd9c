// Package cpp_test runs the tests of reprise.hpp, which are a C++ program for this machine. It has no place in a host.
package cpp_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHeader compiles and runs the checks. Clang is the compiler that makes modules, so it is the one that is asked here.
func TestHeader(t *testing.T) {
	program := filepath.Join(t.TempDir(), "check")
	args := []string{"-O1", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "-I.", "-I../c", "-I../c/test", "-I../../abi",
		"-o", program, "test/check.cpp"}
	if out, err := exec.Command("clang++", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang++: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
