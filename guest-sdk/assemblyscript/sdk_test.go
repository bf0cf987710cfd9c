//go:build !race

package assemblyscript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/host/testkit"
)

// TestSDK plays the cases of the folder test, each also cut after each entry and carried on.
func TestSDK(t *testing.T) {
	out := filepath.Join(t.TempDir(), "test.wasm")
	if b, err := exec.Command("./build.sh", "test/main.ts", out).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, b)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("test/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := testkit.ReadCases(text)
	if err != nil {
		t.Fatal(err)
	}
	kit, err := testkit.New(testkit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer kit.Close()
	module, err := kit.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			r, err := module.Test(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if !r.OK() {
				t.Error(strings.Join(r.Problems, "\n"))
			}
		})
	}
}
