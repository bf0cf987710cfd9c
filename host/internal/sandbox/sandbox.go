// Package sandbox owns the guest: it compiles modules, makes instances, binds the imports of the
// contract and of WASI preview 1, reads and writes guest memory, and says how an execution ended. What
// the imports mean is the World's affair: the package never reads a journal, a clock or a store. Package
// exec calls it. Only here is wazero imported.
package sandbox

import (
	"errors"

	"reprise/abi"
)

// OpKind is what a guest asks for.
type OpKind uint8

// The requests that give a handle.
const (
	OpEffect OpKind = iota
	OpActivity
	OpTimer
	OpSignal
	OpChild
)

// Request is one request of a guest. Its bytes are copies that the receiver may keep.
type Request struct {
	Kind    OpKind
	Name    string
	Input   []byte
	Options []byte
	After   int64 // nanoseconds, of a timer; already clamped to 0..abi.MaxDuration
}

// Entry is what an instance is to run.
type Entry struct {
	// Tenant is who the guest computes for; tenants take turns at the processors.
	Tenant string
	Kind   abi.EntryKind
	Name   string
	Input  []byte
	Info   []byte // JSON for info
	Args   []string
	// Limits bound the execution; a field that is 0 is no bound of its own.
	Limits abi.Limits
}

// Poll is what poll_oneoff waits for.
type Poll struct {
	// Timeout is the time in nanoseconds until the earliest clock subscription is due; negative for none.
	Timeout int64
	// Completions says that the completion descriptor is subscribed.
	Completions bool
}

// World is what a guest's imports act on; there is one for each execution, used by one goroutine. A
// method that returns an error stops the guest: the error comes back as Ending.Cause, except a *Misuse,
// which traps.
type World interface {
	Entry() Entry
	// Progress grows with everything that the guest sees.
	Progress() int64
	// Replays says that the next wait is answered from the journal, at once.
	Replays() bool
	// Start takes a request and returns its handle.
	Start(r Request) (int32, error)
	// Wait returns the handles that are done, at most max of them; none after timeout nanoseconds (negative: no limit).
	Wait(handles []int32, timeout int64, max int) ([]int32, error)
	// Poll waits until a completion can be taken with Take, or the timeout has passed.
	Poll(p Poll) (completion, timedOut bool, err error)
	// Completed says whether Take has a handle to give.
	Completed() bool
	// Take returns the next completed handle for the completion descriptor.
	Take() (h int32, ok bool)
	Status(h int32) (abi.Status, error)
	Result(h int32) ([]byte, error)
	Cancel(h int32) error
	Drop(h int32) error
	CancelHandle() int32
	// Now is the guest's wall clock and Monotonic its monotonic clock, in nanoseconds.
	Now() int64
	Monotonic() int64
	Random(p []byte)
	// Log takes one line; source is "log", "stdout" or "stderr".
	Log(level int32, source, line string)
	Publish(key string, value []byte) error
}

// Misuse says that a guest broke the contract; the guest traps with it.
type Misuse struct {
	Function string
	Reason   string
}

// Error is the text that the run's failure carries.
func (m *Misuse) Error() string { return m.Function + ": " + m.Reason }

// Ending says how an execution ended, from the host's own state, never from an exit code alone.
type Ending struct {
	// Cause is the error with which the World stopped the guest; nil when the guest ended itself.
	Cause error
	// Failure is set when the guest failed: it called fail, exited with a status, trapped, or misused the contract.
	Failure *abi.Failure
	// Output is the result of a guest that succeeded, or the input of its successor when Continues is set.
	Output    []byte
	Continues bool
	// Frozen is the instance, when the World asked for that and it could be done.
	Frozen *Frozen
	// Stack is the guest's stack where it stopped, innermost first, for people; may be empty.
	Stack []string
}

var (
	// errStop unwinds a guest whose World said stop. It never leaves this package.
	errStop = errors.New("guest stopped by the host")
	// ErrNoExport says that a module has no such function to run.
	ErrNoExport = errors.New("module has no such export")
)
