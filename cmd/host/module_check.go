package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"reprise/host"
	"reprise/modules"
)

func (p *program) moduleCheck() *cli.Command {
	c := &cli.Command{
		Name:  "check",
		Usage: "look at a module as a host does at its upload, without a host",
		Description: "The module is checked, rewritten, compiled in a process of its own and asked to describe itself." +
			" stdout has the verdict and what was found: imports, how much of each limit the module takes, what metering adds to its code," +
			" and how a waiting instance could be saved. The exit code is 0 only for a module that a host of this version would take." +
			" FILE may be - for standard input.",
		Flags: outputFlags(),
	}
	c.Action = func(ctx *cli.Context) error {
		pr, err := p.printer(ctx)
		if err != nil {
			return err
		}
		name := ctx.Args().First()
		wasm, err := readModule(p.stdin, name)
		var report host.CheckReport
		switch {
		case errors.As(err, &report.Refused): // by its size
		case err != nil:
			return err
		default:
			if report, err = host.Check(ctx.Context, host.Config{Compiler: selfCompiler()}, wasm); err != nil {
				return err
			}
		}
		view := checkView(report)
		if err := pr.print(view, func(w io.Writer) { writeCheck(pr, w, view) }); err != nil {
			return err
		}
		if report.Refused != nil {
			return report.Refused
		}
		return nil
	}
	return leaf(c, "FILE")
}

// readModule reads a module from a file, or standard input for "-". It reads at most one byte more than a module may have,
// and nothing from what is no ordinary file: a pipe may never end, and opening one waits for its writer.
func readModule(stdin io.Reader, name string) ([]byte, error) {
	if name == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, modules.MaxSize+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return b, tooLong(b)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := ordinary(name, info.Mode()); err != nil {
		return nil, err
	}
	if err := modules.CheckSize(info.Size()); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, modules.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %.200s: %w", name, err)
	}
	return b, tooLong(b)
}

// tooLong refuses what was read up to the bound and goes on behind it.
func tooLong(b []byte) error {
	err := modules.CheckSize(int64(len(b)))
	var refused *modules.RefusedError
	if errors.As(err, &refused) {
		refused.What = fmt.Sprintf("the module has more than %d bytes", modules.MaxSize)
	}
	return err
}

// ordinary says what a path names when it is no file with bytes in it.
func ordinary(name string, mode fs.FileMode) error {
	what := "no ordinary file"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe; give - and let it be standard input"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%.200s is %s", name, what)
}
