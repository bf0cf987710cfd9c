// Package api serves a host's use cases as JSON over HTTP. It owns routes, authentication, body limits,
// the forms of errors and the OpenAPI description. It never decides anything about a run and never
// opens a database; cmd/host gives it a host.UseCases and serves the Handler.
//
// The tenant comes from the bearer token and from nothing else: no path, query or body can name one.
// Payloads are bytes and are not re-encoded in either direction.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"reprise/host"
	"reprise/host/api/wire"
	"reprise/host/internal/gate"
	"reprise/modules"
	"reprise/tenant"
)

// Limits of the API.
const (
	// MaxModule bounds an uploaded module in bytes.
	MaxModule = modules.MaxSize
	// MaxWait bounds how long one request may wait for a run.
	MaxWait = 60 * time.Second
	// bodyTimeout bounds the arrival of a body: 8 MiB in 60 s is a line of about 1.1 Mbit/s.
	bodyTimeout = 60 * time.Second
)

// Config says what is served. UseCases is required.
type Config struct {
	UseCases host.UseCases
	// Tokens are the bearer tokens that are accepted. None: every call is tenant.Default, and only
	// requests that name a loopback host are answered.
	Tokens tenant.Tokens
	// Version and Commit are told by /v1/version. Default "dev".
	Version, Commit string
	// BodyTimeout bounds how long a request's body may take to arrive. Default 60s.
	BodyTimeout time.Duration
	// UploadBytes bounds the bytes of modules that are read and looked at, of all tenants; one tenant gets an
	// eighth of it, and never less than one module. Default 256 MiB.
	UploadBytes int64
	// UploadWait bounds how long an upload may wait until it is read. Default 30s.
	UploadWait time.Duration
	// Logger gets what went wrong inside. Default: discard.
	Logger *slog.Logger
}

// Handler serves the API.
type Handler struct {
	cfg     Config
	mux     *http.ServeMux
	openapi []byte
	intake  *gate.Gate // before the bodies of modules; weights are bytes
	// draining is done when no request may wait any longer.
	draining context.Context
	drain    context.CancelFunc
}

// New makes the handler.
func New(cfg Config) *Handler {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.BodyTimeout == 0 {
		cfg.BodyTimeout = bodyTimeout
	}
	if cfg.UploadWait == 0 {
		cfg.UploadWait = uploadWait
	}
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), intake: newIntake(cfg.UploadBytes)}
	h.draining, h.drain = context.WithCancel(context.Background())
	api := humago.New(h.mux, h.humaConfig())
	h.runRoutes(api)
	h.runActionRoutes(api)
	h.moduleRoutes(api)
	h.nodeRoutes(api)
	h.openapi = describe(api)
	h.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(h.openapi)
	})
	return h
}

// Drain ends every wait of a request and makes readyz say no; calls go on to be answered.
func (h *Handler) Drain() { h.drain() }

func (h *Handler) humaConfig() huma.Config {
	format := huma.Format{
		Marshal:   writeJSON,
		Unmarshal: func([]byte, any) error { return huma.ErrUnknownContentType }, // bodies are read by readBody
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Reprise", Version: "1",
				Description: "Durable workflows that are WebAssembly modules. Errors are described in docs/ERRORS.md.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "Needed when the host was started with tokens."},
				},
			},
			Security: []map[string][]string{{"token": {}}, {}},
		},
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{h.ownProblems},
	}
}

// route registers one operation. Whatever error its function returns becomes a problem.
func route[I, O any](h *Handler, api huma.API, op huma.Operation, f func(context.Context, *I) (*O, error)) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = problemResponse(api)
	// huma would read a body that it knows of, and decode it; it is told afterwards.
	requestBody := op.RequestBody
	op.RequestBody = nil
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, h.problem(ctx, err)
		}
		return out, nil
	})
	item := api.OpenAPI().Paths[op.Path]
	for _, registered := range []*huma.Operation{item.Post, item.Put} {
		if registered != nil && registered.OperationID == op.OperationID {
			registered.RequestBody = requestBody
		}
	}
}

// answer is a JSON response with the operation's own status.
type answer[T any] struct{ Body T }

func problemResponse(api huma.API) *huma.Response {
	return &huma.Response{
		Description: "A problem, see docs/ERRORS.md",
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: schemaOf(api, wire.Problem{})}},
	}
}

func jsonResponse(api huma.API, description string, v any) *huma.Response {
	return &huma.Response{
		Description: description,
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf(api, v)}},
	}
}

var _ huma.StatusError = (*wire.Problem)(nil)
