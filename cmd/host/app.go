package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// app is the tree of commands.
func (p *program) app() *cli.App {
	return &cli.App{
		Name:            "reprise",
		HelpName:        "reprise",
		Usage:           "a host for durable workflows that are WebAssembly modules",
		UsageText:       "reprise COMMAND [arguments] [flags]",
		HideVersion:     true,
		HideHelpCommand: true,
		Writer:          p.stdout,
		ErrWriter:       p.stderr,
		Reader:          p.stdin,
		ExitErrHandler:  func(*cli.Context, error) {}, // finish tells errors
		Commands: []*cli.Command{
			p.dev(),
			p.serve(),
			p.newProject(),
			p.build(),
			p.test(),
			group("module", "upload and look at modules", p.moduleCheck(), p.modulePush(), p.moduleList(), p.moduleShow(),
				p.moduleSign(), p.moduleKeygen()),
			group("run", "start runs and look after them",
				p.runStart(), p.runList(), p.runShow(), p.runJournal(), p.runResult(),
				p.runSignal(), p.runQuery(), p.runCancel(), p.runResume(), p.runReplay(), p.runFork(), p.runDelete()),
			group("node", "look at nodes", p.nodeList()),
			p.doctor(),
			p.soak(),
			p.versionCommand(),
			p.failpoints(),
		},
	}
}

func group(name, usage string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Subcommands: commands, HideHelpCommand: true}
}

// leaf completes a command that does something: args names its arguments, for the help and the check. The last ones may be in brackets,
// and may be left out.
func leaf(c *cli.Command, args ...string) *cli.Command {
	for i, a := range args {
		if i > 0 {
			c.ArgsUsage += " "
		}
		c.ArgsUsage += a
	}
	if len(args) == 0 {
		c.ArgsUsage = " " // without it the help claims that there are arguments
	}
	c.HideHelpCommand = true
	c.OnUsageError = func(ctx *cli.Context, err error, _ bool) error {
		return &usageError{command: ctx.Command.HelpName, what: err.Error()}
	}
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		if ctx.NArg() < len(args) && !strings.HasPrefix(args[ctx.NArg()], "[") {
			return &usageError{command: c.HelpName, what: fmt.Sprintf("%s is missing", args[ctx.NArg()])}
		}
		if ctx.NArg() > len(args) {
			return &usageError{command: c.HelpName, what: fmt.Sprintf("there is one argument too many: %.60q", ctx.Args().Get(len(args)))}
		}
		return action(ctx)
	}
	return c
}
