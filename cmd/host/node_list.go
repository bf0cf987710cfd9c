package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) nodeList() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "list",
		Usage: "list nodes that are live or still own runs",
	}, func(c *call) error {
		found, err := c.client.Nodes(c.Context.Context)
		if err != nil {
			return err
		}
		return list(c.printer, found, found.Nodes, func(w io.Writer) {
			rows := [][]string{{"NODE", "LIVE", "RUNS", "STARTED", "LEASE ENDS"}}
			for _, n := range found.Nodes {
				live := "no"
				if n.Live {
					live = "yes"
				}
				rows = append(rows, []string{clean(n.ID), live, fmt.Sprint(n.Runs), shortTime(n.StartedAt), shortTime(n.ExpiresAt)})
			}
			c.table(w, rows)
		})
	})
}
