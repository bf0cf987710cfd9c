// Package sched owns who runs what on this node: it keeps the node's lease, finds runs that may make
// progress, hands each to a Turner, tells running turns that something arrived, and gives everything
// back when the node drains. It never reads guest memory and never writes entries. Package host starts
// and stops it.
package sched

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"reprise/internal/failpoint"
	"reprise/journal"
	"reprise/tenant"
)

var fpDrained = failpoint.New("sched.drained") // runs were given back, the node's lease still stands

// Turn is one claimed run while it executes here.
type Turn interface {
	// Run returns when the run is suspended, ended, blocked or may not go on; soon after ctx is done.
	Run(ctx context.Context)
	// Mail says that the run's inbox has something up to a position.
	Mail(pos int64)
	// Drain asks for the run back as soon as it can be given.
	Drain()
}

// Store is what the dispatcher needs of a journal.
type Store interface {
	journal.Nodes
	Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error)
	Mail(ctx context.Context, node string, seen map[journal.RunID]int64) (map[journal.RunID]int64, error)
	Hints() <-chan struct{}
}

// Config says how a node behaves; every field is required.
type Config struct {
	Store        Store
	Name         string
	LeaseTTL     time.Duration
	Poll         time.Duration
	MaxRunning   int
	MaxPerTenant int // of MaxRunning
	DrainTimeout time.Duration
	Logger       *slog.Logger
	Clock        *Clock
	// Open makes the turn of a claim.
	Open func(journal.Claim) Turn
}

// Dispatcher is a node's scheduler.
type Dispatcher struct {
	cfg  Config
	kick chan struct{} // a turn ended: there is room, and its run may be ready again

	mu       sync.Mutex
	node     journal.Node
	renewed  time.Time // local, before the last renewal that succeeded was sent
	running  map[journal.RunID]*running
	held     map[tenant.ID]int // runs here by tenant, those that begin included
	total    int               // of held
	draining bool
	lapsed   error         // why the node has no lease now
	behind   bool          // the last claim left runs that are due, or there was none yet
	starved  bool          // somebody found no room
	claiming chan struct{} // not nil while a claim may bring runs; closed when they are counted

	active int // turns that are executing, also those that lost their run, and runs that begin
	idle   *sync.Cond

	dispatching, beating sync.WaitGroup
	stopDispatch, cancel context.CancelFunc
	turns                context.Context // outlasts the loop while the node drains
}

type running struct {
	tenant tenant.ID
	turn   Turn
	cancel context.CancelFunc
	seen   int64 // inbox position that the turn has been told of
}

// New makes a dispatcher.
func New(cfg Config) *Dispatcher {
	d := &Dispatcher{cfg: cfg, kick: make(chan struct{}, 1), running: map[journal.RunID]*running{}, held: map[tenant.ID]int{}, behind: true}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// Start registers the node and begins to work. Stop must be called when it returned nil.
func (d *Dispatcher) Start(ctx context.Context) error {
	if err := d.register(ctx); err != nil {
		return err
	}
	ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	dctx, stop := context.WithCancel(ctx)
	d.stopDispatch = stop
	d.mu.Lock()
	d.turns = ctx
	d.mu.Unlock()
	d.beating.Go(func() { d.beat(ctx) })
	d.dispatching.Go(func() { d.dispatch(dctx) })
	return nil
}

func (d *Dispatcher) register(ctx context.Context) error {
	sent := time.Now()
	node, err := d.cfg.Store.Register(ctx, d.cfg.Name, d.cfg.LeaseTTL)
	if err != nil {
		return fmt.Errorf("register node %s: %w", d.cfg.Name, err)
	}
	now, err := d.cfg.Store.Now(ctx)
	if err != nil {
		_ = d.cfg.Store.Unregister(context.WithoutCancel(ctx), node.ID) // else it ends by itself
		return fmt.Errorf("read the database's clock: %w", err)
	}
	d.cfg.Clock.Set(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.node, d.renewed, d.lapsed, d.behind = node, sent, nil, true
	d.cfg.Logger.Info("node registered", "node", node.ID)
	return nil
}

// Node is the id of the node's current registration.
func (d *Dispatcher) Node() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.node.ID
}

// Ready says why the node takes no work: draining, or no lease.
func (d *Dispatcher) Ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return errors.New("draining")
	}
	return d.lapsed
}

// wake makes the dispatcher look for work now.
func (d *Dispatcher) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// dispatch claims due runs: when hinted, when a turn ended and others waited for room, when the next timer is due, and
// every Poll.
func (d *Dispatcher) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.kick:
		case <-d.cfg.Store.Hints():
		case <-timer.C:
		}
		next := d.round(ctx)
		timer.Reset(next)
	}
}

// soonest keeps a timer that is due, but cannot be claimed yet, from making the loop spin.
const soonest = 2 * time.Millisecond

