package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"reprise/host/api/wire"
)

func (p *program) runShow() *cli.Command {
	return p.remote(&cli.Command{
		Name:  "show",
		Usage: "show a run: state, what it waits for, owner, input and output",
	}, func(c *call) error {
		r, err := c.client.Run(c.Context.Context, c.arg(0))
		if err != nil {
			return err
		}
		return c.print(r, func(w io.Writer) { showRun(w, r) })
	}, "ID")
}

func showRun(w io.Writer, r wire.Run) {
	state := stateText(r.State)
	if r.CancelRequested {
		state += ", asked to end"
	}
	pairs(w,
		[2]string{"run", r.ID}, [2]string{"state", state}, [2]string{"reason", r.Reason}, [2]string{"waiting", r.Waiting},
		[2]string{"wakes", r.WakeAt}, [2]string{"workflow", r.Workflow}, [2]string{"entry", r.Entry}, [2]string{"module", r.Digest},
		[2]string{"key", r.Key}, [2]string{"parent", r.Parent}, [2]string{"successor", r.Successor}, [2]string{"owner", r.Owner}, [2]string{"entries", fmt.Sprint(r.NextSeq)},
		[2]string{"attempts", fmt.Sprint(r.Attempts)}, [2]string{"queued", number(r.Queued)},
		[2]string{"created", r.CreatedAt}, [2]string{"updated", r.UpdatedAt}, [2]string{"finished", r.FinishedAt},
		[2]string{"input", preview(r.Input, r.InputBase64)},
		[2]string{"output", preview(r.Output, r.OutputBase64)},
		[2]string{"failure", preview(r.Failure, r.FailureBase64)},
	)
	for _, v := range r.Published {
		fmt.Fprintf(w, "%-10s %s = %s\n", "published", clean(v.Key), clean(preview(v.Value, v.ValueBase64)))
	}
}

// previewLimit bounds how much of a payload is shown where people read.
const previewLimit = 500

// preview is a payload for people, not yet clean; bytes that are no text are shown in hex.
func preview(raw, b64 []byte) string {
	b := wire.Bytes(raw, b64)
	if len(b) == 0 {
		return ""
	}
	cut := b[:min(len(b), previewLimit)]
	s := string(cut)
	if raw == nil && !printable(s) {
		s = fmt.Sprintf("%x", cut)
	}
	if len(b) > len(cut) {
		s += fmt.Sprintf("… (%d bytes)", len(b))
	}
	return s
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
