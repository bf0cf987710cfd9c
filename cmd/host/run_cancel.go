package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) runCancel() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "cancel",
		Usage: "ask a run to end; the guest may clean up first",
		Flags: []cli.Flag{&cli.StringFlag{Name: "reason", Usage: "why, one line"}},
	}, func(c *call) error {
		r, err := c.client.Cancel(c.Context.Context, c.arg(0), c.String("reason"))
		if err != nil {
			return err
		}
		return c.print(r, func(w io.Writer) { fmt.Fprintln(w, clean(r.State)) })
	}, "ID")
}
