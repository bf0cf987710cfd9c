package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http"

	"reprise/host"
	"reprise/journal"
)

// forkRun documents the body of a fork.
type forkRun struct {
	At  *int64 `json:"at,omitempty" minimum:"0" doc:"Seq of the last entry that the copy takes over, not the run's end; absent for all"`
	Key string `json:"key,omitempty" doc:"Your name for the copy, unique among open runs"`
}

type forkInput struct {
	body
	ID             string `path:"id" doc:"Run id"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"Makes a repeated request return the copy of the first"`
}

func (h *Handler) forkRun(ctx context.Context, in *forkInput) (*startOutput, error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	fields, err := in.fields(smallBody, "at", "key")
	if err != nil {
		return nil, err
	}
	req := host.ForkRun{IdempotencyKey: in.IdempotencyKey}
	if req.Key, err = text(fields, "key"); err != nil {
		return nil, err
	}
	if raw, ok := fields["at"]; ok {
		var at int64
		if json.Unmarshal(raw, &at) != nil || at < 0 || at == math.MaxInt64 {
			return nil, refuse("invalid_field", "at is the seq of an entry", "body.at")
		}
		req.Entries = at + 1
	}
	if err := checkText("header Idempotency-Key", req.IdempotencyKey); err != nil {
		return nil, err
	}
	run, created, err := h.cfg.UseCases.Fork(ctx, callOf(ctx).tenant, id, req)
	if err != nil {
		p := h.problem(ctx, err)
		if run.ID != (journal.RunID{}) {
			id = run.ID // the one in the way
		}
		return nil, about(id, p)
	}
	out := &startOutput{Status: http.StatusCreated, Location: "/v1/runs/" + run.ID.String(), Body: viewRun(run)}
	if !created {
		out.Status, out.Body.Existing = http.StatusOK, true
	}
	return out, nil
}
