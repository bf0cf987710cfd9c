package reprise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Codes that this SDK and the host give; a program's own codes are free text of at most 255 bytes.
const (
	CodeCancelled       = "cancelled"        // the run or the request was cancelled
	CodeTimeout         = "timeout"          // a request or a deadline of the workflow took too long
	CodeHTTPStatus      = "http_status"      // HTTP: the answer's status; details has status and body
	CodeHTTPTimeout     = "http_timeout"     // HTTP: the exchange took too long
	CodePanic           = "panic"            // the workflow's goroutine panicked; details.stack says where
	CodeError           = "error"            // an error that is no *Failure
	CodeInvalidInput    = "invalid_input"    // the input is not what the function takes
	CodeInvalidOutput   = "invalid_output"   // a result that cannot be encoded
	CodeUnknownWorkflow = "unknown_workflow" // the module has no workflow of that name
	CodeUnknownActivity = "unknown_activity" // the module has no activity of that name
)

// ErrCancelled is the cause of a workflow's context when its run is cancelled (see context.Cause).
// It is a context.Canceled, and a *Failure with CodeCancelled is an ErrCancelled.
var ErrCancelled = fmt.Errorf("run is cancelled: %w", context.Canceled)

// Failure is how something failed, on both sides of the host: futures return it, and a workflow or
// activity that returns one (wrapped or not) fails with its code. Its JSON is
// {"code", "message", "retryable"?, "details"?}.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Retryable false ends an activity's attempts; nil leaves it to the retry policy.
	Retryable *bool           `json:"retryable,omitempty"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// Error is the code and the message.
func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Code
	}
	return f.Code + ": " + f.Message
}

// Is makes a cancelled request an ErrCancelled and context.Canceled, and one that took too long a
// context.DeadlineExceeded.
func (f *Failure) Is(target error) bool {
	switch f.Code {
	case CodeCancelled:
		return target == ErrCancelled || target == context.Canceled
	case CodeTimeout, CodeHTTPTimeout:
		return target == context.DeadlineExceeded
	}
	return false
}

// Failf builds a failure with a formatted message.
func Failf(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithDetails returns the failure with details, any JSON value. What cannot be encoded becomes the text of why.
func (f *Failure) WithDetails(v any) *Failure {
	b, err := encode(v)
	if err != nil {
		b, _ = encode(err.Error())
	}
	c := *f
	c.Details = b
	return &c
}

type nonRetryable struct{ error }

func (n nonRetryable) Unwrap() error { return n.error }

// NonRetryable marks an activity's error as not worth another attempt. It keeps the error's text and
// identity. NonRetryable(nil) is nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	return nonRetryable{err}
}

// toFailure gives the failure that a function's error becomes. An error around a *Failure keeps the
// failure's code and details, and its own text.
func toFailure(err error) *Failure {
	var n nonRetryable
	final := errors.As(err, &n)
	if outer, ok := err.(nonRetryable); ok {
		err = outer.error
	}
	f := Failure{Message: err.Error()}
	var inner *Failure
	switch {
	case errors.As(err, &inner):
		f.Code, f.Retryable, f.Details = inner.Code, inner.Retryable, inner.Details
		if error(inner) == err {
			f.Message = inner.Message
		}
	case errors.Is(err, context.Canceled):
		f.Code = CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		f.Code = CodeTimeout
	}
	if f.Code == "" {
		f.Code = CodeError
	}
	if final {
		no := false
		f.Retryable = &no
	}
	return &f
}

// encodeFailure never fails: details that are not JSON are left out.
func encodeFailure(f *Failure) []byte {
	b, err := encode(f)
	if err != nil {
		b, _ = encode(&Failure{Code: f.Code, Message: f.Message, Retryable: f.Retryable})
	}
	return b
}

// decodeFailure reads the payload of a handle that did not end well.
func decodeFailure(status int32, payload []byte) *Failure {
	f := &Failure{}
	if err := json.Unmarshal(payload, f); err != nil || f.Code == "" {
		f = &Failure{Code: CodeError, Message: string(payload)}
		switch status {
		case statusCancelled:
			f.Code = CodeCancelled
		case statusTimedOut:
			f.Code = CodeTimeout
		}
	}
	return f
}
