package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) runReplay() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "replay",
		Usage:       "replay a run's journal without writing, to see whether a module still fits it",
		Description: "The exit code is 14 when the module does something else than the journal says.",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "digest", Usage: "replay against this module and not the run's own"}},
	}, func(c *call) error {
		r, err := c.client.Replay(c.Context.Context, c.arg(0), c.String("digest"))
		if err != nil {
			return err
		}
		err = c.print(r, func(w io.Writer) {
			if r.OK {
				fmt.Fprintf(w, "ok: %d entries match, the run ends %s\n", r.Entries, clean(r.Ending))
			} else {
				fmt.Fprintln(w, cleanLines(r.Mismatch))
			}
		})
		if err == nil && !r.OK {
			err = &exitError{exitMismatch, errors.New("the module does not fit the journal")}
		}
		return err
	}, "ID")
}
