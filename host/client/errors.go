package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"reprise/host/api/wire"
)

// Error is a problem that the host answered with.
type Error struct {
	wire.Problem
}

// Error is the one-line form.
func (e *Error) Error() string { return e.Problem.Error() }

// UnreachableError says that no answer came.
type UnreachableError struct {
	Addr string
	Err  error
}

// Error is the one-line form.
func (e *UnreachableError) Error() string {
	err := e.Err
	var request *url.Error // it repeats the method and the address
	if errors.As(err, &request) {
		err = request.Err
	}
	return fmt.Sprintf("no answer from %s: %v", e.Addr, err)
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// ErrStillOpen is returned by Wait when the run was still open at the end of the time.
var ErrStillOpen = errors.New("the run is still open")

func readProblem(status int, body []byte) error {
	e := &Error{}
	if err := json.Unmarshal(body, &e.Problem); err != nil || e.Code == "" {
		e.Problem = wire.Problem{Code: "not_a_problem", Title: http.StatusText(status), Detail: fmt.Sprintf("the answer has status %d and is not from a Reprise host", status)}
	}
	e.Status = status
	return e
}

// transient says whether the same call may succeed a moment later.
func transient(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	var u *UnreachableError
	return errors.As(err, &u)
}
