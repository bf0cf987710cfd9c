package main

import "github.com/urfave/cli/v2"

func (p *program) runQuery() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "query",
		Usage: "ask a run, without changing anything of it",
		Description: "A copy of the run, as it waits, answers: see docs/QUERIES.md for which modules can. " +
			"stdout: the answer, byte for byte.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: "the query's input: TEXT, @FILE or -"}},
	}, func(c *call) error {
		input, err := p.input(c.String("input"))
		if err != nil {
			return err
		}
		out, err := c.client.Query(c.Context.Context, c.arg(0), c.arg(1), input)
		if err != nil {
			return err
		}
		return c.bytes(out)
	}, "ID", "NAME")
}
