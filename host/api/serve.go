package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"reprise/host/api/wire"
	"reprise/tenant"
)

// call is what a request carries through its context.
type call struct {
	id     string
	tenant tenant.ID
}

type callKey struct{}

func callOf(ctx context.Context) call {
	c, _ := ctx.Value(callKey{}).(call)
	return c
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	c := call{id: hex.EncodeToString(nonce[:])}
	header := w.Header()
	header.Set("X-Request-Id", c.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	ctx := context.WithValue(r.Context(), callKey{}, c)
	defer h.recovered(ctx, w)

	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.cfg.BodyTimeout))
	}
	t, p := h.admit(r)
	if p != nil {
		if p.Status == http.StatusUnauthorized {
			header.Set("WWW-Authenticate", `Bearer realm="reprise"`)
		}
		h.writeProblem(w, p)
		return
	}
	c.tenant = t
	h.route(w, r.WithContext(context.WithValue(ctx, callKey{}, c)))
}

// admit decides whether a request is served, and for whom.
func (h *Handler) admit(r *http.Request) (tenant.ID, *wire.Problem) {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return "", refuse("cross_origin", "a page of another origin sent this request", "header Origin")
	}
	if len(h.cfg.Tokens) == 0 {
		// Without tokens only this machine is trusted. A page that had its own name resolve to a loopback
		// address would reach the listener, but cannot forge the Host header.
		if !loopbackName(r.Host) {
			return "", refuse("foreign_host", fmt.Sprintf("the request is for %.80q; without tokens only loopback names are served", r.Host), "header Host")
		}
		return tenant.Default, nil
	}
	if !strings.HasPrefix(r.URL.Path, "/v1/") {
		return "", nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", refuse("unauthorized", "the request has no bearer token", "header Authorization")
	}
	t, ok := h.cfg.Tokens.Tenant(token)
	if !ok {
		return "", refuse("unauthorized", "the token is not known", "header Authorization")
	}
	return t, nil
}

func loopbackName(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// route serves known routes, and makes the mux's own answers to all others problems.
func (h *Handler) route(w http.ResponseWriter, r *http.Request) {
	// The mux would redirect a path such as /v1//runs; a client that does not follow sees no reason.
	escaped := r.URL.EscapedPath()
	if _, pattern := h.mux.Handler(r); pattern != "" && path.Clean(escaped) == escaped {
		h.mux.ServeHTTP(w, r)
		return
	}
	refused := &discarder{header: http.Header{}}
	if path.Clean(escaped) == escaped {
		h.mux.ServeHTTP(refused, r)
	}
	if refused.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refused.header.Get("Allow"))
		h.writeProblem(w, refuse("method_not_allowed", fmt.Sprintf("%.20q is not a method of this path", r.Method), "method"))
		return
	}
	h.writeProblem(w, refuse("route_not_found", fmt.Sprintf("there is nothing at %.80q", r.URL.Path), "path"))
}

// discarder keeps the status and headers of a response and drops its body.
type discarder struct {
	header http.Header
	status int
}

func (d *discarder) Header() http.Header         { return d.header }
func (d *discarder) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarder) WriteHeader(status int)      { d.status = status }

func (h *Handler) writeProblem(w http.ResponseWriter, p *wire.Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	if err := writeJSON(w, p); err != nil {
		h.cfg.Logger.Error("encode problem", "error", err)
	}
}

// recovered keeps a panic in one request from ending the host. When a part of the response has been
// written, the status that is written here is ignored and the client sees a broken body.
func (h *Handler) recovered(ctx context.Context, w http.ResponseWriter) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	h.writeProblem(w, h.internal(ctx, fmt.Errorf("panic: %v\n%s", v, debug.Stack())))
}
