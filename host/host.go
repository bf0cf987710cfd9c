// Package host runs durable workflows: it is the embedding API. It owns the use cases (start, signal,
// cancel, push, replay, ...) and the life of a node: New, Start, Stop. It speaks to a journal.Store, to
// effect handlers, and to its internal packages sandbox (wasm), exec (one turn) and sched (who runs
// what). It never serves HTTP and never opens a database; cmd/host wires those.
package host

import (
	"log/slog"
	"time"

	"reprise/host/effect"
	"reprise/journal"
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
	// MaxRunning bounds the runs that this node owns at once. Default 256.
	MaxRunning int
	// HoldFor is how long a run may wait for a timer in memory before it is suspended. Default 1s.
	HoldFor time.Duration
	// MaxAttempts blocks a run whose turns ended that many times in a row with the death of the host. Default 5.
	MaxAttempts int
	// DrainTimeout bounds how long Stop lets effects in flight finish before it gives runs back. Default 10s.
	DrainTimeout time.Duration
	// Effects are the effects that guests may use. Default none.
	Effects effect.Registry
	// CacheDir keeps compiled modules between restarts; it is made with mode 0700. Default: memory only.
	CacheDir string
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
	if c.Name == "" {
		c.Name = "node"
	}
	if c.MaxRunning == 0 {
		c.MaxRunning = 256
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 5
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
