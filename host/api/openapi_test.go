package api

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden compares with a file that UPDATE=1 rewrites.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	path = filepath.FromSlash(path)
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the source yields; UPDATE=1 go test rewrites it (-file +source):\n%s", path, diff)
	}
}

func TestOpenAPIGolden(t *testing.T) {
	golden(t, "openapi.json", OpenAPI())
}
