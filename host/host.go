// Package host runs durable workflows: it is the embedding API. It owns the use cases (start, signal,
// cancel, push, replay, ...) and the life of a node: New, Start, Stop. It speaks to a journal.Store, to
// effect handlers, and to its internal packages sandbox (wasm), exec (one turn) and sched (who runs
// what). It never serves HTTP and never opens a database; cmd/host wires those.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/exec"
	"reprise/host/internal/gate"
	"reprise/host/internal/prune"
	"reprise/host/internal/sandbox"
	"reprise/host/internal/sched"
	"reprise/journal"
	"reprise/modules"
)

// Config says how a host runs. Store is required; every other zero value is a documented default.
type Config struct {
	// Store is the journal. The host does not close it.
	Store journal.Store
	// Name is the node's name, the same after a restart, different from other live nodes'. Default "node".
	Name string
	// LeaseTTL bounds how long a dead node keeps its runs. Default 15s.
	LeaseTTL time.Duration
	// Poll is how often the store is asked for due work when no hint comes. Default 1s.
	Poll time.Duration
	// MaxRunning bounds the runs that this node owns at once. Default 1,024: a run costs little but its guest's
	// memory, which has a bound of its own.
	MaxRunning int
	// MaxRunningPerTenant bounds those of one tenant, so that there is room for another's. Default three quarters of
	// MaxRunning, at least 1.
	MaxRunningPerTenant int
	// HoldFor is how long a run may wait for a timer in memory before it is suspended. Default 1s.
	HoldFor time.Duration
	// MaxAttempts blocks a run whose turns ended that many times in a row with the death of the host. Default 5.
	MaxAttempts int
	// DrainTimeout bounds how long Stop lets effects in flight finish before it gives runs back. Default 10s.
	DrainTimeout time.Duration
	// Effects are the effects that guests may use. Default none.
	Effects effect.Registry
	// Memory is how many bytes all guests may take together; who asks for more waits, or begins again when there is
	// room. Default: half of what the machine, or this process's control group, has.
	Memory int64
	// CacheDir keeps compiled modules between restarts; it is made with mode 0700. Default: memory only.
	CacheDir string
	// Compiler is a command that compiles a module in a process of its own: it calls CompileModule with its last
	// two arguments, which are added here, and its standard input. SelfCompiler names this program.
	// Default: compile in this process, which a hostile module can then stall or kill.
	Compiler []string
	// Interpreted are modules that this node runs by interpreter, some tens of times slower, because the compiler gets them
	// wrong, say. A run whose calls are nested deeper than the interpreter has room for is blocked. Default: none.
	Interpreted []modules.Digest
	// Trust says whose signatures pushed modules need. Default: none are needed.
	Trust modules.Trust
	// MaxPreparing bounds the modules that are checked, rewritten and compiled at once after an upload; one tenant
	// gets half of it. Default one a processor, at least 2.
	MaxPreparing int
	// Limits bound each run that begins here, within the ceilings of package abi. A run keeps the limits that it began
	// with, on every host. Fields that are 0 get their ceilings.
	Limits abi.Limits
	// LogRate bounds the log lines of one run, or attempt of an activity, in bytes a second; what comes faster is dropped
	// and counted. Default 64 KiB; negative for no bound.
	LogRate int64
	// CheckpointEvery is how many entries a run goes on from its begin, or its last checkpoint, before it is written as a
	// checkpoint when it is suspended, so that it need not be replayed. Default 100; negative for never.
	CheckpointEvery int64
	// CheckpointVerify replays beside one of so many runs that go on from a checkpoint, and compares. Default 64; negative
	// for none.
	CheckpointVerify int64
	// Retention says how long finished runs are kept after they ended. Their ids, keys and idempotency keys are free then.
	// Default: for ever.
	Retention journal.Retention
	// PruneEvery is about how often what is not kept any longer is removed: runs, the rows of removed runs, payloads that nothing names.
	// Default 1m.
	PruneEvery time.Duration
	// Restored says that the journal was restored from a backup, or is a copy: its open runs have gone on since then, and would do
	// again what they did. Start then ends every node's registration and pauses every run that is ready, running or waiting, of all
	// tenants, before it claims anything; each goes on when it is resumed. Every Start does so: set it once, on one node, while no other runs.
	Restored bool
	// Logger gets what the host and its guests say. Default: discard.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.LeaseTTL, 15*time.Second)
	def(&c.Poll, time.Second)
	def(&c.HoldFor, time.Second)
	def(&c.DrainTimeout, 10*time.Second)
	def(&c.PruneEvery, time.Minute)
	if c.Name == "" {
		c.Name = "node"
	}
	if c.MaxRunning == 0 {
		c.MaxRunning = 1024
	}
	if c.MaxRunningPerTenant == 0 {
		c.MaxRunningPerTenant = max(c.MaxRunning*3/4, 1)
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 5
	}
	if c.CheckpointEvery == 0 {
		c.CheckpointEvery = 100
	}
	if c.CheckpointVerify == 0 {
		c.CheckpointVerify = 64
	}
	if c.MaxPreparing < 1 {
		c.MaxPreparing = max(2, runtime.GOMAXPROCS(0))
	}
	c.Limits = c.Limits.WithDefaults()
	if c.LogRate == 0 {
		c.LogRate = 64 << 10 // of 256 runs that all write without end 16 MiB a second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Host is one node.
type Host struct {
	cfg       Config
	engine    *sandbox.Engine // runs guests
	preparing *gate.Gate      // of modules that are pushed
	asking    *gate.Gate      // of queries
	turner    *exec.Turner
	sched     *sched.Dispatcher
	pruner    *prune.Pruner
	ended     *broadcast
	known     known
	held      int // by Start
	stopOnce  sync.Once
	stopErr   error
}

var _ UseCases = (*Host)(nil)

// New makes a host. It touches nothing until Start, except the compile cache's folder.
func New(cfg Config) (*Host, error) {
	if cfg.Store == nil {
		return nil, errors.New("host: Config.Store is required")
	}
	cfg = cfg.withDefaults()
	if err := cfg.Limits.Check(); err != nil {
		return nil, fmt.Errorf("host: Config.Limits: %w", err)
	}
	if r := cfg.Retention; min(r.Completed, r.Failed, r.Cancelled, cfg.PruneEvery) < 0 {
		return nil, errors.New("host: Config.Retention or PruneEvery is negative")
	}
	for _, d := range cfg.Interpreted {
		if _, err := modules.ParseDigest(string(d)); err != nil {
			return nil, fmt.Errorf("host: Config.Interpreted: %w", err)
		}
		cfg.Logger.Info("the module is run by interpreter", "module", d.Short())
	}
	ctx := context.Background()
	engine, err := newEngine(ctx, cfg)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, engine: engine, preparing: newPreparing(cfg.MaxPreparing), asking: newAsking(max(2, 2*runtime.GOMAXPROCS(0))), ended: newBroadcast()}
	clock := &sched.Clock{}
	h.turner = exec.New(exec.Config{Store: cfg.Store, Engine: engine, Effects: cfg.Effects, Clock: clock, HoldFor: cfg.HoldFor,
		MaxAttempts: cfg.MaxAttempts, Limits: cfg.Limits, LogRate: max(0, cfg.LogRate), Logger: cfg.Logger, Ended: h.ended.tell,
		Checkpoints: exec.Checkpoints{Every: max(0, cfg.CheckpointEvery), Verify: max(0, cfg.CheckpointVerify)}})
	h.sched = sched.New(sched.Config{Store: cfg.Store, Name: cfg.Name, LeaseTTL: cfg.LeaseTTL, Poll: cfg.Poll, MaxRunning: cfg.MaxRunning, MaxPerTenant: cfg.MaxRunningPerTenant,
		DrainTimeout: cfg.DrainTimeout, Logger: cfg.Logger, Clock: clock, Open: func(c journal.Claim) sched.Turn { return h.turner.Open(c) }})
	h.pruner = prune.New(prune.Config{Store: cfg.Store, Retention: cfg.Retention, Every: cfg.PruneEvery, Logger: cfg.Logger})
	return h, nil
}

// Start registers the node and begins to run what is due. After an error the host is unusable.
func (h *Host) Start(ctx context.Context) error {
	if h.cfg.Restored {
		if err := h.hold(ctx); err != nil {
			return err
		}
	}
	if err := h.sched.Start(ctx); err != nil {
		return err
	}
	h.pruner.Start(ctx)
	return nil
}

// Stop drains the node: readiness turns false, nothing new is claimed, waiting runs are given back at once,
// effects in flight get DrainTimeout. It returns when all is given back, or an error when ctx was done
// before. Calling it again returns the first answer.
func (h *Host) Stop(ctx context.Context) error {
	h.stopOnce.Do(func() {
		h.pruner.Stop()
		err := h.sched.Stop(ctx)
		wctx, cancel := context.WithTimeout(ctx, h.cfg.DrainTimeout)
		h.turner.Wait(wctx)
		cancel()
		h.tellCheckpoints()
		h.stopErr = errors.Join(err, h.engine.Close(context.WithoutCancel(ctx)))
	})
	return h.stopErr
}

// Ready says why the host should get no traffic.
func (h *Host) Ready(ctx context.Context) error {
	if err := h.sched.Ready(); err != nil {
		return &Error{Kind: Unavailable, Code: "not_ready", What: "this node takes no work: " + err.Error(), Err: err}
	}
	if _, err := h.cfg.Store.Now(ctx); err != nil {
		return &Error{Kind: Unavailable, Code: "no_database", What: "the database does not answer", Fix: "see the host's log", Err: err}
	}
	return nil
}

// CheckpointCounts is what has become of checkpoints on this node since it was made.
type CheckpointCounts = exec.Counts

// Checkpoints returns the counts, for metrics.
func (h *Host) Checkpoints() CheckpointCounts { return h.turner.Counts() }

// tellCheckpoints says once what became of checkpoints, when there were any.
func (h *Host) tellCheckpoints() {
	c := h.turner.Counts()
	if c.Written+c.Thawed+c.Evicted+c.Queries+c.Forked == 0 && len(c.Fallbacks) == 0 {
		return
	}
	h.cfg.Logger.Info("checkpoints", "written", c.Written, "written_bytes", c.WrittenBytes, "freezing", c.Freezing, "thawed", c.Thawed, "thawed_bytes", c.ThawedBytes,
		"opening", c.Opening, "entries_skipped", c.Skipped, "verified", c.Verified, "different", c.Different, "verifying", c.Verifying, "evicted", c.Evicted,
		"evicted_bytes", c.EvictedBytes, "returned", c.Returned, "queries", c.Queries, "asking", c.Asking, "forked", c.Forked, "forked_thawed", c.ForkedThawed, "fallbacks", c.Fallbacks)
}

// Nodes lists the hosts that share the journal.
func (h *Host) Nodes(ctx context.Context) ([]journal.Node, error) { return h.cfg.Store.ListNodes(ctx) }
