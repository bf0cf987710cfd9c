package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func (p *program) moduleShow() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "show",
		Usage: "show a module by workflow name or digest",
	}, func(c *call) error {
		m, err := c.client.Module(c.Context.Context, c.arg(0))
		if err != nil {
			return err
		}
		return c.print(m, func(w io.Writer) {
			pairs(w,
				[2]string{"digest", m.Digest}, [2]string{"size", fmt.Sprintf("%d bytes", m.Size)}, [2]string{"shape", m.Shape},
				[2]string{"sdk", m.SDK}, [2]string{"created", m.CreatedAt}, [2]string{"names", aliasText(m.Names)},
				[2]string{"workflows", strings.Join(m.Workflows, " ")}, [2]string{"activities", strings.Join(m.Activities, " ")},
				[2]string{"imports", strings.Join(m.Imports, " ")},
			)
			if len(m.History) == 0 {
				return
			}
			rows := [][]string{{"V", "SET", "DIGEST"}}
			for _, a := range m.History {
				rows = append(rows, []string{fmt.Sprint(a.Version), shortTime(a.SetAt), clean(a.Digest)})
			}
			fmt.Fprintln(w)
			c.table(w, rows)
		})
	}, "NAME|DIGEST")
}
