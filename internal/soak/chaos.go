package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"reprise/internal/pgserver"
)

// chaos does harm until its context is done, and leaves everything running. What it does is drawn from the seed;
// when each thing happens to which run is not.
type chaos struct {
	cfg    Config
	hosts  []*hostProcess
	server *pgserver.Server // nil when it is somebody else's
	points []string         // failpoints of the program, some of which are armed at a start
	rng    *rand.Rand
	say    func(format string, args ...any)

	acts     sync.WaitGroup
	nurses   sync.WaitGroup
	postgres sync.Mutex   // held while the server is down
	down     atomic.Int64 // how often the server went down
	freezes  atomic.Int64
	restarts atomic.Int64

	mu       sync.Mutex
	findings []finding
}

// Pauses between two acts, and how long things stay broken.
const (
	actsMin, actsMax = 300 * time.Millisecond, 2500 * time.Millisecond
	longestDown      = 1500 * time.Millisecond
)

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)+1))
}

// run does harm until ctx is done, then waits until what was broken is whole. Hosts that die of an armed failpoint
// are started again for as long as life is not done; stop waits for that.
func (c *chaos) run(ctx, life context.Context) {
	for _, h := range c.hosts {
		c.nurses.Go(func() { c.nurse(life, h) })
	}
	for ctx.Err() == nil {
		wait(ctx, between(c.rng, actsMin, actsMax))
		if ctx.Err() == nil {
			c.act(life)
		}
	}
	c.acts.Wait()
}

// stop returns when nothing is started any more; the life that run was given is done.
func (c *chaos) stop() { c.nurses.Wait() }

// act begins one act; those of several hosts may overlap.
func (c *chaos) act(life context.Context) {
	h := c.hosts[c.rng.IntN(len(c.hosts))]
	pause := between(c.rng, 0, longestDown)
	point := c.point()
	switch kind := c.rng.IntN(12); {
	case kind < 6, kind < 11 && kind >= 9 && c.server == nil:
		c.acts.Go(func() { c.kill(life, h, pause, point) })
	case kind < 9:
		frozen := between(c.rng, c.cfg.LeaseTTL*5/4, c.cfg.LeaseTTL*2)
		c.acts.Go(func() { c.freeze(life, h, frozen) })
	case kind < 11:
		mode := []pgserver.Mode{pgserver.Fast, pgserver.Immediate}[c.rng.IntN(2)]
		c.acts.Go(func() { c.restart(life, mode, pause) })
	default:
		c.acts.Go(func() { c.drain(life, h, pause, point) })
	}
}

// point is a failpoint to arm at the next start, "" for none.
func (c *chaos) point() string {
	if len(c.points) == 0 || c.rng.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", c.points[c.rng.IntN(len(c.points))], 1+c.rng.IntN(200))
}

func (c *chaos) kill(life context.Context, h *hostProcess, pause time.Duration, point string) {
	h.busy.Lock()
	defer h.busy.Unlock()
	h.kill()
	wait(life, pause)
	c.revive(life, h, point)
}

// drain ends a host as an operator does.
func (c *chaos) drain(life context.Context, h *hostProcess, pause time.Duration, point string) {
	h.busy.Lock()
	defer h.busy.Unlock()
	if exited := h.terminate(); exited != nil {
		limit := time.NewTimer(time.Minute)
		defer limit.Stop()
		select {
		case <-exited:
		case <-life.Done():
		case <-limit.C:
			c.report("host %s does not end a minute after SIGTERM", h.name)
			h.kill()
		}
	}
	wait(life, pause)
	c.revive(life, h, point)
}

func (c *chaos) freeze(life context.Context, h *hostProcess, frozen time.Duration) {
	h.busy.Lock()
	defer h.busy.Unlock()
	p, _ := h.now()
	if p == nil || p.Signal(syscall.SIGSTOP) != nil {
		return
	}
	c.freezes.Add(1)
	wait(life, frozen)
	_ = p.Signal(syscall.SIGCONT)
}

func (c *chaos) restart(life context.Context, mode pgserver.Mode, pause time.Duration) {
	c.postgres.Lock()
	defer c.postgres.Unlock()
	c.down.Add(1)
	if err := c.server.Stop(mode); err != nil {
		c.report("%v", err)
	}
	wait(life, pause)
	// It may still be recovering when pg_ctl gives up waiting.
	var err error
	for range 5 {
		if err = c.server.Start(); err == nil {
			c.restarts.Add(1)
			c.down.Add(1)
			return
		}
	}
	c.report("%v", err)
}

// revive starts a host until it serves. The caller holds h.busy.
func (c *chaos) revive(life context.Context, h *hostProcess, point string) {
	for life.Err() == nil {
		down := c.down.Load()
		before, _ := h.deaths()
		err := h.start(life, point)
		if err == nil || life.Err() != nil {
			return
		}
		if !errors.Is(err, errGone) {
			c.report("host %s: %v", h.name, err)
			wait(life, time.Second)
			continue
		}
		if kills, _ := h.deaths(); kills == before && down == c.down.Load() && down%2 == 0 {
			c.report("host %s does not start although its database serves", h.name)
		}
		point = ""
		wait(life, callPause)
	}
}

// nurse starts a host again that died by a failpoint.
func (c *chaos) nurse(life context.Context, h *hostProcess) {
	for {
		_, exited := h.now()
		select {
		case <-exited:
		case <-life.Done():
			return
		}
		h.busy.Lock()
		if p, _ := h.now(); p == nil { // whoever ended it has not started it again
			c.revive(life, h, "")
		}
		h.busy.Unlock()
		if life.Err() != nil {
			return
		}
	}
}

func (c *chaos) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.say("%s", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.findings = append(c.findings, finding{wrong, text})
}
