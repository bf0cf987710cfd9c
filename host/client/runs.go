package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reprise/host/api/wire"
)

// StartRun asks for a run.
type StartRun struct {
	Workflow string
	Entry    string
	Input    []byte // sent byte for byte
	Key      string
	// IdempotencyKey makes a repeat return the run of the first. Default a new random one, so that the
	// client's own repeats never start two.
	IdempotencyKey string
}

// startBody is the body of a start; the input goes as base64, which no layer can re-encode.
type startBody struct {
	Workflow    string `json:"workflow"`
	Entry       string `json:"entry,omitempty"`
	Key         string `json:"key,omitempty"`
	InputBase64 []byte `json:"input_base64,omitempty"`
}

func newKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// StartRun starts a run. Existing is true in the answer when an earlier request with the same key did.
func (c *Client) StartRun(ctx context.Context, s StartRun) (wire.Run, error) {
	if s.IdempotencyKey == "" {
		s.IdempotencyKey = newKey()
	}
	body, err := wire.Marshal(startBody{Workflow: s.Workflow, Entry: s.Entry, Key: s.Key, InputBase64: s.Input})
	if err != nil {
		return wire.Run{}, err
	}
	return decode[wire.Run](c.call(ctx, request{
		method: http.MethodPost, path: "/v1/runs", contentType: "application/json", body: body, key: s.IdempotencyKey, repeatable: true,
	}))
}

// Run returns a run with what it publishes.
func (c *Client) Run(ctx context.Context, id string) (wire.Run, error) {
	return get[wire.Run](ctx, c, runPath(id, ""), nil)
}

// Filter selects runs; zero fields select all.
type Filter struct {
	State, Workflow, Key string
	Limit                int
	Cursor               string
}

// Runs returns one page of runs, newest first.
func (c *Client) Runs(ctx context.Context, f Filter) (wire.Runs, error) {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "workflow": f.Workflow, "key": f.Key, "cursor": f.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return get[wire.Runs](ctx, c, "/v1/runs", q)
}

// Journal returns entries from a seq on. Their end has come when none are returned.
func (c *Client) Journal(ctx context.Context, id string, from int64, limit int) (wire.Entries, error) {
	q := url.Values{"from": {strconv.FormatInt(from, 10)}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[wire.Entries](ctx, c, runPath(id, "/journal"), q)
}

// Result is the end of a run, or how far it is.
type Result struct {
	// Done is true when the run has completed.
	Done bool
	// Output is the output, byte for byte, when Done.
	Output []byte
	// Run is the run when it is open.
	Run wire.Run
}

// Result asks for a run's output and lets the host wait for it up to wait, at most 60s. A run that ended
// in another way, or that needs an operator, is an *Error.
func (c *Client) Result(ctx context.Context, id string, wait time.Duration) (Result, error) {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	resp, err := c.call(ctx, request{method: http.MethodGet, path: runPath(id, "/result"), query: q, repeatable: true})
	if err != nil {
		return Result{}, err
	}
	if resp.status == http.StatusOK {
		return Result{Done: true, Output: resp.body}, nil
	}
	run, err := decode[wire.Run](resp, nil)
	return Result{Run: run}, err
}

// waitStep is how long one request of Wait may last: shorter than what proxies cut off.
const waitStep = 25 * time.Second

// Wait returns the output of a run once it has completed. timeout 0 waits as long as ctx lives; when it
// passes, the error is ErrStillOpen.
func (c *Client) Wait(ctx context.Context, id string, timeout time.Duration) ([]byte, error) {
	start := time.Now()
	for {
		step := waitStep
		if timeout > 0 {
			step = max(0, min(step, timeout-time.Since(start)))
		}
		asked := time.Now()
		r, err := c.Result(ctx, id, step.Round(time.Millisecond))
		if err != nil || r.Done {
			return r.Output, err
		}
		if timeout > 0 && time.Since(start) >= timeout {
			return nil, fmt.Errorf("run %s is %s: %w", id, r.Run.State, ErrStillOpen)
		}
		// A host that stops answers at once; asking it without a pause would be a busy loop.
		if time.Since(asked) < step/2 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(c.cfg.Backoff):
			}
		}
	}
}

// Signal sends a signal. id makes it idempotent; "" is a new random one.
func (c *Client) Signal(ctx context.Context, run, name, id string, payload []byte) (wire.Signal, error) {
	if id == "" {
		id = newKey()
	}
	return decode[wire.Signal](c.call(ctx, request{
		method: http.MethodPost, path: runPath(run, "/signals/"+url.PathEscape(name)),
		contentType: "application/octet-stream", body: payload, key: id, repeatable: true,
	}))
}

// Query asks a copy of an open run and returns its answer, byte for byte. That the query function failed is an *Error.
func (c *Client) Query(ctx context.Context, run, name string, input []byte) ([]byte, error) {
	resp, err := c.call(ctx, request{
		method: http.MethodPost, path: runPath(run, "/queries/"+url.PathEscape(name)), contentType: "application/octet-stream", body: input, repeatable: true,
	})
	return resp.body, err
}

// Fork says what a copy of a run takes over.
type Fork struct {
	// At is the seq of the last entry that it has; negative for all but the run's end.
	At int64
	// Key is your name for the copy; may be empty.
	Key string
	// IdempotencyKey makes a repeated request return the copy of the first; "" is a new random one.
	IdempotencyKey string
}

// Fork starts a copy of a run.
func (c *Client) Fork(ctx context.Context, id string, f Fork) (wire.Run, error) {
	if f.IdempotencyKey == "" {
		f.IdempotencyKey = newKey()
	}
	var at *int64
	if f.At >= 0 {
		at = &f.At
	}
	body, err := wire.Marshal(struct {
		At  *int64 `json:"at,omitempty"`
		Key string `json:"key,omitempty"`
	}{at, f.Key})
	if err != nil {
		return wire.Run{}, err
	}
	return decode[wire.Run](c.call(ctx, request{
		method: http.MethodPost, path: runPath(id, "/fork"), contentType: "application/json", body: body, key: f.IdempotencyKey, repeatable: true,
	}))
}

// Cancel asks a run to end.
func (c *Client) Cancel(ctx context.Context, id, reason string) (wire.Run, error) {
	body, err := wire.Marshal(struct {
		Reason string `json:"reason,omitempty"`
	}{reason})
	if err != nil {
		return wire.Run{}, err
	}
	return decode[wire.Run](c.call(ctx, request{
		method: http.MethodPost, path: runPath(id, "/cancel"), contentType: "application/json", body: body, repeatable: true,
	}))
}

// Resume lets a blocked or paused run go on. It is not repeated: the second would be refused.
func (c *Client) Resume(ctx context.Context, id string) (wire.Run, error) {
	return decode[wire.Run](c.call(ctx, request{method: http.MethodPost, path: runPath(id, "/resume")}))
}

// Delete removes a run that has ended. It is not repeated: the second would not find it.
func (c *Client) Delete(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: runPath(id, "")})
	return err
}

// Replay replays a run against its own module, or another when digest is not empty.
func (c *Client) Replay(ctx context.Context, id, digest string) (wire.Replay, error) {
	body, err := wire.Marshal(struct {
		Digest string `json:"digest,omitempty"`
	}{digest})
	if err != nil {
		return wire.Replay{}, err
	}
	return decode[wire.Replay](c.call(ctx, request{
		method: http.MethodPost, path: runPath(id, "/replay"), contentType: "application/json", body: body, repeatable: true,
	}))
}

func runPath(id, rest string) string { return "/v1/runs/" + url.PathEscape(id) + rest }
