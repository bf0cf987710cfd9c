package httpeffect

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"reprise/abi"
)

// output is what the guest gets: one JSON object with one of the bodies.
type output struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"` // lower-case names, values joined by ", "
	Body       *string           `json:"body,omitempty"`
	BodyBase64 *string           `json:"body_base64,omitempty"`
}

// maxDetail bounds the part of a body that a failure carries.
const maxDetail = 4 << 10

func (h *handler) response(ctx context.Context, host string, resp *http.Response) ([]byte, error) {
	if resp.StatusCode < 200 {
		return nil, abi.NewFailure(CodeUnreachable, "%.80q answered with status %d, which ends no exchange", host, resp.StatusCode)
	}
	if resp.ContentLength > h.maxResponse && resp.Request.Method != http.MethodHead {
		return nil, tooLarge("the body", h.maxResponse)
	}
	// One byte more than allowed tells a body that is too large from one that just fits.
	body, err := io.ReadAll(io.LimitReader(resp.Body, h.maxResponse+1))
	if err != nil {
		return nil, failed(ctx, host, err)
	}
	if int64(len(body)) > h.maxResponse {
		return nil, tooLarge("the body", h.maxResponse)
	}
	if retryStatus(resp.StatusCode) {
		return nil, statusFailure(host, resp.StatusCode, body)
	}
	return encode(resp, body)
}

func encode(resp *http.Response, body []byte) ([]byte, error) {
	out := output{Status: resp.StatusCode, Headers: make(map[string]string, len(resp.Header))}
	for name, values := range resp.Header {
		out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if utf8.Valid(body) {
		text := string(body)
		out.Body = &text
		// Text that is mostly control characters grows sixfold in JSON; base64 then is the shorter form.
		if b, err := marshal(out); err != nil || len(b) <= abi.MaxPayload {
			return b, err
		}
		out.Body = nil
	}
	text := base64.StdEncoding.EncodeToString(body)
	out.BodyBase64 = &text
	b, err := marshal(out)
	if err == nil && len(b) > abi.MaxPayload {
		return nil, tooLarge("the outcome", abi.MaxPayload)
	}
	return b, err
}

func marshal(out output) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
