package testkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	httpeffect "reprise/host/effect/http"
	"reprise/host/internal/exec"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

// Bounds that do not bind: a play's clock passes over any time.
const (
	leaseFor = 250 * 365 * 24 * time.Hour
	holdFor  = math.MaxInt64 // waits for a timer stay in memory; for a signal the run is suspended
)

// play is one run on its stage.
type play struct {
	*stage
	store   *sqlite.Store
	turner  *exec.Turner
	node    string
	ctx     context.Context
	cancel  context.CancelFunc
	run     journal.RunID // the one that goes on for the case's run, when that has continued as new
	earlier []journal.RunID
	start   time.Time
	events  []*event
	turns   map[journal.RunID]*exec.Turn
	seen    map[journal.RunID]int64
	ended   bool
	err     error // of the store
	logs    *lines
	playing sync.WaitGroup
}

// event is something from outside the run.
type event struct {
	When
	signal *Signal
	cancel *Cancel
	query  *Query
	id     string
	at     firing
}

// firing is when an event happened.
type firing struct {
	fired   bool
	at      time.Time
	entries int64 // of the run that went on then
	run     int   // how many had continued by then
}

// Play plays a case to its end, or until nothing more can happen. An error says that the play itself is wrong: an
// *UnmockedError, a *NoWorkflowError, or the kit's own trouble. How the run ended is in the result.
func (m *Module) Play(ctx context.Context, c Case) (*Result, error) {
	workflow, err := m.workflow(c.Workflow)
	if err != nil {
		return nil, err
	}
	if err := c.Limits.WithDefaults().Check(); err != nil {
		return nil, fmt.Errorf("limits of the case: %w", err)
	}
	c.Workflow = workflow
	if c.Start.IsZero() {
		c.Start = defaultStart
	}
	return m.play(ctx, c, nil, 0)
}

// play plays a case, or the rest of another play behind its first entries.
func (m *Module) play(ctx context.Context, c Case, before *Result, entries int) (*Result, error) {
	p, err := m.newPlay(ctx, c, before, entries)
	if err != nil {
		return nil, err
	}
	defer p.cancel()
	err = p.begin(m, c, before, entries)
	if err == nil {
		p.direct()
		err = errors.Join(p.err, ctx.Err())
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", errStopped, ctx.Err())
	}
	if err == nil && p.unmocked != nil {
		err = p.unmocked
	}
	var r *Result
	if err == nil {
		r, err = p.result(c)
	}
	return r, errors.Join(err, p.store.Close())
}

func (m *Module) newPlay(ctx context.Context, c Case, before *Result, entries int) (*play, error) {
	start := c.Start
	id := runID(c)
	if before != nil {
		id, start = before.played.id, before.played.began
	}
	if entries > 0 {
		start = before.Entries[entries-1].At
	}
	p := &play{stage: newStage(start), run: id, start: c.Start, turns: map[journal.RunID]*exec.Turn{}, seen: map[journal.RunID]int64{}, logs: &lines{}}
	p.effects, p.activities = newScripts(c.Effects), newScripts(c.Activities)
	p.idle, p.over = p.look, func() bool { return p.ended || p.err != nil || p.unmocked != nil || p.ctx.Err() != nil }
	if before != nil {
		p.known = before.played.outcomes
	}
	var err error
	if p.store, err = sqlite.Open(ctx, sqlite.Config{Clock: p.Now}); err != nil {
		return nil, err
	}
	request, err := httpeffect.New(httpeffect.Config{}) // for its policy of retries; nothing is allowed
	if err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	request.Handler = effect.HandlerFunc(unanswered)
	p.turner = exec.New(exec.Config{Store: p.store, Engine: m.kit.engine, Effects: effect.Registry{httpeffect.Name: request}, Clock: p, HoldFor: holdFor,
		MaxAttempts: 5, Limits: c.Limits, Logger: slog.New(p.logs), Stage: p, Ended: p.end})
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p, nil
}

