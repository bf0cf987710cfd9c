package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"reprise/host/client"
)

func (p *program) runFork() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "fork",
		Usage: "start a copy of a run, which goes on by itself behind an entry of it",
		Description: "The run stays as it is; it may be open or have ended. The copy has the run's entries up to there, and asks anew, under idempotency keys of its own, " +
			"for what was in flight. stdout: the copy's id.",
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "at", Value: -1, Usage: "seq of the last entry that the copy has; -1 for all but the run's end"},
			&cli.StringFlag{Name: "key", Usage: "your name for the copy, unique among open runs"},
			&cli.StringFlag{Name: "idempotency-key", Usage: "repeat a fork under the same key and get the copy of the first"},
		},
	}, func(c *call) error {
		at := c.Int64("at")
		if at < -1 {
			return &usageError{command: "reprise run fork", what: "--at is the seq of an entry, or -1"}
		}
		run, err := c.client.Fork(c.Context.Context, c.arg(0), client.Fork{At: at, Key: c.String("key"), IdempotencyKey: c.String("idempotency-key")})
		if err != nil {
			return err
		}
		if run.Existing {
			c.say("an earlier fork under this key made %s", run.ID)
		}
		return c.print(run, func(w io.Writer) { fmt.Fprintln(w, clean(run.ID)) })
	}, "ID")
}
