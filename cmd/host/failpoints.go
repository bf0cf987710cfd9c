package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"reprise/internal/failpoint"
)

// failpoints lists the places at which tests can crash a host, so that no test has to know them.
func (p *program) failpoints() *cli.Command {
	return leaf(&cli.Command{
		Name:   "failpoints",
		Usage:  "list the failpoints of this program",
		Hidden: true,
		Action: func(*cli.Context) error {
			for _, name := range failpoint.Names() {
				fmt.Fprintln(p.stdout, name)
			}
			return nil
		},
	})
}
