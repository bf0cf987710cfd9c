package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixtures reads the committed modules, by file name without .wasm.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/wasm/*.wasm")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d fixtures (%v), want some", len(paths), err)
	}
	found := make(map[string][]byte)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(p), ".wasm")] = b
	}
	return found
}

// TestFixturesHaveText keeps every binary beside the text it was made of.
func TestFixturesHaveText(t *testing.T) {
	for name := range fixtures(t) {
		if _, err := os.Stat("../testdata/wasm/" + name + ".wat"); err != nil {
			t.Errorf("%s.wasm: %v", name, err)
		}
	}
}
