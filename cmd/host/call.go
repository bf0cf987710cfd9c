package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v2"

	"reprise/host/api/wire"
	"reprise/host/client"
)

// call is one command that speaks to a host.
type call struct {
	*cli.Context
	client *client.Client
	*printer
}

// arg is the i-th argument.
func (c *call) arg(i int) string { return c.Args().Get(i) }

var formats = []string{"text", "json", "jsonl", "none"}

func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "text", Usage: "form of stdout: " + strings.Join(formats, ", "), EnvVars: []string{"REPRISE_OUTPUT"}, Category: "Output"},
		&cli.StringFlag{Name: "color", Value: "auto", Usage: "auto, always or never; NO_COLOR turns auto off", Category: "Output"},
	}
}

func clientFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "addr", Value: client.DefaultAddr, Usage: "the host's address", EnvVars: []string{"REPRISE_ADDR"}, Category: "Host"},
		&cli.StringFlag{Name: "token", Usage: "bearer token; prefer the environment, arguments are seen by other users", EnvVars: []string{"REPRISE_TOKEN"}, Category: "Host"},
	}
}

// remote completes a leaf command that speaks to a host.
func (p *program) remote(c *cli.Command, f func(*call) error, args ...string) *cli.Command {
	c.Flags = append(append(c.Flags, clientFlags()...), outputFlags()...)
	c.Action = func(ctx *cli.Context) error {
		pr, err := p.printer(ctx)
		if err != nil {
			return err
		}
		cl, err := client.New(client.Config{Addr: ctx.String("addr"), Token: ctx.String("token")})
		if err != nil {
			return &usageError{command: c.HelpName, what: "--addr: " + err.Error()}
		}
		defer cl.Close()
		return f(&call{Context: ctx, client: cl, printer: pr})
	}
	return leaf(c, args...)
}

// printer writes what a command has found.
type printer struct {
	out, talk io.Writer
	format    string
	color     bool
	terminal  bool // stdout is one
}

func (p *program) printer(ctx *cli.Context) (*printer, error) {
	pr := &printer{out: p.stdout, talk: p.stderr, format: ctx.String("output"), terminal: isTerminal(p.stdout)}
	if !slices.Contains(formats, pr.format) {
		return nil, &usageError{command: ctx.Command.HelpName, what: fmt.Sprintf("--output is %.40q, not one of %s", pr.format, strings.Join(formats, ", "))}
	}
	switch mode := ctx.String("color"); mode {
	case "always":
		pr.color = true
	case "auto":
		pr.color = pr.terminal && os.Getenv("NO_COLOR") == ""
	case "never":
	default:
		return nil, &usageError{command: ctx.Command.HelpName, what: fmt.Sprintf("--color is %.40q, not auto, always or never", mode)}
	}
	return pr, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// print writes one value: as JSON, or with text in the form for people.
func (p *printer) print(v any, text func(w io.Writer)) error {
	switch p.format {
	case "text":
		text(p.out)
	case "json", "jsonl":
		return p.json(v)
	}
	return nil
}

// json writes a value as JSON. With jsonl it is one line, so white space in payloads is dropped there.
func (p *printer) json(v any) error {
	b, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	if p.format == "jsonl" {
		var line bytes.Buffer
		if err := json.Compact(&line, b); err != nil {
			return fmt.Errorf("compact: %w", err)
		}
		b = line.Bytes()
	}
	_, err = p.out.Write(append(b, '\n'))
	return err
}

// list writes a list: each item on its line with jsonl, otherwise the whole.
func list[T any](p *printer, whole any, items []T, text func(w io.Writer)) error {
	if p.format != "jsonl" {
		return p.print(whole, text)
	}
	for _, item := range items {
		if err := p.json(item); err != nil {
			return err
		}
	}
	return nil
}

// table writes rows, the heading bold where colour is on.
func (p *printer) table(w io.Writer, rows [][]string) {
	if !p.color {
		table(w, rows)
		return
	}
	var b bytes.Buffer
	table(&b, rows)
	heading, rest, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	fmt.Fprintf(w, "\x1b[1m%s\x1b[0m\n%s", heading, rest)
}

// say writes to stderr, unless nothing is wanted.
func (p *printer) say(format string, args ...any) {
	if p.format != "none" {
		fmt.Fprintf(p.talk, format+"\n", args...)
	}
}

// bytes writes an output as it is; on a terminal it is made safe and gets an end of line.
func (p *printer) bytes(b []byte) error {
	switch {
	case p.format == "none":
		return nil
	case p.terminal:
		b = []byte(cleanLines(string(b)) + "\n")
	}
	_, err := p.out.Write(b)
	return err
}

// pairs writes names and values, one a line; empty values are left out.
func pairs(w io.Writer, ps ...[2]string) {
	for _, p := range ps {
		if p[1] != "" {
			fmt.Fprintf(w, "%-10s %s\n", p[0], clean(p[1]))
		}
	}
}