// unanswered is the effect that the play stops at.
func unanswered(_ context.Context, r effect.Request) ([]byte, error) {
	return nil, abi.NewFailure(abi.CodeUnknownEffect, "the test does not answer %s", r.Name).Terminal()
}

// runID is the id of a case's run: a UUIDv7 that follows from what is played.
func runID(c Case) (id journal.RunID) {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + c.Workflow))
	copy(id[:], sum[:])
	ms := uint64(c.Start.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// begin makes the run, with the entries that are known of it.
func (p *play) begin(m *Module, c Case, before *Result, entries int) error {
	node, err := p.store.Register(p.ctx, "test", leaseFor)
	if err != nil {
		return err
	}
	p.node = node.ID
	if err := p.publish(m, c.Modules); err != nil {
		return err
	}
	name := c.Workflow
	if name == "" {
		name = "workflow"
	}
	input := c.Input
	if before != nil {
		input = before.played.input
	}
	r := journal.Run{Tenant: tenant.Default, ID: p.run, Workflow: name, Digest: m.digest, Entry: c.Workflow, Input: input}
	if _, _, err := p.store.Create(p.ctx, r); err != nil {
		return err
	}
	p.plan(c)
	if before == nil {
		return nil
	}
	if entries > 0 {
		if err := p.restore(before.Entries[:entries]); err != nil {
			return err
		}
	}
	return p.resend(before, entries)
}

// publish puts modules into the store: the one that is played, and those that it may name.
func (p *play) publish(m *Module, others map[string]*Module) error {
	put := func(m *Module) error {
		_, err := p.store.PutModule(p.ctx, modules.Module{Tenant: tenant.Default, Digest: m.digest, Size: int64(len(m.bytes)), Manifest: m.manifest}, m.bytes)
		return err
	}
	if err := put(m); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if err := put(others[name]); err != nil {
			return err
		}
		if _, _, err := p.store.SetAlias(p.ctx, tenant.Default, name, others[name].digest); err != nil {
			return fmt.Errorf("publish %s: %w", name, err)
		}
	}
	return nil
}

// plan makes the events of a case.
func (p *play) plan(c Case) {
	for i := range c.Signals {
		p.events = append(p.events, &event{When: c.Signals[i].When, signal: &c.Signals[i], id: fmt.Sprintf("signal-%d", i+1)})
	}
	for i := range c.Queries {
		p.events = append(p.events, &event{When: c.Queries[i].When, query: &c.Queries[i]})
	}
	if c.Cancel != nil {
		p.events = append(p.events, &event{When: c.Cancel.When, cancel: c.Cancel})
	}
}

// direct lets the play go on until it is over, and then ends what is left of it.
func (p *play) direct() {
	p.pass()
	<-p.director
	p.passive = true
	p.cancel()
	p.pass()
	<-p.director
	p.playing.Wait()
	p.turner.Wait(context.Background())
}

// end is told by the turner that a run has ended or is blocked. One that continues as new goes on as its successor.
func (p *play) end(id journal.RunID, _ *journal.Run) {
	if id != p.run {
		return
	}
	run, err := p.store.Run(p.ctx, tenant.Default, id)
	if err == nil && run.State == journal.Continued {
		p.earlier, p.run = append(p.earlier, id), run.Successor
		return
	}
	p.ended, p.err = true, errors.Join(p.err, err)
}

