package main

import (
	"os"

	"github.com/urfave/cli/v2"
)

func (p *program) serve() *cli.Command {
	name, err := os.Hostname()
	if err != nil {
		name = "node"
	}
	return leaf(&cli.Command{
		Name:  "serve",
		Usage: "run a node for production",
		Description: "Nodes that share a Postgres journal share its runs. Each needs a --node name of its own, which it keeps" +
			" when it restarts. An address that is not loopback needs --api-token-file.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "journal", Usage: "where runs are kept: postgres://…, sqlite://PATH or PATH", EnvVars: []string{"REPRISE_JOURNAL"}},
			// Without a variable, which would stay and hold whatever was resumed at the next restart.
			&cli.BoolFlag{Name: "restored", Usage: "the journal was restored from a backup: pause its open runs before anything is done; for one start; see OPERATIONS.md"},
		}, nodeFlags(name)...),
		Action: func(c *cli.Context) error {
			s, err := settingsOf(c)
			if err != nil {
				return err
			}
			if s.journal = c.String("journal"); s.journal == "" {
				return &usageError{command: c.Command.HelpName, what: "--journal is missing: postgres://… or the path of a file"}
			}
			s.host.Restored = c.Bool("restored")
			return p.node(c.Context, s)
		},
	})
}
