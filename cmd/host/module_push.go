package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"reprise/host/api"
)

func (p *program) modulePush() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "push",
		Usage:       "upload a module and point a workflow name at it",
		Description: "The name is the file's, without .wasm, unless --name or --no-name says otherwise. stdout: the digest.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "workflow name that will mean this module"},
			&cli.BoolFlag{Name: "no-name", Usage: "upload only; runs name the digest"},
			&cli.StringFlag{Name: "digest", Usage: "refuse the file when it has another digest"},
			&cli.StringFlag{Name: "signature", Usage: "file of the module's signatures, which module sign wrote"},
		},
	}, func(c *call) error {
		wasm, err := readFile(p.stdin, c.arg(0), api.MaxModule)
		if err != nil {
			return err
		}
		name := c.String("name")
		switch {
		case c.Bool("no-name") && name != "":
			return &usageError{command: c.Command.HelpName, what: "--name and --no-name exclude each other"}
		case c.Bool("no-name"):
		case name == "" && c.arg(0) == "-":
			return &usageError{command: c.Command.HelpName, what: "a module from stdin needs --name or --no-name"}
		case name == "":
			name = strings.TrimSuffix(filepath.Base(c.arg(0)), ".wasm")
		}
		sigs, err := readSignatures(c.String("signature"))
		if err != nil {
			return err
		}
		pushed, err := c.client.PushModule(c.Context.Context, name, wasm, c.String("digest"), sigs...)
		if err != nil {
			return err
		}
		switch {
		case pushed.Moved:
			c.say("%s@%d now means %s", clean(pushed.Name), pushed.Version, pushed.Digest)
		case pushed.Name != "":
			c.say("%s@%d means %s already", clean(pushed.Name), pushed.Version, pushed.Digest)
		}
		return c.print(pushed, func(w io.Writer) { fmt.Fprintln(w, clean(pushed.Digest)) })
	}, "FILE")
}

// readFile reads a file, or stdin for "-", of at most limit bytes; of a longer one it reads one byte
// more, so that the host refuses it in its own words.
func readFile(stdin io.Reader, path string, limit int64) ([]byte, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}
