package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"reprise/guest-sdk/project"
	ts "reprise/guest-sdk/ts"
	"reprise/host/api"
	"reprise/modules"
)

// engineName is the file of the JavaScript engine; `make engine` writes it beside the program.
const engineName = "engine-js.wasm"

func (p *program) build() *cli.Command {
	c := &cli.Command{
		Name:  "build",
		Usage: "make a module of a program",
		Description: "PATH is a file, or a folder with a project; its language is found by its form, or named with --lang: " + strings.Join(project.Languages(), ", ") + "." +
			" The language's compiler makes the module, with the SDK that is part of this program where the project does not bring one." +
			" TypeScript and JavaScript need no compiler: the program and what it imports become one script, which is put into the JavaScript engine;" +
			" types are stripped and not checked. Without --engine the engine is " + engineName + " beside this program or in the user's folder for caches" +
			" (reprise/" + engineName + ")." +
			" stdout: the name of the file that was written. See GUESTS.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the module to this file; when absent, to the program's file or folder with the ending .wasm"},
			&cli.StringFlag{Name: "lang", Usage: "language of the program"},
			engineFlag(),
			&cli.StringFlag{Name: "types", Usage: "for TypeScript: also write the SDK's types into this folder, such as node_modules, for editors"},
		},
	}
	c.Action = func(ctx *cli.Context) error {
		path, out := ctx.Args().First(), ctx.String("out")
		if out == "" {
			out = project.Out(path)
		}
		built, err := p.buildModule(ctx, path)
		if err != nil {
			return err
		}
		if dir := ctx.String("types"); dir != "" {
			if err := ts.WriteTypes(dir); err != nil {
				return err
			}
		}
		if err := replaceFile(out, string(built.Module), 0o644); err != nil {
			return fmt.Errorf("module: %w", err)
		}
		script := ""
		if built.Script > 0 {
			script = fmt.Sprintf(", of which the script has %d", built.Script)
		}
		fmt.Fprintf(p.stderr, "%s, %d bytes%s\n", modules.DigestOf(built.Module), len(built.Module), script)
		fmt.Fprintln(p.stdout, clean(out))
		return nil
	}
	return leaf(c, "PATH")
}

func engineFlag() cli.Flag {
	return &cli.StringFlag{Name: "engine", Usage: "for TypeScript: file of the JavaScript engine, which make engine wrote", EnvVars: []string{"REPRISE_ENGINE"}}
}

// buildModule makes the module of a file or folder; ctx has the flags engine and lang.
func (p *program) buildModule(ctx *cli.Context, path string) (project.Built, error) {
	built, err := project.Build(ctx.Context, project.Request{Path: path, Lang: ctx.String("lang"), Talk: p.stderr,
		Engine: func() ([]byte, error) { return readEngine(ctx.String("engine")) }})
	for _, w := range built.Warnings {
		fmt.Fprintf(p.stderr, "warning: %s\n", cleanLines(w))
	}
	if err == nil && len(built.Module) > api.MaxModule {
		err = fmt.Errorf("the module has %d bytes, more than the %d that a host takes", len(built.Module), api.MaxModule)
	}
	return built, err
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
