// Package project owns what a workflow's author has before there is a module: it makes new projects, finds the language that a file
// or folder is written in, and has its compiler make a module, with the SDK that is part of this program. It runs compilers, and nothing that they make.
// What a module must be is not its affair: a host says so. cmd/host calls it for `reprise new`, `reprise build` and `reprise test`.
package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Request says what to build.
type Request struct {
	// Path is a file or a folder.
	Path string
	// Lang is its language; found by its form when empty.
	Lang string
	// Engine gives the JavaScript engine, for TypeScript.
	Engine func() ([]byte, error)
	// Talk gets what compilers say.
	Talk io.Writer
}

// Built is a module that was built.
type Built struct {
	Lang   string
	Module []byte
	// Script is how many bytes of the module are a script, for TypeScript.
	Script int
	// Warnings are what the bundler of scripts has to say; compilers say it themselves.
	Warnings []string
}

// language is how modules are made of programs in a language.
type language struct {
	name  string
	files []string // endings of files that are programs of it
	// form says that a folder with these names is a project of it.
	form  func(names []string) bool
	build func(ctx context.Context, r Request, dir bool) (Built, error)
}

func languages() []language {
	return []language{
		{name: "go", files: []string{".go"}, form: anyOf("go.mod", "*.go"), build: buildGo},
		{name: "ts", files: []string{".ts", ".mts", ".js", ".mjs"}, form: scripts, build: buildScript},
		{name: "c", files: []string{".c"}, form: onlyC, build: buildC},
		{name: "cpp", files: []string{".cpp", ".cc", ".cxx"}, form: anyOf("*.cpp", "*.cc", "*.cxx"), build: buildCPP},
		{name: "rust", files: []string{".rs"}, form: anyOf("Cargo.toml"), build: buildRust},
		{name: "assemblyscript", form: anyOf("asconfig.json"), build: buildAssemblyScript},
		{name: "zig", files: []string{".zig"}, form: anyOf("*.zig"), build: buildZig},
	}
}

// Languages are the names of languages that can be built.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// anyOf is the form of a folder that has a file of one of these patterns.
func anyOf(patterns ...string) func([]string) bool {
	return func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool { ok, err := filepath.Match(p, name); return ok && err == nil })
		})
	}
}

// Error is what keeps a program from becoming a module.
type Error struct{ What, Where, Fix string }

// Error says what.
func (e *Error) Error() string { return e.What }

// Build makes a module. What the author can mend is an *Error.
func Build(ctx context.Context, r Request) (Built, error) {
	info, err := os.Stat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Built{}, &Error{What: fmt.Sprintf("there is no file or folder %.200s", r.Path), Fix: "name the program's file, or its folder"}
	}
	if err != nil {
		return Built{}, err
	}
	l, err := detect(r.Path, r.Lang, info.IsDir())
	if err != nil {
		return Built{}, err
	}
	b, err := l.build(ctx, r, info.IsDir())
	b.Lang = l.name
	return b, err
}

// IsSource says that a path is something to build, and not a module: a folder, or a file of a language's ending.
func IsSource(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true
	}
	return slices.ContainsFunc(languages(), func(l language) bool { return slices.Contains(l.files, filepath.Ext(path)) })
}

// Out is the file that a module goes to when nobody names another: beside the file, or in the folder, under its name.
func Out(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if abs, err := filepath.Abs(path); err == nil {
			return filepath.Join(path, filepath.Base(abs)+".wasm")
		}
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".wasm"
}

// detect finds the language of a program.
func detect(path, lang string, dir bool) (language, error) {
	all := languages()
	if lang != "" {
		if i := slices.IndexFunc(all, func(l language) bool { return l.name == lang }); i >= 0 {
			return all[i], nil
		}
		return language{}, &Error{What: fmt.Sprintf("there is no language %.40q", lang), Fix: "take one of " + strings.Join(Languages(), ", ")}
	}
	if !dir {
		for _, l := range all {
			if slices.Contains(l.files, strings.ToLower(filepath.Ext(path))) {
				return l, nil
			}
		}
		return language{}, &Error{What: fmt.Sprintf("%.200s is a file of no language that can be built", path), Fix: "name a file of " + strings.Join(Languages(), ", ") + ", or say which with --lang"}
	}
	names, err := namesIn(path)
	if err != nil {
		return language{}, err
	}
	var found []language
	for _, l := range all {
		if l.form(names) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return language{}, &Error{What: fmt.Sprintf("the folder %.200s has no program of a language that can be built", path),
			Fix: "a program is go.mod, Cargo.toml, asconfig.json, build.zig, or files of C, C++, Zig or TypeScript; reprise new makes one"}
	}
	var which []string
	for _, l := range found {
		which = append(which, l.name)
	}
	return language{}, &Error{What: fmt.Sprintf("the folder %.200s has programs of several languages: %s", path, strings.Join(which, ", ")), Fix: "say which with --lang"}
}

func namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
