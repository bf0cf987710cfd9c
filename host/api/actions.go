package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"reprise/abi"
	"reprise/host/api/wire"
	"reprise/journal"
	"reprise/tenant"
)

// smallBody bounds the bodies that have only names in them.
const smallBody = 16 << 10

func (h *Handler) runActionRoutes(api huma.API) {
	route(h, api, huma.Operation{
		OperationID: "signalRun", Method: http.MethodPost, Path: "/v1/runs/{id}/signals/{name}", Summary: "Send a signal", Tags: []string{"runs"},
		DefaultStatus: http.StatusAccepted,
		RequestBody:   bytesBody("application/octet-stream", "The payload, any bytes of any content type", false),
	}, h.signalRun)
	route(h, api, huma.Operation{
		OperationID: "queryRun", Method: http.MethodPost, Path: "/v1/runs/{id}/queries/{name}", Summary: "Ask a copy of an open run, and change nothing", Tags: []string{"runs"},
		RequestBody: bytesBody("application/octet-stream", "The query's input, any bytes of any content type", false),
	}, h.queryRun)
	route(h, api, huma.Operation{
		OperationID: "forkRun", Method: http.MethodPost, Path: "/v1/runs/{id}/fork", Summary: "Start a copy of a run, which goes on behind an entry of it", Tags: []string{"runs"},
		DefaultStatus: http.StatusCreated,
		RequestBody:   jsonBody(schemaOf(api, forkRun{}), false),
		Responses:     map[string]*huma.Response{"200": jsonResponse(api, "The copy of an earlier request with the same Idempotency-Key", wire.Run{})},
	}, h.forkRun)
	route(h, api, huma.Operation{
		OperationID: "cancelRun", Method: http.MethodPost, Path: "/v1/runs/{id}/cancel", Summary: "Ask a run to end", Tags: []string{"runs"},
		DefaultStatus: http.StatusAccepted,
		RequestBody:   jsonBody(schemaOf(api, cancelRun{}), false),
	}, h.cancelRun)
	route(h, api, huma.Operation{
		OperationID: "resumeRun", Method: http.MethodPost, Path: "/v1/runs/{id}/resume", Summary: "Let a blocked or paused run go on", Tags: []string{"runs"},
	}, h.resumeRun)
	route(h, api, huma.Operation{
		OperationID: "deleteRun", Method: http.MethodDelete, Path: "/v1/runs/{id}", Summary: "Remove a run that has ended", Tags: []string{"runs"},
		DefaultStatus: http.StatusNoContent,
	}, h.deleteRun)
	route(h, api, huma.Operation{
		OperationID: "replayRun", Method: http.MethodPost, Path: "/v1/runs/{id}/replay", Summary: "Replay a run's journal without writing", Tags: []string{"runs"},
		RequestBody: jsonBody(schemaOf(api, replayRun{}), false),
	}, h.replayRun)
}

type signalInput struct {
	body
	ID             string `path:"id" doc:"Run id"`
	Name           string `path:"name" doc:"Name that the guest waits for"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"The signal's id: a signal is taken once per id"`
}

func (h *Handler) signalRun(ctx context.Context, in *signalInput) (*answer[wire.Signal], error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkTexts([2]string{"path.name", in.Name}, [2]string{"header Idempotency-Key", in.IdempotencyKey}); err != nil {
		return nil, err
	}
	payload, err := in.read(abi.MaxPayload)
	if err != nil {
		return nil, err
	}
	signalID := in.IdempotencyKey
	if signalID == "" {
		signalID = uuid.NewString()
	}
	duplicate, err := h.cfg.UseCases.Signal(ctx, callOf(ctx).tenant, id, signalID, in.Name, payload)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	return &answer[wire.Signal]{wire.Signal{ID: signalID, Duplicate: duplicate}}, nil
}

// cancelRun documents the body of a cancel.
type cancelRun struct {
	Reason string `json:"reason,omitempty" doc:"Why, one line"`
}

type actionInput struct {
	body
	ID string `path:"id" doc:"Run id"`
}

func (h *Handler) cancelRun(ctx context.Context, in *actionInput) (*answer[wire.Run], error) {
	fields, err := in.fields(smallBody, "reason")
	if err != nil {
		return nil, err
	}
	reason, err := text(fields, "reason")
	if err != nil {
		return nil, err
	}
	return h.act(ctx, in.ID, func(t tenant.ID, id journal.RunID) (journal.Run, error) {
		return h.cfg.UseCases.Cancel(ctx, t, id, reason)
	})
}

func (h *Handler) resumeRun(ctx context.Context, in *actionInput) (*answer[wire.Run], error) {
	if _, err := in.fields(smallBody); err != nil {
		return nil, err
	}
	return h.act(ctx, in.ID, func(t tenant.ID, id journal.RunID) (journal.Run, error) {
		return h.cfg.UseCases.Resume(ctx, t, id)
	})
}

func (h *Handler) act(ctx context.Context, printed string, f func(tenant.ID, journal.RunID) (journal.Run, error)) (*answer[wire.Run], error) {
	id, err := runID(printed)
	if err != nil {
		return nil, err
	}
	run, err := f(callOf(ctx).tenant, id)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	return &answer[wire.Run]{viewRun(run)}, nil
}

func (h *Handler) deleteRun(ctx context.Context, in *runInput) (*struct{}, error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	if err := h.cfg.UseCases.DeleteRun(ctx, callOf(ctx).tenant, id); err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	return nil, nil
}

// replayRun documents the body of a replay.
type replayRun struct {
	Digest string `json:"digest,omitempty" doc:"Module to replay against; absent for the run's own"`
}

func (h *Handler) replayRun(ctx context.Context, in *actionInput) (*answer[wire.Replay], error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	fields, err := in.fields(smallBody, "digest")
	if err != nil {
		return nil, err
	}
	printed, err := text(fields, "digest")
	if err != nil {
		return nil, err
	}
	d, err := digest("body.digest", printed)
	if err != nil {
		return nil, err
	}
	r, err := h.cfg.UseCases.Replay(ctx, callOf(ctx).tenant, id, d)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	return &answer[wire.Replay]{wire.Replay{
		Run: fmt.Sprint(r.Run), Digest: string(r.Digest), Entries: r.Entries, OK: r.OK,
		Ending: r.Ending, Mismatch: r.Mismatch, Seq: r.Seq,
	}}, nil
}
