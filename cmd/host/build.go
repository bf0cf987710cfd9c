package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	ts "reprise/guest-sdk/ts"
	"reprise/host/api"
	"reprise/modules"
)

// engineName is the file of the JavaScript engine; `make engine` writes it beside the program.
const engineName = "engine-js.wasm"

func (p *program) build() *cli.Command {
	c := &cli.Command{
		Name:  "build",
		Usage: "make a module of a TypeScript or JavaScript program",
		Description: "The program and what it imports become one script, which is put into the JavaScript engine. Types are stripped and not" +
			" checked. Without --engine the engine is " + engineName + " beside this program or in the user's folder for caches (reprise/" + engineName + ")." +
			" stdout: the name of the file that was written. See GUESTS.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the module to this file; FILE with the ending .wasm when absent"},
			&cli.StringFlag{Name: "engine", Usage: "file of the JavaScript engine, which make engine wrote", EnvVars: []string{"REPRISE_ENGINE"}},
			&cli.StringFlag{Name: "types", Usage: "also write the SDK's types into this folder, such as node_modules, for editors"},
		},
	}
	c.Action = func(ctx *cli.Context) error {
		file, out := ctx.Args().First(), ctx.String("out")
		if out == "" {
			out = strings.TrimSuffix(file, filepath.Ext(file)) + ".wasm"
		}
		engine, err := readEngine(ctx.String("engine"))
		if err != nil {
			return err
		}
		bundle, err := ts.Build(file)
		if err != nil {
			return fmt.Errorf("build %.200s: %w", file, err)
		}
		for _, w := range bundle.Warnings {
			fmt.Fprintf(p.stderr, "warning: %s\n", cleanLines(w))
		}
		module, err := ts.Join(engine, bundle)
		if err != nil {
			return err
		}
		if len(module) > api.MaxModule {
			return fmt.Errorf("the module has %d bytes, more than the %d that a host takes; the script has %d of them", len(module), api.MaxModule, len(bundle.Script))
		}
		if dir := ctx.String("types"); dir != "" {
			if err := ts.WriteTypes(dir); err != nil {
				return err
			}
		}
		if err := replaceFile(out, string(module), 0o644); err != nil {
			return fmt.Errorf("module: %w", err)
		}
		fmt.Fprintf(p.stderr, "%s, %d bytes, of which the script has %d\n", modules.DigestOf(module), len(module), len(bundle.Script))
		fmt.Fprintln(p.stdout, clean(out))
		return nil
	}
	return leaf(c, "FILE")
}

// readEngine reads the engine that is named, or the first that is found.
func readEngine(name string) ([]byte, error) {
	places := []string{name}
	if name == "" {
		places = enginePlaces()
	}
	for _, place := range places {
		b, err := os.ReadFile(place)
		if err == nil {
			return b, nil
		}
		if name != "" || !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the JavaScript engine: %w", err)
		}
	}
	return nil, &noEngineError{looked: places}
}

// enginePlaces are the files that may hold the engine, best first. A machine without a home has no cache.
func enginePlaces() []string {
	var places []string
	if program, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(program), engineName))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "reprise", engineName))
	}
	return places
}

// noEngineError says where the engine was looked for.
type noEngineError struct{ looked []string }

func (e *noEngineError) Error() string {
	return "there is no JavaScript engine at " + strings.Join(e.looked, " or ")
}
