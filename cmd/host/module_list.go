package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"reprise/host/api/wire"
	"reprise/modules"
)

func (p *program) moduleList() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "list",
		Usage: "list modules, newest first",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "digests only"}},
	}, func(c *call) error {
		found, err := c.client.Modules(c.Context.Context)
		if err != nil {
			return err
		}
		if c.Bool("quiet") && c.format == "text" {
			for _, m := range found.Modules {
				fmt.Fprintln(c.out, clean(m.Digest))
			}
			return nil
		}
		return list(c.printer, found, found.Modules, func(w io.Writer) {
			rows := [][]string{{"DIGEST", "SHAPE", "SIZE", "CREATED", "NAMES"}}
			for _, m := range found.Modules {
				rows = append(rows, []string{
					clean(modules.Digest(m.Digest).Short()), clean(m.Shape), fmt.Sprint(m.Size), shortTime(m.CreatedAt), aliasText(m.Names),
				})
			}
			c.table(w, rows)
		})
	})
}

func aliasText(as []wire.Alias) string {
	var texts []string
	for _, a := range as {
		texts = append(texts, clean(fmt.Sprintf("%s@%d", a.Name, a.Version)))
	}
	return strings.Join(texts, " ")
}
