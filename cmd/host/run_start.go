package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"reprise/abi"
	"reprise/host/client"
)

func (p *program) runStart() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "start",
		Usage: "start a run",
		Description: "The input is sent byte for byte: TEXT, @FILE for a file's bytes, - for stdin. stdout: the run's id;" +
			" with --wait its output's bytes, or the whole run with -o json.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: "input: TEXT, @FILE or -"},
			&cli.StringFlag{Name: "entry", Usage: "workflow inside the module, when it has several"},
			&cli.StringFlag{Name: "key", Usage: "your name for the run, unique among open runs"},
			&cli.StringFlag{Name: "idempotency-key", Usage: "repeat a start under the same key and get the run of the first"},
			&cli.BoolFlag{Name: "wait", Usage: "wait for the end"},
			&cli.DurationFlag{Name: "timeout", Usage: "wait no longer than this, for example 30s; 0 is for ever"},
		},
	}, func(c *call) error {
		input, err := p.input(c.String("input"))
		if err != nil {
			return err
		}
		run, err := c.client.StartRun(c.Context.Context, client.StartRun{
			Workflow: c.arg(0), Entry: c.String("entry"), Input: input, Key: c.String("key"), IdempotencyKey: c.String("idempotency-key"),
		})
		if err != nil {
			return err
		}
		if run.Existing {
			c.say("an earlier start under this key made %s", run.ID)
		}
		if !c.Bool("wait") {
			return c.print(run, func(w io.Writer) { fmt.Fprintln(w, clean(run.ID)) })
		}
		c.say("started %s", clean(run.ID))
		return c.await(run.ID, c.Duration("timeout"))
	}, "WORKFLOW")
}

// input reads what -i names.
func (p *program) input(s string) ([]byte, error) {
	switch {
	case s == "-":
		return readFile(p.stdin, "-", abi.MaxPayload)
	case strings.HasPrefix(s, "@"):
		return readFile(nil, s[1:], abi.MaxPayload)
	}
	return []byte(s), nil
}

// await waits for a run and prints its output.
func (c *call) await(id string, timeout time.Duration) error {
	output, err := c.client.Wait(c.Context.Context, id, timeout)
	if c.Context.Context.Err() != nil {
		c.say("the run goes on; see reprise run result %s --wait", clean(id))
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return c.ending(id, output, err)
}

// ending prints an output; in the forms for programs it prints the whole run, also one without output.
func (c *call) ending(id string, output []byte, err error) error {
	var told *client.Error
	if err != nil && !(errors.As(err, &told) && told.State != "") {
		return err
	}
	switch {
	case c.format == "none", c.format == "text" && err != nil:
		return err
	case c.format == "text":
		return c.bytes(output)
	}
	run, readErr := c.client.Run(c.Context.Context, id)
	if readErr == nil {
		readErr = c.json(run)
	}
	return errors.Join(err, readErr)
}
