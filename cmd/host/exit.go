package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"reprise/guest-sdk/project"
	"reprise/host/api/wire"
	"reprise/host/client"
	"reprise/journal"
	"reprise/modules"
)

// Exit codes; docs/CLI.md lists them.
const (
	exitOK          = 0
	exitGeneral     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitForbidden   = 5
	exitUnreachable = 6
	exitStillOpen   = 7
	exitFailed      = 10
	exitCancelled   = 11
	exitTerminated  = 12
	exitBlocked     = 13
	exitMismatch    = 14
	exitInterrupted = 130
)

// errNoCommand is for a call without any argument.
var errNoCommand = errors.New("no command")

// usageError is a command line that cannot be understood.
type usageError struct{ command, what string }

func (e *usageError) Error() string { return e.what }

// exitError gives an error a code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitCode is the code of an error that a command returned.
func exitCode(err error) int {
	var own *exitError
	var told *client.Error
	var unreachable *client.UnreachableError
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.Is(err, client.ErrStillOpen):
		return exitStillOpen
	case errors.As(err, &unreachable):
		return exitUnreachable
	case errors.As(err, &told):
		return problemCode(told)
	}
	return exitGeneral
}

func problemCode(e *client.Error) int {
	if e.State != "" {
		return stateCode(journal.State(e.State))
	}
	switch e.Status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict:
		return exitConflict
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitForbidden
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnreachable
	}
	return exitGeneral
}

// stateCode is the code for a run that has no output.
func stateCode(s journal.State) int {
	switch s {
	case journal.Failed, journal.TimedOut:
		return exitFailed
	case journal.Cancelled:
		return exitCancelled
	case journal.Terminated:
		return exitTerminated
	case journal.Blocked, journal.Paused:
		return exitBlocked
	}
	return exitGeneral
}

// Bounds of the text of an error and of what stands below it, in characters: a path in it may be of any length. All
// of it stays below 4 KiB of plain text.
const (
	maxTold  = 1500
	maxBelow = 500
)

// tell writes an error for people: what, where, how to mend it.
func tell(w io.Writer, err error) {
	var told *client.Error
	var refused *modules.RefusedError
	var program *project.Error
	if errors.As(err, &program) {
		fmt.Fprintf(w, "reprise: %s\n", shorten(clean(program.What), maxTold))
		below(w, [2]string{"at", program.Where}, [2]string{"fix", program.Fix})
		return
	}
	if errors.As(err, &refused) { // without a host
		told = &client.Error{Problem: wire.Problem{Code: refused.Code, Detail: refused.What, Where: refused.Where, Fix: refused.Fix}}
	} else if !errors.As(err, &told) {
		fmt.Fprintf(w, "reprise: %s\n", shorten(clean(err.Error()), maxTold))
		if hint := hintFor(err); hint != "" {
			fmt.Fprintf(w, "  fix  %s\n", hint)
		}
		return
	}
	what := told.Detail
	if what == "" {
		what = told.Title
	}
	fmt.Fprintf(w, "reprise: %s [%s]\n", shorten(clean(what), maxTold), shorten(clean(told.Code), maxBelow))
	below(w, [2]string{"run", told.RunID}, [2]string{"at", told.Where}, [2]string{"fix", told.Fix}, [2]string{"id", told.RequestID})
}

// below writes what stands below the text of an error; empty values are left out.
func below(w io.Writer, lines ...[2]string) {
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(w, "  %-4s %s\n", line[0], shorten(clean(line[1]), maxBelow))
		}
	}
}

func hintFor(err error) string {
	var unreachable *client.UnreachableError
	if errors.As(err, &unreachable) {
		return "start a host with reprise dev, or name one with --addr or REPRISE_ADDR"
	}
	var engine *noEngineError
	if errors.As(err, &engine) {
		return "make engine in the sources of reprise writes it to bin/" + engineName + " (needs npm); copy it there, or name it with --engine or REPRISE_ENGINE"
	}
	return ""
}
