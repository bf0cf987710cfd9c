package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"reprise/host/client"
)

func (p *program) runList() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "list",
		Usage: "list runs, newest first",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "state", Usage: "only runs in this state"},
			&cli.StringFlag{Name: "workflow", Usage: "only runs of this workflow"},
			&cli.StringFlag{Name: "key", Usage: "only runs of this key"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "runs at most, to 1000"},
			&cli.StringFlag{Name: "cursor", Usage: "go on after an earlier list"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "ids only"},
		},
	}, func(c *call) error {
		page, err := c.client.Runs(c.Context.Context, client.Filter{
			State: c.String("state"), Workflow: c.String("workflow"), Key: c.String("key"), Limit: c.Int("limit"), Cursor: c.String("cursor"),
		})
		if err != nil {
			return err
		}
		if page.Cursor != "" && c.format == "text" {
			defer c.say("there are more: --cursor %s", clean(page.Cursor))
		}
		if c.Bool("quiet") && c.format == "text" {
			for _, r := range page.Runs {
				fmt.Fprintln(c.out, clean(r.ID))
			}
			return nil
		}
		return list(c.printer, page, page.Runs, func(w io.Writer) {
			rows := [][]string{{"ID", "STATE", "ENTRIES", "CREATED", "WORKFLOW", "KEY"}}
			for _, r := range page.Runs {
				rows = append(rows, []string{
					clean(r.ID), stateText(r.State), fmt.Sprint(r.NextSeq), shortTime(r.CreatedAt), shorten(clean(r.Workflow), 32), clean(r.Key),
				})
			}
			c.table(w, rows)
		})
	})
}
