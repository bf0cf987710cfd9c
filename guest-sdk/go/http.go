package reprise

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Header maps names to values. Responses have names in lower case.
type Header map[string]string

// Get finds a value by name, whatever its case.
func (h Header) Get(name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// Request is an HTTP request that the host makes for the guest, to addresses that were granted. The
// host adds an Idempotency-Key header, the same in every attempt of the request, unless Header
// has one.
type Request struct {
	Method string // "": GET, or POST when there is a body
	URL    string
	Header Header
	Body   []byte
	// JSON, when Body is nil and this is not, is sent as the body with content type application/json.
	JSON any
	// Timeout bounds one attempt. 0: 30 s.
	Timeout time.Duration
	// Retry says how attempts are retried that got no response, or one with status 429, 502, 503 or 504.
	// nil: the host's default.
	Retry *Retry
}

// Response is what came back.
type Response struct {
	Status int
	Header Header
	Body   []byte
}

// Err is nil for a status below 400 and otherwise a *Failure with code http_status and the details
// {"status", "body"}, of the body the first 4 KiB. It is worth a retry for 408 and 5xx only.
func (r *Response) Err() error {
	if r.Status < 400 {
		return nil
	}
	const maxBody = 4 << 10
	f := Failf(CodeHTTPStatus, "the server answered with status %d", r.Status)
	f.Details, _ = encode(struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	}{r.Status, string(r.Body[:min(len(r.Body), maxBody)])}) // what is not UTF-8 becomes U+FFFD
	if r.Status < 500 && r.Status != 408 {
		return NonRetryable(f)
	}
	return f
}

// Decode reads a JSON body into v.
func (r *Response) Decode(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("body of the response: %w", err)
	}
	return nil
}

// HTTP makes a request and waits for the response. It fails with ctx.Err() when ctx was done first, and
// with a *Failure when its last attempt got no response or (code http_status) the status 429, 502, 503 or
// 504. Any other status is a response; see Response.Err.
func HTTP(ctx context.Context, r Request) (*Response, error) {
	return StartHTTP(ctx, r).Get(ctx)
}

// StartHTTP is HTTP that returns at once.
func StartHTTP(ctx context.Context, r Request) *Future[*Response] {
	w, err := r.wire()
	if err != nil {
		return &Future[*Response]{settled(err)}
	}
	return StartEffect[*Response](ctx, "http.request", w, EffectOptions{Timeout: r.Timeout, Retry: r.Retry})
}

// wireRequest is the input of http.request; text goes as it is, other bytes as base64.
type wireRequest struct {
	Method     string `json:"method"`
	URL        string `json:"url"`
	Headers    Header `json:"headers,omitempty"`
	Body       string `json:"body,omitempty"`
	BodyBase64 []byte `json:"body_base64,omitempty"`
	TimeoutMS  int64  `json:"timeout_ms,omitempty"`
}

func (r Request) wire() (wireRequest, error) {
	w := wireRequest{Method: r.Method, URL: r.URL, Headers: r.Header, TimeoutMS: milliseconds(r.Timeout)}
	body := r.Body
	if body == nil && r.JSON != nil {
		var err error
		if body, err = encode(r.JSON); err != nil {
			return w, NonRetryable(Failf(CodeInvalidInput, "the body for %s cannot be encoded: %v", r.URL, err))
		}
		if r.Header.Get("Content-Type") == "" {
			w.Headers = Header{"Content-Type": "application/json"}
			for k, v := range r.Header {
				w.Headers[k] = v
			}
		}
	}
	if utf8.Valid(body) {
		w.Body = string(body)
	} else {
		w.BodyBase64 = body
	}
	if w.Method == "" {
		w.Method = "GET"
		if body != nil {
			w.Method = "POST"
		}
	}
	return w, nil
}

// wireResponse is the output of http.request.
type wireResponse struct {
	Status     int    `json:"status"`
	Headers    Header `json:"headers,omitempty"`
	Body       string `json:"body,omitempty"`
	BodyBase64 []byte `json:"body_base64,omitempty"`
}

// UnmarshalJSON reads the output of http.request.
func (r *Response) UnmarshalJSON(b []byte) error {
	var w wireResponse
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*r = Response{Status: w.Status, Header: w.Headers, Body: []byte(w.Body)}
	if w.BodyBase64 != nil {
		r.Body = w.BodyBase64
	}
	return nil
}

// MarshalJSON writes the same form, so that an activity may return a response.
func (r Response) MarshalJSON() ([]byte, error) {
	w := wireResponse{Status: r.Status, Headers: r.Header}
	if utf8.Valid(r.Body) {
		w.Body = string(r.Body)
	} else {
		w.BodyBase64 = r.Body
	}
	return encode(w)
}
