package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"reprise/host"
	"reprise/host/api/wire"
	"reprise/journal"
	"reprise/modules"
)

// problemTypePrefix makes a code a URI, as RFC 9457 asks.
const problemTypePrefix = "urn:reprise:error:"

// newProblem fills a problem from the table of codes. A code that is not there, from an embedder's own
// use cases, keeps the given status.
func newProblem(code string, status int) *wire.Problem {
	p := &wire.Problem{Type: problemTypePrefix + code, Code: code, Status: status, Title: http.StatusText(status)}
	if i := slices.IndexFunc(Codes, func(c Code) bool { return c.Code == code }); i >= 0 {
		c := Codes[i]
		p.Status, p.Title, p.Fix, p.Retryable = c.Status, c.Title, c.Fix, c.Retryable
	}
	return p
}

// refuse is an error that this package itself finds.
func refuse(code, detail, where string) *wire.Problem {
	p := newProblem(code, http.StatusBadRequest)
	p.Detail, p.Where = detail, where
	return p
}

// problem makes any error of a use case what its caller is told. What the caller did not cause is logged
// under the request's id and not described.
func (h *Handler) problem(ctx context.Context, err error) *wire.Problem {
	var own *wire.Problem
	var caused *host.Error
	var refused *modules.RefusedError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &caused):
		return fromHost(caused)
	case errors.As(err, &refused):
		p := refuse(refused.Code, refused.What, refused.Where)
		p.Fix = orElse(refused.Fix, p.Fix)
		return p
	case ctx.Err() != nil:
		return newProblem("interrupted", http.StatusServiceUnavailable)
	case errors.Is(err, journal.ErrUnavailable):
		return h.hidden(ctx, err, newProblem("no_database", http.StatusServiceUnavailable), "the database does not answer; the host's log has the cause")
	}
	return h.internal(ctx, err)
}

func (h *Handler) internal(ctx context.Context, err error) *wire.Problem {
	return h.hidden(ctx, err, newProblem("internal", http.StatusInternalServerError), "the host failed; its log has the cause")
}

// hidden logs a cause that is none of the caller's business, under the request's id, which the caller gets.
func (h *Handler) hidden(ctx context.Context, err error, p *wire.Problem, detail string) *wire.Problem {
	id := callOf(ctx).id
	h.cfg.Logger.Error("request failed", "request", id, "error", err)
	p.Detail, p.RequestID = detail, id
	return p
}

func fromHost(e *host.Error) *wire.Problem {
	status := map[host.ErrorKind]int{
		host.Invalid:     http.StatusBadRequest,
		host.Forbidden:   http.StatusForbidden,
		host.NotFound:    http.StatusNotFound,
		host.Conflict:    http.StatusConflict,
		host.TooLarge:    http.StatusRequestEntityTooLarge,
		host.Quota:       http.StatusTooManyRequests,
		host.Unavailable: http.StatusServiceUnavailable,
	}[e.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	p := newProblem(e.Code, status)
	p.Status = status // the kind decides, also when the table is wrong
	p.Retryable = e.Kind == host.Quota || e.Kind == host.Unavailable
	p.Detail, p.Where, p.Fix = e.What, e.Where, orElse(e.Fix, p.Fix)
	return p
}

// about says which run a problem is about.
func about(id fmt.Stringer, p *wire.Problem) *wire.Problem {
	p.RunID = orElse(p.RunID, id.String())
	return p
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// ownProblems replaces the errors that huma itself makes, of parameters and of panics in it.
func (h *Handler) ownProblems(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if m.Status >= http.StatusInternalServerError {
		return h.internal(ctx.Context(), m), nil
	}
	var details, where []string
	for _, e := range m.Errors {
		details, where = append(details, e.Message), append(where, e.Location)
	}
	p := refuse("invalid_parameter", orElse(strings.Join(details, "; "), m.Detail), strings.Join(where, ", "))
	p.Status = m.Status
	return p, nil
}
