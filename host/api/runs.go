package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reprise/abi"
	"reprise/host"
	"reprise/host/api/wire"
	"reprise/journal"
)

// startLimit bounds the body of a start: an input of abi.MaxPayload in base64 (4/3), which is more than
// the same as JSON, and 64 KiB for the other fields.
const startLimit = abi.MaxPayload/3*4 + 64<<10

// startRun documents the body of a start; fields reads it.
type startRun struct {
	Workflow    string          `json:"workflow" doc:"Workflow name or digest"`
	Entry       string          `json:"entry,omitempty" doc:"Workflow inside the module; absent for its only one"`
	Key         string          `json:"key,omitempty" doc:"Your name for the run, unique among open runs"`
	Input       json.RawMessage `json:"input,omitempty" doc:"Any JSON; the guest gets exactly these bytes"`
	InputBase64 []byte          `json:"input_base64,omitempty" doc:"Any bytes, instead of input"`
}

type startInput struct {
	body
	IdempotencyKey string `header:"Idempotency-Key" doc:"Makes a repeated request return the run of the first"`
	Wait           string `query:"wait" doc:"Wait up to this long for the end, for example 30s; at most 60s"`
}

type startOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     wire.Run
}

type runInput struct {
	ID string `path:"id" doc:"Run id"`
}

func (h *Handler) runRoutes(api huma.API) {
	route(h, api, huma.Operation{
		OperationID: "startRun", Method: http.MethodPost, Path: "/v1/runs", Summary: "Start a run", Tags: []string{"runs"},
		DefaultStatus: http.StatusCreated,
		RequestBody:   jsonBody(schemaOf(api, startRun{}), true),
		Responses:     map[string]*huma.Response{"200": jsonResponse(api, "The run of an earlier request with the same Idempotency-Key", wire.Run{})},
	}, h.startRun)
	route(h, api, huma.Operation{
		OperationID: "listRuns", Method: http.MethodGet, Path: "/v1/runs", Summary: "List runs, newest first", Tags: []string{"runs"},
	}, h.listRuns)
	route(h, api, huma.Operation{
		OperationID: "getRun", Method: http.MethodGet, Path: "/v1/runs/{id}", Summary: "Show a run", Tags: []string{"runs"},
	}, h.getRun)
	route(h, api, huma.Operation{
		OperationID: "getJournal", Method: http.MethodGet, Path: "/v1/runs/{id}/journal", Summary: "Read a run's journal", Tags: []string{"runs"},
	}, h.getJournal)
	route(h, api, huma.Operation{
		OperationID: "getResult", Method: http.MethodGet, Path: "/v1/runs/{id}/result", Summary: "Get a run's output", Tags: []string{"runs"},
		Description: "200 and the output's bytes when the run, or the last of those that go on for it, has completed; 202 and the run while it is open; 409 and a problem with the failure when it ended in another way, or needs an operator.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The output, byte for byte: application/json when it is JSON", Content: map[string]*huma.MediaType{
				"application/json": {Schema: &huma.Schema{}}, "application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}},
			"202": jsonResponse(api, "The run is open", wire.Run{}),
		},
	}, h.getResult)
}

func (h *Handler) startRun(ctx context.Context, in *startInput) (*startOutput, error) {
	fields, err := in.fields(startLimit, "workflow", "entry", "key", "input", "input_base64")
	if err != nil {
		return nil, err
	}
	req, err := startRequest(fields)
	if err != nil {
		return nil, err
	}
	req.IdempotencyKey = in.IdempotencyKey
	if err := checkText("header Idempotency-Key", req.IdempotencyKey); err != nil {
		return nil, err
	}
	wait, err := waitFor(in.Wait)
	if err != nil {
		return nil, err
	}
	t := callOf(ctx).tenant
	run, created, err := h.cfg.UseCases.StartRun(ctx, t, req)
	if err != nil {
		p := h.problem(ctx, err)
		if run.ID != (journal.RunID{}) {
			about(run.ID, p)
		}
		return nil, p
	}
	if wait > 0 {
		if run, err = h.result(ctx, run.ID, wait); err != nil {
			return nil, about(run.ID, h.problem(ctx, err))
		}
	}
	out := &startOutput{Status: http.StatusCreated, Location: "/v1/runs/" + run.ID.String(), Body: viewRun(run)}
	if !created {
		out.Status, out.Body.Existing = http.StatusOK, true
	}
	return out, nil
}

