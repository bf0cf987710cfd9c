package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"reprise/guest-sdk/project"
	"reprise/host/testkit"
	"reprise/modules"
)

// casesNames are the files of cases that are looked for beside a program.
var casesNames = []string{"cases.yaml", "cases.yml", "cases.json"}

func (p *program) test() *cli.Command {
	c := &cli.Command{
		Name:  "test",
		Usage: "play a module's cases in memory, without a host",
		Description: "PATH is a module, or a program that is built first. Each case is one run: effects have the answers that the case gives, waits take" +
			" no time, and what comes of the run is compared with what the case expects. Then the run is cut after each entry of its journal and carried" +
			" on, and must come to the same. Without --cases the file is " + strings.Join(casesNames, ", ") + " beside the program." +
			" stdout has one line for each case. The exit code is 1 when a case is not as expected, 14 when a run that was cut did something else. See TESTING.md.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "cases", Usage: "file of cases, JSON or YAML"},
			&cli.StringFlag{Name: "run", Usage: "only cases with this text in their name"},
			&cli.BoolFlag{Name: "no-resume", Usage: "do not cut and carry on runs"},
			&cli.StringFlag{Name: "upgrade", Usage: "a newer module or program: it, too, must carry on the runs of PATH from each entry"},
			&cli.StringSliceFlag{Name: "module", Usage: "NAME=PATH: another module or program that the runs may name, for activities and child runs; may be repeated"},
			&cli.BoolFlag{Name: "journal", Usage: "show the journal of each run"},
			&cli.StringFlag{Name: "lang", Usage: "language of the program"},
			engineFlag(),
			&cli.StringFlag{Name: "cache-dir", Usage: "keep compiled modules here; by default in the user's folder for caches", EnvVars: []string{"REPRISE_CACHE_DIR"}},
		}, outputFlags()...),
	}
	c.Action = func(ctx *cli.Context) error {
		pr, err := p.printer(ctx)
		if err != nil {
			return err
		}
		path := ctx.Args().First()
		specs, err := readCases(path, ctx.String("cases"), ctx.String("run"))
		if err != nil {
			return err
		}
		kit, err := testkit.New(testkit.Config{Compiler: selfCompiler(), CacheDir: compiledIn(ctx.String("cache-dir"))})
		if err != nil {
			return err
		}
		t := tester{program: p, printer: pr, kit: kit, journal: ctx.Bool("journal"), resume: !ctx.Bool("no-resume")}
		return errors.Join(t.run(ctx, path, ctx.String("upgrade"), specs), kit.Close())
	}
	return leaf(c, "PATH")
}

// compiledIn is the folder for compiled modules; without a home they are not kept.
func compiledIn(dir string) string {
	if dir == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(cache, "reprise", "compiled")
			trim(dir, keepCompiled)
		}
	}
	return dir
}

// readCases reads the file of cases that is named, or that stands beside the program.
func readCases(path, name, only string) ([]testkit.Spec, error) {
	if name == "" {
		var err error
		if name, err = findCases(path); err != nil {
			return nil, err
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	specs, err := testkit.ReadCases(b)
	var wrong *testkit.CasesError
	if errors.As(err, &wrong) {
		at := name
		if wrong.Where != "" {
			at += ", " + wrong.Where
		}
		return nil, &project.Error{What: "the cases cannot be read: " + wrong.What, Where: at, Fix: wrong.Fix}
	}
	var chosen []testkit.Spec
	for _, s := range specs {
		if strings.Contains(s.Name, only) {
			chosen = append(chosen, s)
		}
	}
	if err == nil && len(chosen) == 0 {
		return nil, &project.Error{What: fmt.Sprintf("no case has %q in its name", only), Where: name, Fix: "leave --run out, or name a case"}
	}
	return chosen, err
}

func findCases(path string) (string, error) {
	dir := path
	if info, err := os.Stat(path); err != nil {
		return "", &project.Error{What: fmt.Sprintf("there is no file or folder %.200s", path), Fix: "name a module, a program's file, or its folder"}
	} else if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	for _, name := range casesNames {
		if file := filepath.Join(dir, name); isFile(file) {
			return file, nil
		}
	}
	return "", &project.Error{What: "there is no file of cases", Where: dir, Fix: "write cases.yaml there, or name one with --cases; see docs/TESTING.md"}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// tester plays the cases of one command.
type tester struct {
	*program
	*printer
	kit             *testkit.Kit
	journal, resume bool
}

func (t *tester) load(ctx *cli.Context, path string) (*testkit.Module, modules.Digest, error) {
	var wasm []byte
	var err error
	if project.IsSource(path) {
		var built project.Built
		built, err = t.buildModule(ctx, path)
		wasm = built.Module
	} else {
		wasm, err = readModule(t.stdin, path)
	}
	if err != nil {
		return nil, "", err
	}
	m, err := t.kit.Load(ctx.Context, wasm)
	return m, modules.DigestOf(wasm), err
}

func (t *tester) run(ctx *cli.Context, path, upgrade string, specs []testkit.Spec) error {
	m, digest, err := t.load(ctx, path)
	if err != nil {
		return err
	}
	var newer *testkit.Module
	if upgrade != "" {
		if newer, _, err = t.load(ctx, upgrade); err != nil {
			return err
		}
	}
	others, err := t.others(ctx)
	if err != nil {
		return err
	}
	view := testView{Module: string(digest)}
	diverged := false
	for _, s := range specs {
		s.Resume, s.Modules = s.Resume && t.resume, others
		rep, err := m.Test(ctx.Context, s)
		if err == nil && newer != nil && rep.Result != nil {
			err = meet(ctx.Context, newer, &rep)
		}
		if err != nil {
			return err
		}
		diverged = diverged || rep.Diverged
		view.add(rep)
		if t.format == "text" {
			t.tellCase(rep)
		}
	}
	if err := list(t.printer, view, view.Cases, func(w io.Writer) {}); err != nil {
		return err
	}
	return view.verdict(diverged)
}

// others are the modules of the flag module, by name.
func (t *tester) others(ctx *cli.Context) (map[string]*testkit.Module, error) {
	others := map[string]*testkit.Module{}
	for _, text := range ctx.StringSlice("module") {
		name, path, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return nil, &usageError{command: ctx.Command.HelpName, what: fmt.Sprintf("--module is %.80q, not NAME=PATH", text)}
		}
		if err := modules.CheckName(name); err != nil {
			return nil, err
		}
		m, _, err := t.load(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
		others[name] = m
	}
	return others, nil
}

// meet lets a newer module carry on the run of a case.
func meet(ctx context.Context, newer *testkit.Module, rep *testkit.Report) error {
	err := newer.Resume(ctx, rep.Result)
	var odd *testkit.DivergedError
	if errors.As(err, &odd) {
		rep.Diverged = true
		rep.Problems = append(rep.Problems, "the newer module does not carry the run on: "+odd.Error())
		rep.Fix = "keep the order of requests for runs that are open, or let those end on the old module"
		return nil
	}
	return err
}
