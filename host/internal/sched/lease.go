package sched

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"reprise/journal"
)

// renewals is how often a lease is renewed within its time: two may be lost before anyone may steal.
const renewals = 3

// margin is the part of a lease that is left for stopping: its runs are told to stop that much before another node
// may start them, and clocks that do not run at one rate may differ by as much.
const margin = 10

// beat renews the node's lease. When that cannot be done in time the node stops its runs before another may
// start them, and then registers anew.
func (d *Dispatcher) beat(ctx context.Context) {
	tick := time.NewTicker(d.cfg.LeaseTTL / renewals)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		node, lapsed, last := d.node.ID, d.lapsed, d.renewed.Add(d.cfg.LeaseTTL-d.cfg.LeaseTTL/margin)
		d.mu.Unlock()
		if lapsed != nil {
			d.recover(ctx)
			continue
		}
		d.renew(ctx, node, last)
	}
}

// renew sends heartbeats until one is answered. The lease counts from before it was sent, so that this node's view of
// its end is never later than the database's. At last its runs are stopped, whatever the store does meanwhile. One try has
// the time between two renewals, because a connection that has gone silent must not cost the lease; the next comes
// before the next tick, because a short outage must not either.
func (d *Dispatcher) renew(ctx context.Context, node string, last time.Time) {
	late := errors.New("the node could not renew its lease in time")
	stop := time.AfterFunc(time.Until(last), func() { d.lapse(node, late) })
	defer stop.Stop()
	for {
		sent := time.Now()
		hctx, cancel := context.WithDeadline(ctx, earlier(last, sent.Add(d.cfg.LeaseTTL/renewals)))
		now, err := d.cfg.Store.Heartbeat(hctx, node, d.cfg.LeaseTTL)
		cancel()
		switch {
		case err == nil:
			d.cfg.Clock.Set(now)
			d.mu.Lock()
			d.renewed = sent
			d.mu.Unlock()
			return
		case ctx.Err() != nil:
			return
		case errors.Is(err, journal.ErrNodeLapsed):
			d.lapse(node, err)
			return
		case !time.Now().Before(last):
			d.lapse(node, late)
			return
		}
		d.cfg.Logger.Warn("cannot renew the node's lease, trying again", "error", err)
		select {
		case <-time.After(min(d.cfg.LeaseTTL/(4*renewals), time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// lapse stops every run of a registration, unless there is another by now: whatever they would write is fenced, and
// what they would do to the world may be done elsewhere.
func (d *Dispatcher) lapse(node string, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lapsed != nil || d.node.ID != node {
		return
	}
	d.lapsed = why
	d.cfg.Logger.Error("the node's lease has lapsed; its runs are stopped", "node", d.node.ID, "runs", len(d.running), "error", why)
	for _, r := range d.running {
		r.cancel()
	}
}

// recover gets a new registration after a lapse, once no run of the old one is executing.
func (d *Dispatcher) recover(ctx context.Context) {
	select {
	case <-d.stopped():
	case <-time.After(d.cfg.LeaseTTL): // a guest that computes cannot be stopped; its writes are fenced
	case <-ctx.Done():
		return
	}
	err := d.nameTaken(ctx)
	if err == nil {
		err = d.register(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Logger.Warn("cannot register the node again", "error", err)
		}
		return
	}
	d.wake()
}

// nameTaken says that another live host has registered under this node's name. Registering again would
// end that host's lease, which would end this one's, and so on for ever.
func (d *Dispatcher) nameTaken(ctx context.Context) error {
	nodes, err := d.cfg.Store.ListNodes(ctx)
	if err != nil {
		return err
	}
	own := d.Node()
	for _, n := range nodes {
		if n.Live && n.Name == d.cfg.Name && n.ID != own {
			return fmt.Errorf("another live host has the name %s (%s, since %s); give each host a name of its own", n.Name, n.ID, n.StartedAt.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// Stop gives everything back: no new claims, runs that wait are released at once, effects in flight get
// DrainTimeout, then the node's lease ends. It returns when no turn is executing or ctx is done. A dispatcher
// that was not started only says that it takes no work.
func (d *Dispatcher) Stop(ctx context.Context) error {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	if d.cancel == nil {
		return nil // it was never started
	}
	d.stopDispatch()
	d.dispatching.Wait() // no claim is under way any more

	d.mu.Lock()
	for _, r := range d.running {
		r.turn.Drain()
	}
	d.mu.Unlock()

	stopped := d.stopped()
	grace, cancel := context.WithTimeout(ctx, d.cfg.DrainTimeout)
	defer cancel()
	select {
	case <-stopped:
	case <-grace.Done():
		d.abort()
		select {
		case <-stopped:
		case <-ctx.Done():
		case <-time.After(d.cfg.DrainTimeout): // a guest that computes; its writes are fenced below
		}
	}
	fpDrained.Hit()
	d.cancel()
	d.beating.Wait() // no registration is under way any more
	return d.cfg.Store.Unregister(context.WithoutCancel(ctx), d.Node())
}

func (d *Dispatcher) abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.running {
		r.cancel()
	}
}

// Clock is the database's clock as this node knows it: the last reading, moved on by the local monotonic
// clock. A reading is taken when its answer is here, so the estimate lags behind the database and never
// runs ahead of it. A jump of the local wall clock does not touch it.
type Clock struct {
	mu   sync.Mutex
	read time.Time // of the database
	at   time.Time // local, with monotonic part
}

// Set takes a reading of the database's clock.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.at = now, time.Now()
}

// Now is the estimate; the zero time before the first reading.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read.IsZero() {
		return time.Time{}
	}
	return c.read.Add(time.Since(c.at))
}
