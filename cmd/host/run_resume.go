package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"reprise/host/api/wire"
	"reprise/host/client"
)

func (p *program) runResume() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "resume",
		Usage:       "let a blocked or paused run go on, or all of them",
		Description: "With --all the runs are resumed one after the other, those that were started first before others.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every run of --state, instead of one ID"},
			&cli.StringFlag{Name: "state", Value: "paused", Usage: "with --all: runs in this state, paused or blocked"},
			&cli.StringFlag{Name: "workflow", Usage: "with --all: only runs of this workflow"},
		},
	}, func(c *call) error {
		if err := c.checkResume(); err != nil {
			return err
		}
		if c.Bool("all") {
			return c.resumeAll()
		}
		r, err := c.client.Resume(c.Context.Context, c.arg(0))
		if err != nil {
			return err
		}
		return c.print(r, func(w io.Writer) { fmt.Fprintln(w, clean(r.State)) })
	}, "[ID]")
}

// checkResume refuses a command line that could mean more runs than its author thought of.
func (c *call) checkResume() error {
	usage := func(what string) error { return &usageError{command: c.Command.HelpName, what: what} }
	all, one := c.Bool("all"), c.arg(0) != ""
	switch state := c.String("state"); {
	case all && one:
		return usage("ID and --all do not go together")
	case all && state != "paused" && state != "blocked":
		return usage(fmt.Sprintf("--state is %.40q, not paused or blocked", state))
	case !all && (c.IsSet("state") || c.IsSet("workflow")):
		return usage("--state and --workflow go with --all")
	case !all && !one:
		return usage("ID is missing, or --all")
	}
	return nil
}

// resumeAll resumes what a list finds when it begins. A run that somebody else has resumed or ended meanwhile is left out.
func (c *call) resumeAll() error {
	ids, err := c.heldRuns()
	if err != nil {
		return err
	}
	runs := []wire.Run{}
	for _, id := range ids {
		r, err := c.client.Resume(c.Context.Context, id)
		var told *client.Error
		switch {
		case errors.As(err, &told) && (told.Problem.Code == "run_not_held" || told.Problem.Code == "run_not_found"):
			c.say("%s is not held any more", clean(id))
		case err != nil:
			return fmt.Errorf("after %d of %d runs: %w", len(runs), len(ids), err)
		default:
			runs = append(runs, r)
		}
	}
	return list(c.printer, wire.Runs{Runs: runs}, runs, func(w io.Writer) { fmt.Fprintf(w, "%d runs resumed\n", len(runs)) })
}

// heldRuns are the ids that --state and --workflow select, those that were started first before others.
func (c *call) heldRuns() (ids []string, err error) {
	f := client.Filter{State: c.String("state"), Workflow: c.String("workflow"), Limit: 1000}
	for more := true; more; more = f.Cursor != "" {
		page, err := c.client.Runs(c.Context.Context, f)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Runs {
			ids = append(ids, r.ID)
		}
		f.Cursor = page.Cursor
	}
	slices.Reverse(ids)
	return ids, nil
}
