package host

import "fmt"

// ErrorKind is the class of an error that a caller is told: it decides the HTTP status and the CLI's
// exit code.
type ErrorKind string

// The classes.
const (
	Invalid     ErrorKind = "invalid"     // the request is wrong: 400 or 422, exit 1
	Forbidden   ErrorKind = "forbidden"   // 403, exit 5
	NotFound    ErrorKind = "not_found"   // 404, exit 3
	Conflict    ErrorKind = "conflict"    // 409, exit 4
	TooLarge    ErrorKind = "too_large"   // 413, exit 1
	Quota       ErrorKind = "quota"       // 429, exit 6
	Unavailable ErrorKind = "unavailable" // 503, exit 6
	Damaged     ErrorKind = "damaged"     // what is stored cannot be read: 500, exit 1
)

// Error is what a use case tells its caller: what is wrong, where, and how to mend it.
type Error struct {
	Kind  ErrorKind
	Code  string // stable word, for example "run_not_found"; docs/ERRORS.md lists them
	What  string
	Where string
	Fix   string
	Err   error // the cause, for errors.Is; may be nil
}

// Error is the one-line form.
func (e *Error) Error() string {
	s := e.What
	if e.Where != "" {
		s = fmt.Sprintf("%s (%s)", s, e.Where)
	}
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
