package main

import (
	"github.com/urfave/cli/v2"
)

func (p *program) dev() *cli.Command {
	return leaf(&cli.Command{
		Name:  "dev",
		Usage: "run a node for development, with an embedded journal",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "db", Usage: "file of the journal; kept in memory and lost when absent", EnvVars: []string{"REPRISE_DB"}},
		}, nodeFlags("dev")...),
		Action: func(c *cli.Context) error {
			s, err := settingsOf(c)
			if err != nil {
				return err
			}
			s.journal = memoryJournal
			if db := c.String("db"); db != "" {
				s.journal = sqlitePrefix + db
			}
			return p.node(c.Context, s)
		},
	})
}
