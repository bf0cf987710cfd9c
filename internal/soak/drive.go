package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"reprise/host/api/wire"
	"reprise/host/client"
)

// driver is the users: it starts runs, sends them what they wait for, and compares each with its program once it has
// ended.
type driver struct {
	s  *soak
	wg sync.WaitGroup

	mu       sync.Mutex
	next     int // number of the next program
	open     int
	started  map[string]bool // by id
	ended    []endedRun
	findings []finding
	commands int
	signals  int
	sure     map[string]int64 // what the counters must come to
}

// endedRun is what is kept of a run to see that it stays as it was.
type endedRun struct {
	id, state string
	entries   int64
	hash      uint64
}

func newDriver(s *soak) *driver {
	return &driver{s: s, started: map[string]bool{}, sure: map[string]int64{}}
}

// start begins to start runs, until done is closed. life bounds every call.
func (d *driver) start(life context.Context, done <-chan struct{}) {
	for range d.s.cfg.Runs {
		d.wg.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-life.Done():
					return
				default:
					d.live(life, d.number())
				}
			}
		})
	}
	d.wg.Go(func() { d.progress(life, done) })
}

// wait returns when every run has ended or life is over.
func (d *driver) wait() { d.wg.Wait() }

func (d *driver) number() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	d.open++
	return d.next - 1
}

// every is how often progress is told.
const every = 10 * time.Second

func (d *driver) progress(life context.Context, done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		case <-life.Done():
			return
		}
		kills, _ := deaths(d.s.hosts)
		d.mu.Lock()
		d.s.say("runs %d, open %d, commands %d, kills %d, freezes %d, restarts %d, found %d", d.next, d.open, d.commands,
			kills, d.s.chaos.freezes.Load(), d.s.chaos.restarts.Load(), len(d.findings))
		d.mu.Unlock()
	}
}

func deaths(hosts []*hostProcess) (kills int, odd []string) {
	for _, h := range hosts {
		k, o := h.deaths()
		kills, odd = kills+k, append(odd, o...)
	}
	return kills, odd
}

// live is the life of one run, from its start to the comparison.
func (d *driver) live(ctx context.Context, n int) {
	p := generate(d.s.cfg.Seed, n, d.s.ledger.url)
	e, found := d.drive(ctx, p)
	if found == nil {
		c := &checker{p: p, e: e, ledger: d.s.ledger.of}
		found = c.check()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	d.findings = append(d.findings, found...)
	for _, b := range p.bookings() {
		d.sure[b.counter] += b.amount // also when the run got lost: then the counter tells it too
	}
	if e.run.ID == "" {
		return
	}
	d.commands += p.commands
	d.signals += len(p.signals)
	d.ended = append(d.ended, endedRun{e.run.ID, e.run.State, e.run.NextSeq, digest(e.entries)})
}

// digest sums up a journal.
func digest(entries []wire.Entry) uint64 {
	h := fnv.New64a()
	for _, e := range entries {
		b, err := json.Marshal(e)
		if err != nil {
			panic(err) // it came as JSON
		}
		_, _ = h.Write(b)
	}
	return h.Sum64()
}

// drive starts a run, sends its signals and its cancellation, and returns it as it ended.
func (d *driver) drive(ctx context.Context, p program) (ending, []finding) {
	rng := rand.New(rand.NewPCG(d.s.cfg.Seed, ^uint64(p.number)))
	fail := func(k class, what string, err error) (ending, []finding) {
		return ending{}, []finding{{k, fmt.Sprintf("program %d: %s: %v", p.number, what, err)}}
	}
	id, err := d.begin(ctx, p, rng.IntN(8) == 0)
	if err != nil {
		return fail(classOf(err), "start", err)
	}
	d.mu.Lock()
	d.started[id] = true
	d.mu.Unlock()
	for i, sig := range p.signals {
		wait(ctx, time.Duration(sig.delay)*time.Millisecond)
		if err := d.signal(ctx, id, fmt.Sprintf("signal-%d", i), sig); err != nil {
			return fail(classOf(err), id+": signal", err)
		}
	}
	if p.cancelled {
		if err := d.awaitBegin(ctx, id, p); err != nil {
			return fail(classOf(err), id+": wait for its beginning", err)
		}
		wait(ctx, time.Duration(rng.IntN(1000))*time.Millisecond)
		err := d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) error {
			_, err := c.Cancel(ctx, id, "the soak says so")
			return err
		})
		if err != nil {
			return fail(classOf(err), id+": cancel", err)
		}
	}
	if err := d.awaitEnd(ctx, id); err != nil {
		return fail(lost, id+" has not ended", err)
	}
	e, err := d.read(ctx, id)
	if err != nil {
		return fail(classOf(err), id+": read", err)
	}
	return e, nil
}

