package project

import (
	"bytes"
	"context"
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "reprise/guest-sdk"
)

func TestDetect(t *testing.T) {
	tests := []struct {
		name  string
		files []string // in the folder
		path  string   // below it; the folder itself when empty
		lang  string
		want  string // the language, or a part of the error
	}{
		{name: "Go module", files: []string{"go.mod", "main.go"}, want: "go"},
		{name: "loose Go files", files: []string{"main.go"}, want: "go"},
		{name: "Go file", files: []string{"main.go", "main.ts"}, path: "main.go", want: "go"},
		{name: "TypeScript", files: []string{"main.ts", "package.json"}, want: "ts"},
		{name: "JavaScript file", files: []string{"a.mjs"}, path: "a.mjs", want: "ts"},
		{name: "C", files: []string{"main.c", "reprise.h"}, want: "c"},
		{name: "C++", files: []string{"main.cpp", "reprise.h"}, want: "cpp"},
		{name: "C++ with C", files: []string{"main.cc", "other.c"}, want: "cpp"},
		{name: "Rust", files: []string{"Cargo.toml", "Cargo.lock"}, want: "rust"},
		{name: "Zig", files: []string{"build.zig", "main.zig"}, want: "zig"},
		{name: "AssemblyScript", files: []string{"asconfig.json", "main.ts", "package.json"}, want: "assemblyscript"},
		{name: "several", files: []string{"main.go", "main.ts"}, want: "programs of several languages: go, ts"},
		{name: "several, named", files: []string{"main.go", "main.ts"}, lang: "ts", want: "ts"},
		{name: "nothing", files: []string{"notes.txt"}, want: "has no program of a language"},
		{name: "other file", files: []string{"notes.txt"}, path: "notes.txt", want: "is a file of no language"},
		{name: "other language", files: []string{"main.go"}, lang: "cobol", want: `there is no language "cobol"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			files := sdk.Files{}
			for _, f := range tt.files {
				files[f] = nil
			}
			if err := writeFiles(dir, files); err != nil {
				t.Fatal(err)
			}
			l, err := detect(filepath.Join(dir, tt.path), tt.lang, tt.path == "")
			if err != nil {
				var known *Error
				if !errors.As(err, &known) || known.Fix == "" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q and a way out", err, tt.want)
				}
				return
			}
			if l.name != tt.want {
				t.Errorf("got %s, want %s", l.name, tt.want)
			}
		})
	}
}

func TestOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pay")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: filepath.Join(dir, "pay.wasm"), dir + "/": filepath.Join(dir, "pay.wasm"), "a/b.ts": "a/b.wasm", "c.go": "c.wasm"} {
		if got := Out(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestNewWritesNothingHalf(t *testing.T) {
	for _, s := range starters() {
		t.Run(s.lang, func(t *testing.T) {
			dir := t.TempDir()
			if err := New(dir, "pay", s.lang); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"Makefile", "README.md", "cases.yaml", ".gitignore", s.Source} {
				b, err := os.ReadFile(filepath.Join(dir, "pay", name))
				if err != nil {
					t.Error(err)
				}
				if bytes.Contains(b, []byte("{{")) || bytes.Contains(b, []byte("<no value>")) {
					t.Errorf("%s is not filled in", name)
				}
			}
			if l, err := detect(filepath.Join(dir, "pay"), "", true); err != nil || l.name != s.lang {
				t.Errorf("the project is taken for %s (%v), want %s", l.name, err, s.lang)
			}
			if err := New(dir, "pay", s.lang); err == nil {
				t.Error("a project was made where one is")
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("got %v in the folder, want the project alone", left)
			}
		})
	}
}

func TestNewRefusesNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", ".", "..", "a/b", "Pay", "9", "-a", "a-", "a--b", "a_b", "ä", strings.Repeat("a", maxName+1)} {
		var known *Error
		if err := New(dir, name, "go"); !errors.As(err, &known) {
			t.Errorf("%q: got %v, want a refusal", name, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("got %v, want nothing", left)
	}
}

func TestNewGoIsFormatted(t *testing.T) {
	dir := t.TempDir()
	if err := New(dir, "pay", "go"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "pay", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := format.Source(b); err != nil || !bytes.Equal(got, b) {
		t.Errorf("main.go is not as gofmt has it (%v)", err)
	}
}

// A module that requires the SDK and does not say where it is gets the one that is in this program; its go.mod is left as it is.
func TestGoModuleWithoutSDK(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOPROXY", "off")
	dir := t.TempDir()
	mod := []byte("module x\n\ngo 1.26.0\n\nrequire reprise/guest-sdk/go v0.0.0\n")
	files := sdk.Files{"go.mod": mod, "main.go": []byte("package main\n\nimport \"reprise/guest-sdk/go\"\n\nfunc main() { reprise.Main() }\n")}
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	for _, path := range []string{dir, filepath.Join(dir, "main.go")} {
		b, err := Build(context.Background(), Request{Path: path, Talk: &talk})
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, talk.String())
		}
		if !bytes.HasPrefix(b.Module, []byte("\x00asm")) {
			t.Errorf("%s: got %d bytes that are no module", path, len(b.Module))
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !bytes.Equal(got, mod) {
		t.Errorf("go.mod was changed (%v)", err)
	}
}

// The compiler that a project asks for is the one that the SDK is tested with.
func TestVersionOfAsc(t *testing.T) {
	b, err := os.ReadFile("../assemblyscript/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(`"assemblyscript": "`+ascVersion+`"`)) {
		t.Errorf("guest-sdk/assemblyscript/package.json names another compiler than %s", ascVersion)
	}
}
