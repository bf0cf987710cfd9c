// Command reprise is the host and its command line. dev and serve run a node; every other command
// speaks to a node over HTTP. This package parses, wires and prints; it decides nothing about runs.
//
// On stdout there is data only, on stderr everything else. docs/CLI.md lists commands and exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"reprise/host"
)

// compileCommand is how a node starts this program as its compiler: see wire.go. It comes before the command line
// is built, because a compiling process does nothing that it need not.
const compileCommand = "compile-module"

func main() {
	if len(os.Args) > 1 && os.Args[1] == compileCommand {
		os.Exit(host.CompileModule(context.Background(), os.Stdin, os.Args[2:], os.Stderr))
	}
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once

	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	app := p.app()
	arranged, err := arrange(app, args[1:])
	if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, arranged...))
	}
	return p.finish(ctx, app, err)
}

// program is where a command reads and writes.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// finish tells an error and gives its exit code.
func (p *program) finish(ctx context.Context, app *cli.App, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNoCommand):
		app.Writer = p.stderr
		_ = cli.ShowAppHelp(cli.NewContext(app, nil, nil))
		return exitUsage
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "reprise: %s\nsee: %s --help\n", clean(usage.what), usage.command)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	tell(p.stderr, err)
	return exitCode(err)
}
