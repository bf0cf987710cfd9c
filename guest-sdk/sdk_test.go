package sdk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestGoSourcesUpToDate compares the copy of guest-sdk/go with the folder; UPDATE=1 renews it.
func TestGoSourcesUpToDate(t *testing.T) {
	names, err := filepath.Glob("go/*.go")
	if err != nil {
		t.Fatal(err)
	}
	archive := &txtar.Archive{Comment: []byte("The files of guest-sdk/go, copied by `make generate`.\n")}
	for _, name := range append(names, "go/go.mod") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archive.Files = append(archive.Files, txtar.File{Name: filepath.Base(name), Data: b})
	}
	want := txtar.Format(archive)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("go.txtar", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(goFiles)); diff != "" {
		t.Errorf("go.txtar is not what guest-sdk/go has; make generate renews it:\n%.2000s", diff)
	}
	if n := len(Go()); n != len(archive.Files) {
		t.Errorf("got %d files of the SDK, want %d", n, len(archive.Files))
	}
}
