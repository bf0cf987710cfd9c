package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"reprise/host/client"
)

func (p *program) runResult() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "result",
		Usage:       "print a run's output",
		Description: "stdout: the output, byte for byte; of a run that continues as new that of the last run. The exit code says how the run ended: 0 completed, 10 failed, 11 cancelled, 12 terminated, 13 blocked or paused, 7 still open.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "wait", Usage: "wait for the end"},
			&cli.DurationFlag{Name: "timeout", Usage: "wait no longer than this, for example 30s; 0 is for ever"},
		},
	}, func(c *call) error {
		id := c.arg(0)
		if c.Bool("wait") {
			return c.await(id, c.Duration("timeout"))
		}
		r, err := c.client.Result(c.Context.Context, id, 0)
		if err == nil && !r.Done {
			return fmt.Errorf("run %s is %s: %w", r.Run.ID, r.Run.State, client.ErrStillOpen)
		}
		return c.ending(id, r.Output, err)
	}, "ID")
}
