package journal

import "context"

// Fork says what a run takes over from another.
type Fork struct {
	// From is the other run, of the same tenant, in any state.
	From RunID
	// Entries is how many of its entries are copied, from the first on; at least 1. None of them is terminal.
	Entries int64
	// Options stand in entry 0 instead of the other run's.
	Options []byte
	// Checkpoint is the new run's; nil for none. It stands at Entries or before.
	Checkpoint *Checkpoint
}

// Forker copies runs.
type Forker interface {
	// Fork stores a new run in state Ready that begins with entries of another: same content and times, Token 0. Its inbox is empty, and nothing
	// is published; it is no run's child, and has the other's Depth, which decides what it may start. Of r it reads what Create reads; Workflow, Digest, Entry and Input are the other run's, and created and the errors are
	// as Create says. Returns also ErrNotFound when the tenant has no such run to copy, and ErrState when that has fewer entries.
	Fork(ctx context.Context, r Run, f Fork) (run Run, created bool, err error)
}