func startRequest(fields map[string]json.RawMessage) (host.StartRun, error) {
	var req host.StartRun
	var err error
	for name, to := range map[string]*string{"workflow": &req.Workflow, "entry": &req.Entry, "key": &req.Key} {
		if *to, err = text(fields, name); err != nil {
			return req, err
		}
	}
	if req.Workflow == "" {
		return req, refuse("missing_field", "the field workflow is missing or empty", "body.workflow")
	}
	req.Input, err = inputOf(fields)
	return req, err
}

func inputOf(fields map[string]json.RawMessage) ([]byte, error) {
	raw, isJSON := fields["input"]
	encoded, isBytes := fields["input_base64"]
	input := []byte(raw)
	if isJSON && isBytes {
		return nil, refuse("invalid_field", "there is an input and an input_base64; one is enough", "body")
	}
	if isBytes {
		var s *string
		if err := json.Unmarshal(encoded, &s); err != nil || s == nil {
			return nil, refuse("invalid_field", "the field input_base64 is not a string", "body.input_base64")
		}
		var err error
		if input, err = base64.StdEncoding.DecodeString(*s); err != nil {
			return nil, refuse("invalid_field", fmt.Sprintf("the field input_base64 is not base64: %v", err), "body.input_base64")
		}
	}
	if len(input) > abi.MaxPayload {
		return nil, refuse("payload_too_large", fmt.Sprintf("the input has %d bytes, more than %d", len(input), abi.MaxPayload), "body")
	}
	return input, nil
}

type listInput struct {
	State    string `query:"state" doc:"Only runs in this state"`
	Workflow string `query:"workflow" doc:"Only runs of this workflow"`
	Key      string `query:"key" doc:"Only runs of this key"`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor   string `query:"cursor" maxLength:"1024" doc:"From an earlier page"`
}

func (h *Handler) listRuns(ctx context.Context, in *listInput) (*answer[wire.Runs], error) {
	f := journal.Filter{State: journal.State(in.State), Workflow: in.Workflow, Key: in.Key, Limit: in.Limit, Cursor: in.Cursor}
	if in.State != "" && !f.State.Valid() {
		return nil, refuse("invalid_parameter", fmt.Sprintf("%.40q is not a state; the states are %v", in.State, journal.States), "query.state")
	}
	if err := checkTexts([2]string{"query.workflow", in.Workflow}, [2]string{"query.key", in.Key}); err != nil {
		return nil, err
	}
	page, err := h.cfg.UseCases.Runs(ctx, callOf(ctx).tenant, f)
	if err != nil {
		return nil, err
	}
	out := wire.Runs{Runs: []wire.Run{}, Cursor: page.Cursor}
	for _, r := range page.Runs {
		out.Runs = append(out.Runs, viewRun(r))
	}
	return &answer[wire.Runs]{out}, nil
}

func (h *Handler) getRun(ctx context.Context, in *runInput) (*answer[wire.Run], error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	v, err := h.cfg.UseCases.Run(ctx, callOf(ctx).tenant, id)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	return &answer[wire.Run]{viewWhole(v)}, nil
}

type journalInput struct {
	ID    string `path:"id" doc:"Run id"`
	From  int64  `query:"from" minimum:"0" default:"0" doc:"First seq"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries at most; fewer come when they are large"`
}

func (h *Handler) getJournal(ctx context.Context, in *journalInput) (*answer[wire.Entries], error) {
	id, err := runID(in.ID)
	if err != nil {
		return nil, err
	}
	entries, err := h.cfg.UseCases.Journal(ctx, callOf(ctx).tenant, id, in.From, in.Limit)
	if err != nil {
		return nil, about(id, h.problem(ctx, err))
	}
	out := wire.Entries{Entries: []wire.Entry{}, Next: in.From + int64(len(entries))}
	for _, e := range entries {
		out.Entries = append(out.Entries, viewEntry(e))
	}
	return &answer[wire.Entries]{out}, nil
}

// result waits for a run, no longer than the handler is draining.
func (h *Handler) result(ctx context.Context, id journal.RunID, wait time.Duration) (journal.Run, error) {
	t := callOf(ctx).tenant
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.draining, cancel)()
	run, err := h.cfg.UseCases.Result(waiting, t, id, wait)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return h.cfg.UseCases.Result(ctx, t, id, 0)
	}
	return run, err
}
