package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestEveryPathIsInTheDocs compares the table of docs/API.md with the routes.
func TestEveryPathIsInTheDocs(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for path, methods := range doc.Paths {
		for method := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	page, err := os.ReadFile("../../docs/API.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(string(page)) {
		if route, ok := strings.CutPrefix(line, "| `"); ok {
			route, _, _ = strings.Cut(route, "`")
			documented = append(documented, route)
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if diff := cmp.Diff(routes, documented); diff != "" {
		t.Errorf("docs/API.md lists other paths than there are (-routes +docs):\n%s", diff)
	}
}
