package host

import (
	"context"
	"time"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// StartRun asks for a run.
type StartRun struct {
	// Workflow is a workflow name or a digest ("sha256:...").
	Workflow string
	// Entry names the workflow inside the module; empty for its only one, or the one named like Workflow.
	Entry string
	Input []byte
	// Key is the user's name for the run, unique among the tenant's open runs; may be empty.
	Key string
	// IdempotencyKey makes a repeated request return the run of the first; may be empty.
	IdempotencyKey string
}

// ForkRun asks for a copy of a run.
type ForkRun struct {
	// Entries is how many of the run's entries the copy takes over, none of them its end; 0 for all that it has.
	Entries int64
	// Key is the user's name for the copy, unique among the tenant's open runs; may be empty.
	Key string
	// IdempotencyKey makes a repeated request return the copy of the first; may be empty.
	IdempotencyKey string
}

// Pushed is the answer to an upload.
type Pushed struct {
	Module  modules.Module
	Created bool          // false when the tenant had the bytes already
	Alias   modules.Alias // zero when no name was given
	Moved   bool          // whether the name now points elsewhere than before
}

// ModuleView is a module with the names that point at it.
type ModuleView struct {
	Module  modules.Module
	Aliases []modules.Alias // newest steps that point at it
	History []modules.Alias // of the name that was asked for, newest first; nil when asked by digest
}

// RunView is a run with what it publishes.
type RunView struct {
	Run       journal.Run
	Published []journal.Published
	Queued    int // arrivals that the guest has not seen
}

// Replay is the report of replaying a journal without writing.
type Replay struct {
	Run      journal.RunID
	Digest   modules.Digest // module that was replayed
	Entries  int64          // entries that matched
	OK       bool
	Ending   string // how it ended: "completed", "failed", "cancelled", or "live" when the journal ended first
	Mismatch string // the whole message when it did not match
	Seq      int64  // where it did not match
}

// UseCases is what the API offers; *Host implements it. Every error that a caller caused is an *Error.
type UseCases interface {
	StartRun(ctx context.Context, t tenant.ID, req StartRun) (run journal.Run, created bool, err error)
	Run(ctx context.Context, t tenant.ID, id journal.RunID) (RunView, error)
	Runs(ctx context.Context, t tenant.ID, f journal.Filter) (journal.Page, error)
	Journal(ctx context.Context, t tenant.ID, id journal.RunID, from int64, limit int) ([]journal.Entry, error)
	// Result waits up to wait for the run to end and returns it as it is then; an open run is no error.
	Result(ctx context.Context, t tenant.ID, id journal.RunID, wait time.Duration) (journal.Run, error)
	Signal(ctx context.Context, t tenant.ID, id journal.RunID, signalID, name string, payload []byte) (duplicate bool, err error)
	Cancel(ctx context.Context, t tenant.ID, id journal.RunID, reason string) (journal.Run, error)
	Resume(ctx context.Context, t tenant.ID, id journal.RunID) (journal.Run, error)
	// DeleteRun removes a run that has ended, as retention would.
	DeleteRun(ctx context.Context, t tenant.ID, id journal.RunID) error
	// Replay replays a run's journal against its own module, or another when digest is not empty.
	Replay(ctx context.Context, t tenant.ID, id journal.RunID, digest modules.Digest) (Replay, error)
	// Query asks a copy of an open run and changes nothing of the run. The answer is bytes, or the failure that the query came to.
	Query(ctx context.Context, t tenant.ID, id journal.RunID, name string, input []byte) ([]byte, *abi.Failure, error)
	// Fork starts a copy of a run, which goes on by itself behind the entries that it takes over.
	Fork(ctx context.Context, t tenant.ID, id journal.RunID, req ForkRun) (run journal.Run, created bool, err error)
	// PushModule takes a module's bytes; name may be empty (no alias), expect may be empty (no check). One of
	// sigs must vouch for them when the tenant has trusted keys.
	PushModule(ctx context.Context, t tenant.ID, name string, bytes []byte, expect modules.Digest, sigs ...modules.Signature) (Pushed, error)
	Modules(ctx context.Context, t tenant.ID) ([]ModuleView, error)
	// Module finds a module by workflow name or digest.
	Module(ctx context.Context, t tenant.ID, ref string) (ModuleView, error)
	Nodes(ctx context.Context) ([]journal.Node, error)
	// Ready says why the host should get no traffic: nil, or draining, or no database.
	Ready(ctx context.Context) error
}
