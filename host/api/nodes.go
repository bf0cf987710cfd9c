package api

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"reprise/abi"
	"reprise/host"
	"reprise/host/api/wire"
)

func (h *Handler) nodeRoutes(api huma.API) {
	route(h, api, huma.Operation{
		OperationID: "listNodes", Method: http.MethodGet, Path: "/v1/nodes", Summary: "List nodes", Tags: []string{"host"},
	}, h.listNodes)
	route(h, api, huma.Operation{
		OperationID: "getVersion", Method: http.MethodGet, Path: "/v1/version", Summary: "Say what answers", Tags: []string{"host"},
	}, func(context.Context, *struct{}) (*answer[wire.Version], error) {
		return &answer[wire.Version]{wire.Version{
			Version: h.cfg.Version, Commit: h.cfg.Commit, ABI: abi.Version, Go: runtime.Version(), Time: wire.Time(time.Now()),
		}}, nil
	})
	open := []map[string][]string{}
	route(h, api, huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Summary: "Whether the process lives", Tags: []string{"host"}, Security: open,
	}, func(context.Context, *struct{}) (*answer[wire.Health], error) {
		return &answer[wire.Health]{wire.Health{Status: "ok"}}, nil
	})
	route(h, api, huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Summary: "Whether the host should get traffic", Tags: []string{"host"}, Security: open,
		Responses: map[string]*huma.Response{"503": jsonResponse(api, "It should not; the failed check says why", wire.Health{})},
	}, h.readyz)
}

func (h *Handler) listNodes(ctx context.Context, _ *struct{}) (*answer[wire.Nodes], error) {
	nodes, err := h.cfg.UseCases.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := wire.Nodes{Nodes: []wire.Node{}}
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, wire.Node{
			ID: n.ID, Name: n.Name, StartedAt: wire.Time(n.StartedAt), ExpiresAt: wire.Time(n.ExpiresAt), Live: n.Live, Runs: n.Runs,
		})
	}
	return &answer[wire.Nodes]{out}, nil
}

type healthOutput struct {
	Status int
	Body   wire.Health
}

func (h *Handler) readyz(ctx context.Context, _ *struct{}) (*healthOutput, error) {
	checks := []wire.Check{{Name: "draining", OK: h.draining.Err() == nil}, {Name: "host", OK: true}}
	if !checks[0].OK {
		checks[0].Error = "the host is stopping"
	}
	if err := h.cfg.UseCases.Ready(ctx); err != nil {
		// The route is open to all, so only what the host meant for callers is shown.
		checks[1] = wire.Check{Name: "host", Error: "not ready; the host's log says why"}
		var told *host.Error
		if errors.As(err, &told) {
			checks[1].Error = told.What
		}
		h.cfg.Logger.Warn("not ready", "error", err)
	}
	out := &healthOutput{Status: http.StatusOK, Body: wire.Health{Status: "ok", Checks: checks}}
	if !checks[0].OK || !checks[1].OK {
		out.Status, out.Body.Status = http.StatusServiceUnavailable, "not ready"
	}
	return out, nil
}
