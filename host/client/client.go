// Package client calls a host's HTTP API. It owns the address, the token, retries and the reading of
// problems. It never retries a call that might then act twice. The CLI and tests call it; programs may.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultAddr is where a host listens when nobody says otherwise.
const DefaultAddr = "http://127.0.0.1:7070"

// maxResponse bounds what is read of one response: a page of journal entries of 8 MiB in base64, and more.
const maxResponse = 64 << 20

// Config says whom to call. The zero value calls a local host without a token.
type Config struct {
	// Addr is the host's base URL. Default DefaultAddr.
	Addr string
	// Token is the bearer token. Default none.
	Token string
	// Attempts bounds the attempts of a call that may be repeated. Default 4.
	Attempts int
	// Backoff is the wait after the first failed attempt; it doubles. Default 100ms.
	Backoff time.Duration
	// Transport carries the requests. Default a clone of http.DefaultTransport.
	Transport http.RoundTripper
}

// Client calls one host. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
}

// New makes a client. It does not call yet.
func New(cfg Config) (*Client, error) {
	if cfg.Addr == "" {
		cfg.Addr = DefaultAddr
	}
	if !strings.Contains(cfg.Addr, "://") {
		cfg.Addr = "http://" + cfg.Addr
	}
	u, err := url.Parse(cfg.Addr)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.120q is not an address of the form http://host:port", cfg.Addr)
	}
	cfg.Addr = strings.TrimSuffix(cfg.Addr, "/")
	if cfg.Attempts == 0 {
		cfg.Attempts = 4
	}
	if cfg.Backoff == 0 {
		cfg.Backoff = 100 * time.Millisecond
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &Client{cfg: cfg, http: &http.Client{
		Transport: cfg.Transport,
		// A redirect would carry the token to a place that the user did not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Addr is the base URL that is called.
func (c *Client) Addr() string { return c.cfg.Addr }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call.
type request struct {
	method, path string
	query        url.Values
	contentType  string
	body         []byte
	key          string // Idempotency-Key
	signatures   string // Reprise-Signature
	repeatable   bool   // doing it twice is as doing it once
}

// response is what came back with a status below 300.
type response struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request, again when it may be repeated and the failure was of the connection or the host.
func (c *Client) call(ctx context.Context, r request) (response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := c.send(ctx, r)
		if err == nil || !r.repeatable || attempt >= c.cfg.Attempts || !transient(err) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return resp, err
		case <-time.After(c.cfg.Backoff << (attempt - 1)):
		}
	}
}

func (c *Client) send(ctx context.Context, r request) (response, error) {
	return c.sendAny(ctx, r, 0)
}

// sendAny sends a request once; a response with status also is an answer and not a problem.
func (c *Client) sendAny(ctx context.Context, r request, also int) (response, error) {
	target := c.cfg.Addr + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return response{}, fmt.Errorf("make request: %w", err)
	}
	for name, value := range map[string]string{"Content-Type": r.contentType, "Idempotency-Key": r.key, "Reprise-Signature": r.signatures} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return response{}, &UnreachableError{Addr: c.cfg.Addr, Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return response{}, &UnreachableError{Addr: c.cfg.Addr, Err: err}
	}
	if len(body) > maxResponse {
		return response{}, fmt.Errorf("the response of %s has more than %d bytes", r.path, maxResponse)
	}
	if resp.StatusCode >= 300 && resp.StatusCode != also {
		return response{}, readProblem(resp.StatusCode, body)
	}
	return response{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// get calls a path and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return decode[T](c.call(ctx, request{method: http.MethodGet, path: path, query: query, repeatable: true}))
}

func decode[T any](resp response, err error) (T, error) {
	var v T
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(resp.body, &v); err != nil {
		return v, fmt.Errorf("the answer is not what a Reprise host sends: %w", err)
	}
	return v, nil
}