// classOf says what an error of a call counts as: a refusal is wrong, no answer at all is work that is lost.
func classOf(err error) class {
	var told *client.Error
	if errors.As(err, &told) {
		return wrong
	}
	return lost
}

var errTwoRuns = errors.New("two starts under one idempotency key made two runs")

// begin starts a run; twice asks for it by two requests at once.
func (d *driver) begin(ctx context.Context, p program, twice bool) (string, error) {
	start := func() (id string, err error) {
		err = d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) error {
			r, err := c.StartRun(ctx, client.StartRun{Workflow: d.s.name, Entry: entryName, Input: p.code, IdempotencyKey: fmt.Sprintf("%s-%d", d.s.name, p.number)})
			id = r.ID
			return err
		})
		return id, err
	}
	if !twice {
		return start()
	}
	var other string
	var otherErr error
	var wg sync.WaitGroup
	wg.Go(func() { other, otherErr = start() })
	id, err := start()
	wg.Wait()
	if err = errors.Join(err, otherErr); err == nil && id != other {
		err = fmt.Errorf("%w, %s and %s", errTwoRuns, id, other)
	}
	return id, err
}

// signal sends a signal until it is acknowledged, some of them once more after that.
func (d *driver) signal(ctx context.Context, run, id string, sig signal) error {
	send := func() (dup bool, err error) {
		err = d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) error {
			s, err := c.Signal(ctx, run, sig.name, id, sig.payload())
			dup = s.Duplicate
			return err
		})
		return dup, err
	}
	if _, err := send(); err != nil || !sig.twice {
		return err
	}
	dup, err := send()
	if err == nil && !dup {
		err = fmt.Errorf("%s was acknowledged, and taken again as new", id)
	}
	return err
}

// awaitBegin returns once a program that handles its cancellation has said so: before that, the host ends it.
func (d *driver) awaitBegin(ctx context.Context, id string, p program) error {
	for p.sure {
		var r wire.Run
		err := d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) (err error) {
			r, err = c.Run(ctx, id)
			return err
		})
		if err != nil || r.State == "waiting" || r.NextSeq > 1 {
			return err
		}
		if wait(ctx, callPause); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// longPoll is how long a host is asked to wait for a run's end.
const longPoll = 5 * time.Second

// awaitEnd returns when the run has ended, or life is over; the error then says how far it was.
func (d *driver) awaitEnd(ctx context.Context, id string) error {
	last := wire.Run{State: "unknown"}
	for {
		var done bool
		err := d.s.fleet.call(ctx, longPoll, func(ctx context.Context, c *client.Client) error {
			r, err := c.Result(ctx, id, longPoll)
			var told *client.Error
			switch {
			case errors.As(err, &told) && told.State != "":
				done, err = true, nil // it ended in another way; read tells how
			case err == nil:
				done, last = r.Done, r.Run
			}
			return err
		})
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("it is %s, waits for %q, has the owner %q, %d entries and %d attempts", last.State, last.Waiting, last.Owner, last.NextSeq, last.Attempts)
		case err != nil:
			return err
		}
	}
}

// pageSize is the most entries that a host gives at once.
const pageSize = 1000

// read returns a run with its journal.
func (d *driver) read(ctx context.Context, id string) (ending, error) {
	var e ending
	err := d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) (err error) {
		e.run, err = c.Run(ctx, id)
		return err
	})
	for err == nil {
		var page wire.Entries
		err = d.s.fleet.call(ctx, 0, func(ctx context.Context, c *client.Client) (err error) {
			page, err = c.Journal(ctx, id, int64(len(e.entries)), pageSize)
			return err
		})
		if len(page.Entries) == 0 {
			break
		}
		e.entries = append(e.entries, page.Entries...)
	}
	return e, err
}
