package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"reprise/host/api/wire"
)

func (p *program) runJournal() *cli.Command {
	return p.remote(&cli.Command{
		Name:        "journal",
		Usage:       "read a run's journal",
		Description: "Text shortens requests and payloads to the width of the line; json and jsonl are complete.",
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "from", Usage: "first seq"},
			&cli.IntFlag{Name: "limit", Usage: "entries at most; 0 is all"},
		},
	}, func(c *call) error {
		if c.Int64("from") < 0 || c.Int("limit") < 0 {
			return &usageError{command: c.Command.HelpName, what: "--from and --limit are not negative"}
		}
		entries, err := c.journal(c.arg(0), c.Int64("from"), c.Int("limit"))
		if err != nil {
			return err
		}
		whole := wire.Entries{Entries: entries, Next: c.Int64("from") + int64(len(entries))}
		return list(c.printer, whole, entries, func(w io.Writer) {
			rows := [][]string{{"SEQ", "KIND", "OP", "NAME", "STATUS", "AT", "REQUEST → PAYLOAD"}}
			for _, e := range entries {
				rows = append(rows, entryRow(e))
			}
			c.table(w, rows)
		})
	}, "ID")
}

// journal reads pages until the end, or until limit entries when it is not 0.
func (c *call) journal(id string, from int64, limit int) ([]wire.Entry, error) {
	const page = 500
	entries := []wire.Entry{}
	for limit == 0 || len(entries) < limit {
		n := page
		if limit > 0 {
			n = min(n, limit-len(entries))
		}
		part, err := c.client.Journal(c.Context.Context, id, from, n)
		if err != nil || len(part.Entries) == 0 {
			return entries, err
		}
		entries = append(entries, part.Entries...)
		from = part.Next
	}
	return entries, nil
}

func entryRow(e wire.Entry) []string {
	op := ""
	if e.Op >= 0 {
		op = fmt.Sprint(e.Op)
	}
	request, payload := clean(preview(e.Request, e.RequestBase64)), clean(preview(e.Payload, e.PayloadBase64))
	what := payload
	if request != "" {
		// The request leaves room for what it led to.
		what = shorten(request, 24)
		if payload != "" {
			what += " → " + payload
		}
	}
	return []string{fmt.Sprint(e.Seq), clean(e.Kind), op, shorten(clean(e.Name), 24), clean(e.Status), shortTime(e.At), what}
}