// look finds what can go on beside those that are on the stage: runs that are due, and events.
func (p *play) look() (again bool, next time.Time) {
	if p.passive {
		return false, next
	}
	claims, err := p.store.Claim(p.ctx, p.node, journal.Want{Limit: 64})
	if err != nil {
		p.err = errors.Join(p.err, err)
		return true, next // over says so
	}
	for _, c := range claims.Claims {
		p.enter(c)
	}
	if len(claims.Claims) > 0 || p.mail() || p.fire() {
		return true, next
	}
	if claims.NextDue >= 0 {
		next = p.Now().Add(max(claims.NextDue, time.Microsecond))
	}
	for _, e := range p.events {
		if at := p.start.Add(e.After); !e.at.fired && at.After(p.Now()) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return false, next
}

// enter begins a turn.
func (p *play) enter(c journal.Claim) {
	turn := p.turner.Open(c)
	p.turns[c.Run.ID] = turn
	enter, leave := p.Attempt()
	p.playing.Go(func() {
		enter()
		turn.Run(p.ctx)
		delete(p.turns, c.Run.ID)
		leave()
	})
}

// mail tells turns that something has arrived for their runs.
func (p *play) mail() bool {
	if len(p.turns) == 0 {
		return false
	}
	news, err := p.store.Mail(p.ctx, p.node, p.seen)
	if err != nil {
		p.err = errors.Join(p.err, err)
		return true
	}
	told := false
	for id, pos := range news {
		if turn := p.turns[id]; turn != nil && pos > p.seen[id] {
			p.seen[id], told = pos, true
			turn.Mail(pos)
		}
	}
	return told
}

// fire lets the first event happen whose moment has come.
func (p *play) fire() bool {
	for _, e := range p.events {
		if e.at.fired || p.start.Add(e.After).After(p.Now()) {
			continue
		}
		r, err := p.store.Run(p.ctx, tenant.Default, p.run)
		if err == nil && r.NextSeq < e.Entries {
			continue
		}
		e.at = firing{fired: true, at: p.Now(), entries: r.NextSeq, run: len(p.earlier)}
		if err == nil {
			err = p.send(e)
		}
		if err != nil {
			p.err = errors.Join(p.err, err)
		}
		return true
	}
	return false
}

// send carries out an event. A run that has ended takes nothing any more.
func (p *play) send(e *event) (err error) {
	if e.query != nil {
		return p.ask(e.query)
	}
	if e.signal != nil {
		_, err = p.store.Signal(p.ctx, tenant.Default, p.run, e.id, e.signal.Name, e.signal.Payload)
	} else {
		_, err = p.store.RequestCancel(p.ctx, tenant.Default, p.run, e.cancel.Reason)
	}
	if errors.Is(err, journal.ErrState) {
		return nil
	}
	return err
}

// result reads what the run came to.
func (p *play) result(c Case) (*Result, error) {
	ctx := context.Background()
	run, err := p.store.Run(ctx, tenant.Default, p.run)
	if err != nil {
		return nil, err
	}
	r := &Result{State: run.State, Output: run.Output, Reason: run.Reason, Waiting: run.Waiting, Calls: p.calls, Replies: p.replies, Log: p.logs.text,
		Elapsed: p.Now().Sub(c.Start), Published: map[string][]byte{}, Continued: len(p.earlier), played: played{digest: run.Digest, id: run.ID, input: run.Input, began: run.CreatedAt, c: c, outcomes: p.outcomes, events: p.events, mismatch: p.mismatch(run)}}
	if run.State == journal.Failed || run.State == journal.Cancelled {
		r.Failure = abi.DecodeFailure(run.Failure)
	}
	values, err := p.store.Published(ctx, tenant.Default, p.run)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		r.Published[v.Key] = v.Value
	}
	for _, id := range p.earlier {
		entries, err := p.entries(id)
		if err != nil {
			return nil, err
		}
		r.played.delivered = count(r.played.delivered, entries)
	}
	r.Entries, err = p.entries(p.run)
	if len(r.Entries) > 0 {
		r.played.began = r.Entries[0].At
	}
	return r, err
}

// entries is the whole journal of a run.
func (p *play) entries(id journal.RunID) (all []journal.Entry, err error) {
	for {
		page, err := p.store.Entries(context.Background(), tenant.Default, id, int64(len(all)), 1000)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}
