package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) runSignal() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "signal",
		Usage:       "send a signal to a run",
		Description: "A signal is taken once per id. stdout: the signal's id.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: "payload: TEXT, @FILE or -"},
			&cli.StringFlag{Name: "id", Usage: "the signal's id; a new one when absent"},
		},
	}, func(c *call) error {
		payload, err := p.input(c.String("input"))
		if err != nil {
			return err
		}
		s, err := c.client.Signal(c.Context.Context, c.arg(0), c.arg(1), c.String("id"), payload)
		if err != nil {
			return err
		}
		if s.Duplicate {
			c.say("the signal had been taken before")
		}
		return c.print(s, func(w io.Writer) { fmt.Fprintln(w, clean(s.ID)) })
	}, "ID", "NAME")
}
