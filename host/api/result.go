package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"reprise/host/api/wire"
	"reprise/journal"
)

type resultInput struct {
	ID   string `path:"id" doc:"Run id"`
	Wait string `query:"wait" doc:"Wait up to this long for the end, for example 30s; at most 60s"`
}

// resultOutput writes itself, because an output is bytes and not a value.
type resultOutput struct{ Body func(huma.Context) }

// noOutput gives the code of each state in which waiting for an output is of no use.
var noOutput = map[journal.State]string{
	journal.Failed:     "run_failed",
	journal.Cancelled:  "run_cancelled",
	journal.Terminated: "run_terminated",
	journal.TimedOut:   "run_timed_out",
	journal.Continued:  "run_continued",
	journal.Blocked:    "run_blocked",
	journal.Paused:     "run_paused",
}

func (h *Handler) getResult(ctx context.Context, in *resultInput) (*resultOutput, error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	wait, err := waitFor(in.Wait)
	if err != nil {
		return nil, err
	}
	run, err := h.result(ctx, id, wait)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	if run.State == journal.Completed {
		return &resultOutput{func(c huma.Context) { h.writeOutput(c, run.Output) }}, nil
	}
	if code, ok := noOutput[run.State]; ok {
		p := about(id, refuse(code, run.Reason, ""))
		p.State = string(run.State)
		p.Failure, p.FailureBase64 = wire.Payload(run.Failure)
		return nil, p
	}
	return &resultOutput{func(c huma.Context) {
		c.SetHeader("Content-Type", "application/json")
		c.SetStatus(http.StatusAccepted)
		if err := writeJSON(c.BodyWriter(), viewRun(run)); err != nil {
			h.cfg.Logger.Error("encode run", "run", id.String(), "error", err)
		}
	}}, nil
}

func (h *Handler) writeOutput(c huma.Context, output []byte) {
	contentType := "application/octet-stream"
	if raw, _ := wire.Payload(output); raw != nil {
		contentType = "application/json"
	}
	c.SetHeader("Content-Type", contentType)
	c.SetStatus(http.StatusOK)
	if _, err := c.BodyWriter().Write(output); err != nil {
		h.cfg.Logger.Debug("write output", "error", err)
	}
}
