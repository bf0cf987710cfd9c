package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	sdk "reprise/guest-sdk"
	ts "reprise/guest-sdk/ts"
)

// templates are the files of new projects: those of common, and those of the language. Their names end in .tmpl, so that no
// tool takes them for what they will be.
//
//go:embed templates
var templates embed.FS

// starter is how a new project of a language is made.
type starter struct {
	lang, Language string
	Source         string // the program's file
	Needs          string // what must be installed, for the README
	Compiler       string // its version, where the project's files name it
	// sdk writes the SDK into the project's folder.
	sdk func(dir string) error
}

func starters() []starter {
	return []starter{
		{lang: "go", Language: "Go", Source: "main.go", Needs: "The Go tool, 1.26 or newer.",
			sdk: func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.Go()) }},
		{lang: "ts", Language: "TypeScript", Source: "main.ts",
			Needs: "Nothing but `reprise` and its JavaScript engine, `engine-js.wasm`, beside it. Types are not checked by the build; `npx tsc` does.",
			sdk:   func(dir string) error { return ts.WriteTypes(filepath.Join(dir, "sdk")) }},
		{lang: "c", Language: "C", Source: "main.c", Needs: "Clang with its libraries for WASI. On Debian: `sudo apt-get install -y " + forC().packages + "`.",
			sdk: func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.C()) }},
		{lang: "cpp", Language: "C++", Source: "main.cpp", Needs: "Clang with its libraries for WASI, of C++ too. On Debian: `sudo apt-get install -y " + forCPP().packages + "`.",
			sdk: func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.CPP()) }},
		{lang: "rust", Language: "Rust", Source: "src/lib.rs", Needs: "Rust 1.63 or newer, with its standard library for WASI. On Debian: `sudo apt-get install -y " + rustPackages + "`; with rustup: `rustup target add wasm32-wasip1`.",
			sdk: func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.Rust()) }},
		{lang: "assemblyscript", Language: "AssemblyScript", Source: "main.ts", Compiler: ascVersion,
			Needs: "Node and the AssemblyScript compiler: `npm install` in this folder brings it, once. On Debian: `sudo apt-get install -y nodejs npm`.",
			sdk:   func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.AssemblyScript()) }},
		{lang: "zig", Language: "Zig", Source: "main.zig", Needs: "Zig " + zigVersion + ": `" + strings.Replace(zigFix, " (Debian", "` (Debian", 1) + ".",
			sdk: func(dir string) error { return writeFiles(filepath.Join(dir, "sdk"), sdk.Zig()) }},
	}
}

// Starters are the names of languages that New has a project for.
func Starters() []string {
	var names []string
	for _, s := range starters() {
		names = append(names, s.lang)
	}
	return names
}

// name is what a project may be called: it becomes a folder, a module's file, a workflow and a package.
var name = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName bounds the name of a project.
const maxName = 63

// New makes a project of a language in a folder of its name below dir, whole or not at all. What the author can mend is an *Error.
func New(dir, called, lang string) error {
	if !name.MatchString(called) || len(called) > maxName {
		return &Error{What: fmt.Sprintf("a project cannot be called %.80q", called),
			Fix: fmt.Sprintf("take at most %d of a to z, 0 to 9 and single hyphens between them, a letter first", maxName)}
	}
	s, err := starterOf(lang)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, called)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return &Error{What: fmt.Sprintf("there is something called %s already", called), Where: to, Fix: "take another name, or move it away"}
	}
	tmp, err := os.MkdirTemp(dir, ".new-"+called+"-")
	if err != nil {
		return fmt.Errorf("make the project: %w", err)
	}
	err = s.fill(tmp, called)
	if err == nil {
		err = os.Chmod(tmp, 0o755)
	}
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make the project: %w", err), os.RemoveAll(tmp))
	}
	return nil
}

func starterOf(lang string) (starter, error) {
	for _, s := range starters() {
		if s.lang == lang {
			return s, nil
		}
	}
	what := "--lang is missing"
	if lang != "" {
		what = fmt.Sprintf("there is no project for the language %.40q", lang)
	}
	return starter{}, &Error{What: what, Fix: "take --lang with one of " + strings.Join(Starters(), ", ")}
}

// fill writes a project's files.
func (s starter) fill(dir, called string) error {
	values := struct {
		starter
		Name string
	}{s, called}
	for _, root := range []string{"templates/common", "templates/" + s.lang} {
		err := fs.WalkDir(templates, root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := templates.ReadFile(path)
			if err != nil {
				return err
			}
			t, err := template.New(path).Option("missingkey=error").Parse(string(text))
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := t.Execute(&b, values); err != nil {
				return err
			}
			to := strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".tmpl")
			if to == "gitignore" {
				to = ".gitignore"
			}
			return writeFiles(dir, sdk.Files{to: b.Bytes()})
		})
		if err != nil {
			return err
		}
	}
	return s.sdk(dir)
}
