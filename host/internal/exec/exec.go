// Package exec owns one turn of a run: it replays the journal into a fresh guest (Cursor), goes on live
// and records what becomes visible (Recorder), launches effects and activities, suspends the run when
// nothing is left to do in memory, and compares a module with its journal. It never decides which run is
// next and never touches guest memory. Package sched calls it, through host.
package exec

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/checkpoint"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// Clock is the database's clock as this node knows it. It may lag behind the database, never run ahead.
type Clock interface{ Now() time.Time }

// Store is what a turn needs of a journal.
type Store interface {
	Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error)
	Entries(ctx context.Context, t tenant.ID, run journal.RunID, from int64, limit int) ([]journal.Entry, error)
	Arrivals(ctx context.Context, t tenant.ID, run journal.RunID, after int64) ([]journal.Arrival, error)
	Checkpoint(ctx context.Context, t tenant.ID, run journal.RunID) (journal.Checkpoint, error)
	Module(ctx context.Context, t tenant.ID, d modules.Digest) (modules.Module, error)
	ModuleBytes(ctx context.Context, t tenant.ID, d modules.Digest) ([]byte, error)
	Alias(ctx context.Context, t tenant.ID, name string) (modules.Alias, error)
}

// Config says how turns are run; every field but Ended is required.
type Config struct {
	Store   Store
	Engine  *sandbox.Engine
	Effects effect.Registry
	Clock   Clock
	// HoldFor is how long a run may wait for a timer in memory.
	HoldFor time.Duration
	// MaxAttempts blocks a run after that many turns in a row that ended with their host.
	MaxAttempts int
	Logger      *slog.Logger
	// Limits are what runs that begin here get; fields that are 0 get their ceilings.
	Limits abi.Limits
	// LogRate bounds the log lines of one turn or attempt in bytes a second; 0 for any number.
	LogRate int64
	// Checkpoints says when runs are written as checkpoints. Zero is never.
	Checkpoints Checkpoints
	// Stage stands in for the world; nil for the world itself.
	Stage Stage
	// Ended is called after a run reached a terminal state or was blocked, in this process. end is the run as it has
	// ended, when that is known whole.
	Ended func(run journal.RunID, end *journal.Run)
}

// program is a compiled module: what a turn enters.
type program interface {
	Prepared() *modules.Prepared
	Run(ctx context.Context, w sandbox.World, export string) sandbox.Ending
	Freezable(export string) error
	Thaw(ctx context.Context, w sandbox.World, f *sandbox.Frozen) sandbox.Ending
}

// Turner runs turns.
type Turner struct {
	cfg  Config
	load func(ctx context.Context, owner tenant.ID, d modules.Digest) (program, error)
	wg   sync.WaitGroup // attempts in flight
	// owned holds the modules that tenants are known to have. What the engine keeps is everybody's, and that
	// another tenant has run a module gives no right to it.
	owned  sync.Map // of ownedModule
	packer *checkpoint.Packer
	counts counts
}

type ownedModule struct {
	owner  tenant.ID
	digest modules.Digest
}

// New makes a turner.
func New(cfg Config) *Turner {
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Ended == nil {
		cfg.Ended = func(journal.RunID, *journal.Run) {}
	}
	t := &Turner{cfg: cfg, packer: checkpoint.NewPacker()}
	t.load = t.module
	return t
}

// Wait returns when no attempt of an effect or activity is in flight, or ctx is done.
func (t *Turner) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { t.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Why an execution stopped without a result. None of them is ever recorded.
var (
	errSuspended = errors.New("suspended")
	errReleased  = errors.New("released: the node is draining")
	errAborted   = errors.New("aborted: the node may not go on")
	errFenced    = errors.New("fenced: another owner has the run")
	errLive      = errors.New("the journal ends here")
)

// fullError says that a journal has no room for another entry.
type fullError struct{ what string }

func (e *fullError) Error() string { return e.what }

// endError says that the run ends at a wait: deadlock, or cancelled without the guest's help.
type endError struct {
	kind    journal.Kind
	payload []byte
}

func (e *endError) Error() string { return "run ended: " + string(e.kind) }

// module finds the compiled form of a digest: in the engine, or by the store's bytes.
// Returns modules.ErrNotFound, or a *modules.RefusedError when the bytes are not the module.
func (t *Turner) module(ctx context.Context, owner tenant.ID, d modules.Digest) (program, error) {
	if err := t.mayUse(ctx, owner, d); err != nil {
		return nil, err
	}
	if m, ok := t.cfg.Engine.Cached(d); ok {
		return m, nil
	}
	b, err := t.cfg.Store.ModuleBytes(ctx, owner, d)
	if err != nil {
		return nil, err
	}
	if got := modules.DigestOf(b); got != d {
		return nil, &modules.RefusedError{Code: "module_corrupt", What: "the stored bytes have another digest: " + string(got), Where: string(d), Fix: "push the module again"}
	}
	p, err := modules.Prepare(ctx, b)
	if err != nil {
		return nil, err
	}
	return t.cfg.Engine.Load(ctx, p)
}

// mayUse returns modules.ErrNotFound for a module that the tenant does not have.
func (t *Turner) mayUse(ctx context.Context, owner tenant.ID, d modules.Digest) error {
	key := ownedModule{owner, d}
	if _, ok := t.owned.Load(key); ok {
		return nil
	}
	if _, err := t.cfg.Store.Module(ctx, owner, d); err != nil {
		return err
	}
	t.owned.Store(key, true)
	return nil
}
