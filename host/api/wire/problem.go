package wire

import (
	"encoding/json"
	"net/http"
)

// Problem is the body of every error, as RFC 9457 describes it, with fields of our own. Code is the
// field to decide by; docs/ERRORS.md lists every one.
type Problem struct {
	Type      string `json:"type" doc:"urn:reprise:error: and the code"`
	Title     string `json:"title" doc:"What the code means"`
	Status    int    `json:"status" doc:"HTTP status"`
	Code      string `json:"code" doc:"Stable word, see docs/ERRORS.md"`
	Detail    string `json:"detail,omitempty" doc:"What is wrong this time"`
	Where     string `json:"where,omitempty" doc:"Where it is wrong"`
	Fix       string `json:"fix,omitempty" doc:"How to mend it"`
	Retryable bool   `json:"retryable" doc:"The same request may succeed later"`
	RunID     string `json:"run_id,omitempty" doc:"Run that the error is about"`
	RequestID string `json:"request_id,omitempty" doc:"What to look for in the host's log"`
	// State and Failure are of a result that is not an output.
	State         string          `json:"state,omitempty" doc:"State of the run, of a result that is not an output"`
	Failure       json.RawMessage `json:"failure,omitempty" doc:"How the run failed, of a result that is not an output"`
	FailureBase64 []byte          `json:"failure_base64,omitempty"`
}

// Error is the one-line form.
func (p *Problem) Error() string {
	s := p.Detail
	if s == "" {
		s = p.Title
	}
	if p.Where != "" {
		s += " (" + p.Where + ")"
	}
	return s
}

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the media type of a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders are the headers that go with the problem: when to come again.
func (p *Problem) GetHeaders() http.Header {
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		return http.Header{"Retry-After": {"1"}}
	}
	return nil
}
