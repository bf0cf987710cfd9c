package project

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	ts "reprise/guest-sdk/ts"
)

// scripts is the form of a folder with a TypeScript or JavaScript program that is not AssemblyScript's.
func scripts(names []string) bool {
	return !slices.Contains(names, "asconfig.json") && anyOf("*.ts", "*.mts", "main.js", "index.js", "*.mjs")(names)
}

// buildScript bundles a program and puts it into the engine.
func buildScript(_ context.Context, r Request, dir bool) (Built, error) {
	file := r.Path
	if dir {
		var err error
		if file, err = scriptIn(r.Path); err != nil {
			return Built{}, err
		}
	}
	engine, err := r.Engine()
	if err != nil {
		return Built{}, err
	}
	bundle, err := ts.Build(file)
	if err != nil {
		return Built{}, fmt.Errorf("build %.200s: %w", file, err)
	}
	module, err := ts.Join(engine, bundle)
	return Built{Module: module, Script: len(bundle.Script), Warnings: bundle.Warnings}, err
}

// scriptIn is the file that a folder's program begins in: main or index, or one named like the folder, or the only one.
func scriptIn(dir string) (string, error) {
	names, err := namesIn(dir)
	if err != nil {
		return "", err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return strings.HasSuffix(n, ".d.ts") || !slices.Contains([]string{".ts", ".mts", ".js", ".mjs"}, filepath.Ext(n))
	})
	if abs, err := filepath.Abs(dir); err == nil {
		for _, stem := range []string{"main", "index", filepath.Base(abs)} {
			for _, n := range names {
				if strings.TrimSuffix(n, filepath.Ext(n)) == stem {
					return filepath.Join(dir, n), nil
				}
			}
		}
	}
	if len(names) == 1 {
		return filepath.Join(dir, names[0]), nil
	}
	return "", &Error{What: fmt.Sprintf("the folder %.200s has several scripts: %s", dir, strings.Join(names, ", ")), Fix: "name the file that the program begins in"}
}
