package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// each calls f for every visible command that does something.
func each(commands []*cli.Command, prefix string, f func(path string, c *cli.Command)) {
	for _, c := range commands {
		path := prefix + " " + c.Name
		switch {
		case c.Hidden:
		case len(c.Subcommands) > 0:
			each(c.Subcommands, path, f)
		default:
			f(path, c)
		}
	}
}

const docHead = `# The command line

` + "`reprise dev`" + ` and ` + "`reprise serve`" + ` run a node, ` + "`reprise soak`" + ` several; ` + "`reprise module check`, `sign`, `keygen`, `reprise new`, `build`, `test`" + ` and ` + "`reprise version`" + ` need none; every
other command speaks to a node over HTTP (` + "`--addr`, `REPRISE_ADDR`" + `).

- stdout has data only; talk, logs and errors go to stderr.
- Flags may stand before or after arguments; ` + "`--`" + ` ends them. A flag wins over its environment variable, that over the default.
- ` + "`-o json`" + ` is one JSON value, ` + "`-o jsonl`" + ` one value a line (white space inside payloads is dropped there), ` + "`-o none`" + ` nothing. The
  fields are those of the API, see [API.md](API.md). Text is for people and may change.
- Inputs go to the host byte for byte, and outputs come back so. What is shown in tables, and outputs on a terminal,
  has characters that do not print replaced by escapes.
- The first interrupt of ` + "`--wait`" + ` leaves the run going. The first SIGTERM or interrupt of a node gives its runs back, while
  readyz says no; the second ends the process at once.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; with a wait: the run has completed |
| 1 | any other error; a check of doctor, or a case of test, failed |
| 2 | the command line cannot be understood |
| 3 | not found, also what belongs to another tenant |
| 4 | conflict: a key is taken, or the run's state does not allow it |
| 5 | no token, or not allowed |
| 6 | the host does not answer, is not ready, or a limit is reached |
| 7 | the run is still open |
| 10 | the run has failed or timed out |
| 11 | the run was cancelled |
| 12 | the run was terminated |
| 13 | the run is blocked or paused |
| 14 | replay, test: the module does something else than the journal says |
| 130 | interrupted |

An error has a code in brackets; [ERRORS.md](ERRORS.md) lists them. This file is made from the commands themselves.
`

// commandDoc is docs/CLI.md.
func commandDoc() string {
	var b strings.Builder
	b.WriteString(docHead)
	each((&program{}).app().Commands, "reprise", func(path string, c *cli.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n`%s [flags]`: %s.\n", path, strings.TrimSpace(path+" "+c.ArgsUsage), c.Usage)
		if c.Description != "" {
			fmt.Fprintf(&b, "\n%s\n", c.Description)
		}
		b.WriteString("\n| flag | environment | default | |\n|---|---|---|---|\n")
		for _, f := range c.Flags {
			d := f.(cli.DocGenerationFlag)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", flagNames(f), ticked(d.GetEnvVars()), ticked(defaultOf(path, d)), cell(d.GetUsage()))
		}
	})
	return b.String()
}

func flagNames(f cli.Flag) string {
	var names []string
	for _, n := range f.Names() {
		dashes := "--"
		if len(n) == 1 {
			dashes = "-"
		}
		names = append(names, dashes+n)
	}
	return ticked(names)
}

func defaultOf(path string, d cli.DocGenerationFlag) []string {
	text := strings.Trim(d.GetDefaultText(), `"`)
	switch {
	case path == "reprise serve" && d.(cli.Flag).Names()[0] == "node":
		return []string{"the machine's name"}
	case !d.TakesValue(), text == "", text == "0", text == "0s":
		return nil
	}
	return []string{text}
}

func ticked(words []string) string {
	for i, w := range words {
		words[i] = "`" + cell(w) + "`"
	}
	return strings.Join(words, ", ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func TestCommandsGenerated(t *testing.T) {
	const path = "../../docs/CLI.md"
	got := commandDoc()
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/CLI.md is not what the commands say; UPDATE=1 go test rewrites it (-file +commands):\n%s", diff)
	}
}
