package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arrange brings arguments into the one order that the flag parser knows: the path of the command, its
// flags, "--", its arguments. So flags may stand anywhere after the command. It also answers what the
// parser would answer badly: unknown commands, and groups without one.
func arrange(app *cli.App, args []string) ([]string, error) {
	commands := app.Commands
	var path []string
	help := false
	for i, a := range args {
		command := strings.Join(append([]string{app.Name}, path...), " ")
		switch {
		case a == "-h" || a == "--help" || a == "help":
			help = true
			continue
		case len(path) == 0 && (a == "--version" || a == "-v"):
			return []string{"version"}, nil
		case strings.HasPrefix(a, "-"):
			return nil, &usageError{command: command, what: fmt.Sprintf("the flag %.60q stands before a command", a)}
		}
		c := find(commands, a)
		if c == nil {
			return nil, &usageError{command: command, what: unknownCommand(commands, a)}
		}
		path = append(path, c.Name)
		if len(c.Subcommands) == 0 {
			rest := permute(c.Flags, args[i+1:])
			if help {
				rest = []string{"--help"}
			}
			return append(path, rest...), nil
		}
		commands = c.Subcommands
	}
	switch {
	case help:
		return append(path, "--help"), nil
	case len(path) == 0:
		return nil, errNoCommand
	}
	name := strings.Join(append([]string{app.Name}, path...), " ")
	return nil, &usageError{command: name, what: fmt.Sprintf("%s needs a command: %s", name, strings.Join(names(commands), ", "))}
}

func find(commands []*cli.Command, name string) *cli.Command {
	if i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) }); i >= 0 {
		return commands[i]
	}
	return nil
}

func names(commands []*cli.Command) []string {
	var ns []string
	for _, c := range commands {
		if !c.Hidden {
			ns = append(ns, c.Name)
		}
	}
	return ns
}

func unknownCommand(commands []*cli.Command, name string) string {
	var visible []*cli.Command
	for _, c := range commands {
		if !c.Hidden {
			visible = append(visible, c)
		}
	}
	what := fmt.Sprintf("there is no command %.60q", name)
	if s := cli.SuggestCommand(visible, name); s != "" && !strings.Contains(s, `"h`) {
		return what + "; " + strings.ToLower(s[:1]) + s[1:]
	}
	return what + "; there are: " + strings.Join(names(commands), ", ")
}

// permute moves flags before arguments.
func permute(flags []cli.Flag, args []string) []string {
	takesValue := map[string]bool{}
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		for _, name := range f.Names() {
			takesValue[name] = ok && d.TakesValue()
		}
	}
	var first, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if a == "-" || !strings.HasPrefix(a, "-") {
			rest = append(rest, a)
			continue
		}
		first = append(first, a)
		name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if takesValue[name] && !hasValue && i+1 < len(args) {
			i++
			first = append(first, args[i])
		}
	}
	return append(append(first, "--"), rest...)
}