// atOnce bounds the runs of one claim, so that a node that starts does not take all that is due before the others
// have asked, and the statement stays short.
const atOnce = 128

// round claims what there is room for, delivers mail, and says when to look again. A node without room, or without
// room for the tenant whose runs are due, cannot take what is due; it is woken when a turn ends.
func (d *Dispatcher) round(ctx context.Context) time.Duration {
	next := d.cfg.Poll
	for {
		want, node, ok := d.want()
		if !ok {
			return next
		}
		found, err := d.claim(ctx, node, want)
		if err != nil {
			d.claimFailed(ctx, node, err)
			return next
		}
		more := len(found.Claims) >= want.Limit
		if found.NextDue >= 0 && !more {
			next = min(next, max(found.NextDue, soonest))
		}
		if want.Limit == 0 || !more {
			break
		}
	}
	d.deliver(ctx)
	return next
}

// claim takes what is due and runs it.
func (d *Dispatcher) claim(ctx context.Context, node string, want journal.Want) (journal.Claims, error) {
	found, err := d.cfg.Store.Claim(ctx, node, want)
	if err == nil {
		d.cfg.Clock.Set(found.Now)
		for _, c := range found.Claims {
			d.run(c, false)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && want.Limit > 0 {
		d.behind = len(found.Claims) >= want.Limit
	}
	if d.claiming != nil {
		close(d.claiming)
		d.claiming = nil
	}
	return found, err
}

// want is what the node has room for; ok is false when it may not claim at all.
func (d *Dispatcher) want() (w journal.Want, node string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining || d.lapsed != nil {
		return w, "", false
	}
	w = journal.Want{Limit: min(max(d.cfg.MaxRunning-d.total, 0), atOnce), Held: maps.Clone(d.held), PerTenant: d.cfg.MaxPerTenant}
	if w.Limit > 0 {
		d.claiming = make(chan struct{})
	}
	d.starved = w.Limit == 0
	for _, n := range d.held {
		d.starved = d.starved || n >= d.cfg.MaxPerTenant
	}
	return w, d.node.ID, true
}

func (d *Dispatcher) claimFailed(ctx context.Context, node string, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, journal.ErrNodeLapsed):
		d.lapse(node, err)
	default:
		d.cfg.Logger.Warn("cannot claim runs", "error", err)
	}
}

// run executes a claim on a goroutine of its own. reserved says that it is counted already.
func (d *Dispatcher) run(c journal.Claim, reserved bool) {
	ctx, cancel := context.WithCancel(d.turns)
	r := &running{tenant: c.Lease.Tenant, turn: d.cfg.Open(c), cancel: cancel, seen: c.Run.InboxPos}
	d.mu.Lock()
	if d.lapsed != nil || c.Lease.Node != d.node.ID { // the lease ended while the claim was under way
		cancel()
	}
	if d.draining {
		r.turn.Drain()
	}
	if !reserved {
		d.count(r.tenant, 1)
	}
	d.running[c.Lease.Run] = r
	d.mu.Unlock()
	if c.StolenFrom != "" {
		d.cfg.Logger.Info("took over a run", "run", c.Lease.Run.String(), "from", c.StolenFrom)
	}
	go func() { // Stop and recover wait for active to be 0
		defer cancel()
		r.turn.Run(ctx)
		d.mu.Lock()
		if d.running[c.Lease.Run] == r {
			delete(d.running, c.Lease.Run)
		}
		d.left(r.tenant)
		d.mu.Unlock()
	}()
}

// count and left are called with mu held.

func (d *Dispatcher) count(t tenant.ID, n int) {
	d.active += n
	d.total += n
	if d.held[t] += n; d.held[t] == 0 {
		delete(d.held, t)
	}
}

// left counts a run that is here no longer. Who found no room looks again; nobody else has a reason to.
func (d *Dispatcher) left(t tenant.ID) {
	d.count(t, -1)
	d.idle.Broadcast()
	if d.behind || d.starved {
		d.wake()
	}
}

// stopped is closed when no turn is executing.
func (d *Dispatcher) stopped() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for d.active > 0 {
			d.idle.Wait()
		}
		close(done)
	}()
	return done
}

// deliver tells running turns of arrivals. It asks the store by level, so that no lost hint matters.
func (d *Dispatcher) deliver(ctx context.Context) {
	d.mu.Lock()
	seen := make(map[journal.RunID]int64, len(d.running))
	for id, r := range d.running {
		seen[id] = r.seen
	}
	node := d.node.ID
	d.mu.Unlock()
	if len(seen) == 0 {
		return
	}
	mail, err := d.cfg.Store.Mail(ctx, node, seen)
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Logger.Warn("cannot look for arrivals", "error", err)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, pos := range mail {
		if r := d.running[id]; r != nil && pos > r.seen {
			r.seen = pos
			r.turn.Mail(pos)
		}
	}
}
