package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"reprise/abi"
	"reprise/host/api/wire"
)

type queryInput struct {
	body
	ID   string `path:"id" doc:"Run id"`
	Name string `path:"name" doc:"Name of the query"`
}

func (h *Handler) queryRun(ctx context.Context, in *queryInput) (*resultOutput, error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkTexts([2]string{"path.name", in.Name}); err != nil {
		return nil, err
	}
	input, err := in.read(abi.MaxPayload)
	if err != nil {
		return nil, err
	}
	out, failure, err := h.cfg.UseCases.Query(ctx, callOf(ctx).tenant, id, in.Name, input)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	if failure != nil {
		p := about(id, refuse("query_failed", failure.Error(), ""))
		p.Failure, p.FailureBase64 = wire.Payload(failure.Encode())
		return nil, p
	}
	return &resultOutput{func(c huma.Context) { h.writeOutput(c, out) }}, nil
}
