package main

import (
	"errors"
	"fmt"
	"testing"

	"reprise/host/api"
	"reprise/host/api/wire"
	"reprise/host/client"
	"reprise/journal"
)

// TestEveryProblemHasAnExitCode fails when a code's status gives an exit code that no table in the docs names.
func TestEveryProblemHasAnExitCode(t *testing.T) {
	want := map[int]int{
		400: exitGeneral, 401: exitForbidden, 403: exitForbidden, 404: exitNotFound, 405: exitGeneral, 408: exitGeneral, 409: exitConflict,
		413: exitGeneral, 415: exitGeneral, 422: exitGeneral, 429: exitUnreachable, 500: exitGeneral, 503: exitUnreachable,
	}
	for _, c := range api.Codes {
		code, known := want[c.Status]
		if got := exitCode(&client.Error{Problem: wire.Problem{Status: c.Status, Code: c.Code}}); !known || got != code {
			t.Errorf("%s with status %d: got exit code %d, want %d (known: %v)", c.Code, c.Status, got, code, known)
		}
	}
}

func TestExitCodesOfStates(t *testing.T) {
	want := map[journal.State]int{
		journal.Failed: exitFailed, journal.TimedOut: exitFailed, journal.Cancelled: exitCancelled, journal.Terminated: exitTerminated,
		journal.Blocked: exitBlocked, journal.Paused: exitBlocked, journal.Continued: exitGeneral,
	}
	for state, code := range want {
		if got := exitCode(&client.Error{Problem: wire.Problem{Status: 409, State: string(state)}}); got != code {
			t.Errorf("%s: got exit code %d, want %d", state, got, code)
		}
	}
}

func TestExitCodesOfErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), exitGeneral},
		{fmt.Errorf("run: %w", client.ErrStillOpen), exitStillOpen},
		{fmt.Errorf("run: %w", &client.UnreachableError{Err: errors.New("x")}), exitUnreachable},
		{&exitError{exitMismatch, errors.New("x")}, exitMismatch},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v: got exit code %d, want %d", tt.err, got, tt.want)
		}
	}
}
