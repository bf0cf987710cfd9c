package main

import (
	"github.com/urfave/cli/v2"
)

func (p *program) runDelete() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "delete",
		Usage:       "remove a run that has ended, with its journal",
		Description: "It is not found any more; its key and its idempotency key are free. A host started with --retain does so by itself.",
	}, func(c *call) error { return c.client.Delete(c.Context.Context, c.arg(0)) }, "ID")
}
