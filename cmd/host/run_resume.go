package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) runResume() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "resume",
		Usage: "let a blocked or paused run go on",
	}, func(c *call) error {
		r, err := c.client.Resume(c.Context.Context, c.arg(0))
		if err != nil {
			return err
		}
		return c.print(r, func(w io.Writer) { fmt.Fprintln(w, clean(r.State)) })
	}, "ID")
}
