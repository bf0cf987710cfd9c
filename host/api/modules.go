package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"reprise/host/api/wire"
	"reprise/modules"
)

func (h *Handler) moduleRoutes(api huma.API) {
	existed := func() map[string]*huma.Response {
		return map[string]*huma.Response{"200": jsonResponse(api, "The same bytes were there already", wire.Pushed{})}
	}
	wasm := func() *huma.RequestBody {
		return bytesBody("application/wasm", "A core WebAssembly module of at most 8 MiB", true)
	}
	route(h, api, huma.Operation{
		OperationID: "pushModule", Method: http.MethodPut, Path: "/v1/modules/{name}", Summary: "Upload a module and point a workflow name at it", Tags: []string{"modules"},
		DefaultStatus: http.StatusCreated, RequestBody: wasm(), Responses: existed(),
	}, func(ctx context.Context, in *pushNamedInput) (*pushOutput, error) {
		return h.push(ctx, &in.body, in.Digest, in.Name)
	})
	route(h, api, huma.Operation{
		OperationID: "uploadModule", Method: http.MethodPost, Path: "/v1/modules", Summary: "Upload a module without a name", Tags: []string{"modules"},
		DefaultStatus: http.StatusCreated, RequestBody: wasm(), Responses: existed(),
	}, func(ctx context.Context, in *pushInput) (*pushOutput, error) {
		return h.push(ctx, &in.body, in.Digest, "")
	})
	route(h, api, huma.Operation{
		OperationID: "listModules", Method: http.MethodGet, Path: "/v1/modules", Summary: "List modules", Tags: []string{"modules"},
	}, h.listModules)
	route(h, api, huma.Operation{
		OperationID: "getModule", Method: http.MethodGet, Path: "/v1/modules/{ref}", Summary: "Show a module", Tags: []string{"modules"},
	}, h.getModule)
}

// signatureHeader carries the signatures of an upload. The inputs describe it; push reads it.
const signatureHeader = "Reprise-Signature"

type pushInput struct {
	body
	Digest    string `query:"digest" doc:"Refuse other bytes than these: sha256: and 64 hex digits"`
	Signature string `header:"Reprise-Signature" doc:"What reprise module sign wrote; several are separated by commas. Needed when the host trusts keys, see docs/MODULES.md"`
}

type pushNamedInput struct {
	body
	Name      string `path:"name" doc:"Workflow name"`
	Digest    string `query:"digest" doc:"Refuse other bytes than these: sha256: and 64 hex digits"`
	Signature string `header:"Reprise-Signature" doc:"What reprise module sign wrote; several are separated by commas. Needed when the host trusts keys, see docs/MODULES.md"`
}

type pushOutput struct {
	Status int
	Body   wire.Pushed
}

func (h *Handler) push(ctx context.Context, in *body, expected, name string) (*pushOutput, error) {
	expect, err := digest("query.digest", expected)
	if err != nil {
		return nil, err
	}
	r, _ := humago.Unwrap(in.ctx) // the header may stand there more than once
	sigs, err := modules.ParseSignatures(strings.Join(r.Header.Values(signatureHeader), ","))
	if err != nil {
		return nil, err
	}
	if err := in.acceptable(MaxModule, "application/wasm", "application/octet-stream"); err != nil {
		return nil, err
	}
	leave, err := h.enterIntake(in)
	if err != nil {
		return nil, err
	}
	defer leave()
	bytes, err := in.take(MaxModule)
	if err != nil {
		return nil, err
	}
	pushed, err := h.cfg.UseCases.PushModule(ctx, callOf(ctx).tenant, name, bytes, expect, sigs...)
	if err != nil {
		return nil, err
	}
	out := &pushOutput{Status: http.StatusOK, Body: viewPushed(pushed)}
	if pushed.Created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (h *Handler) listModules(ctx context.Context, _ *struct{}) (*answer[wire.Modules], error) {
	views, err := h.cfg.UseCases.Modules(ctx, callOf(ctx).tenant)
	if err != nil {
		return nil, err
	}
	out := wire.Modules{Modules: []wire.Module{}}
	for _, v := range views {
		out.Modules = append(out.Modules, viewModule(v))
	}
	return &answer[wire.Modules]{out}, nil
}

func (h *Handler) getModule(ctx context.Context, in *struct {
	Ref string `path:"ref" doc:"Workflow name or digest"`
}) (*answer[wire.Module], error) {
	if err := checkText("path.ref", in.Ref); err != nil {
		return nil, err
	}
	v, err := h.cfg.UseCases.Module(ctx, callOf(ctx).tenant, in.Ref)
	if err != nil {
		return nil, err
	}
	return &answer[wire.Module]{viewModule(v)}, nil
}
