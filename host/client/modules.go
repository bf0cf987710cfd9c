package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"reprise/host/api/wire"
)

// PushModule uploads a module and points name at it; an empty name uploads it without one. A digest that is
// not empty guards the upload. signatures are what reprise module sign wrote; a host may need one.
func (c *Client) PushModule(ctx context.Context, name string, wasm []byte, digest string, signatures ...string) (wire.Pushed, error) {
	r := request{signatures: strings.Join(signatures, ","), method: http.MethodPost, path: "/v1/modules", contentType: "application/wasm", body: wasm, repeatable: true}
	if name != "" {
		r.method, r.path = http.MethodPut, "/v1/modules/"+url.PathEscape(name)
	}
	if digest != "" {
		r.query = url.Values{"digest": {digest}}
	}
	return decode[wire.Pushed](c.call(ctx, r))
}

// Modules lists modules, newest first.
func (c *Client) Modules(ctx context.Context) (wire.Modules, error) {
	return get[wire.Modules](ctx, c, "/v1/modules", nil)
}

// Module finds a module by workflow name or digest.
func (c *Client) Module(ctx context.Context, ref string) (wire.Module, error) {
	return get[wire.Module](ctx, c, "/v1/modules/"+url.PathEscape(ref), nil)
}

// Nodes lists nodes that are live or still own runs.
func (c *Client) Nodes(ctx context.Context) (wire.Nodes, error) {
	return get[wire.Nodes](ctx, c, "/v1/nodes", nil)
}

// Version says what answers.
func (c *Client) Version(ctx context.Context) (wire.Version, error) {
	return get[wire.Version](ctx, c, "/v1/version", nil)
}

// Ready asks whether the host should get traffic. A host that is not ready is no error.
func (c *Client) Ready(ctx context.Context) (wire.Health, error) {
	resp, err := c.sendAny(ctx, request{method: http.MethodGet, path: "/readyz"}, http.StatusServiceUnavailable)
	return decode[wire.Health](resp, err)
}
