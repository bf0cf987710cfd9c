package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// TestAnyProgramSurvivesAnything runs scripts against a world in which effects, signals, timers,
// drains, aborts, crashes and failing commits come in any order.
func TestAnyProgramSurvivesAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		least := rapid.SampledFrom([]int{0, 15}).Draw(rt, "least") // slices of rapid's own choice are short
		code := rapid.SliceOfN(instruction(), least, 30).Draw(rt, "code")
		plan := rapid.SliceOfN(rapid.Byte(), 2*least, 80).Draw(rt, "plan")
		if err := simulateIn(t, slices.Concat(code...), plan); err != nil {
			rt.Fatal(err)
		}
	})
}

// instruction draws requests and waits more often than the rest, so that much is pending at once.
func instruction() *rapid.Generator[[]byte] {
	return rapid.Custom(func(rt *rapid.T) []byte {
		op := rapid.SampledFrom([]byte{opEffect, opEffect, opEffect, opActivity, opTimer, opSignal, opSignal,
			opWait, opWait, opWait, opWait, opPoll, opPoll, opTake, opCancel, opDrop, opAware, opPublish, opSleep, opSkip}).Draw(rt, "op")
		return []byte{op, rapid.Byte().Draw(rt, "a"), rapid.Byte().Draw(rt, "b")}
	})
}

func FuzzAnyProgramSurvivesAnything(f *testing.F) {
	f.Add([]byte{opEffect, 0, 1, opSignal, 0, 0, opWait, 1, 0}, []byte{9, 0, 1, 2, 3})
	// An outcome comes while the node drains, and nothing else is new.
	f.Add([]byte{opEffect, 0, 0, opWait, 0, 2}, []byte{9, 12})
	// The answer to the last commit is lost until the node stops.
	f.Add([]byte{opWait, 0, 2}, []byte{9, 0xde, 13, 0x1c})
	// A signal comes while the run is suspended.
	f.Add([]byte{opSignal, 0, 0, opWait, 1, 0}, []byte{0xf})
	// A retry is due while the node drains and another effect is in flight.
	f.Add([]byte{opEffect, 0, 1, opEffect, 0, 1, opWait, 3, 0}, []byte{9, 3, 12, 0xfb, 0})
	// The inbox is read after this turn has put a retry into it.
	f.Add([]byte{opEffect, 0, 1, opEffect, 0, 1, opWait, 3, 0}, []byte{9, 3, 0xfb, 0x16, 9, 0x13, 0xfb})
	// A commit has landed unanswered, and another outcome comes before the node stops.
	f.Add([]byte{opEffect, 0, 0, opEffect, 0, 0, opTimer, 1, 0, opWait, 13, 0}, []byte{9, 0x4f, 0x10, 1, 0xfc})
	f.Fuzz(func(t *testing.T, code, plan []byte) {
		if err := simulateIn(t, code[:min(len(code), 90)], plan[:min(len(plan), 80)]); err != nil {
			t.Fatal(err)
		}
	})
}

// simulateIn runs a simulation in a bubble of its own, where time passes when everybody waits.
func simulateIn(t *testing.T, code, plan []byte) (err error) {
	synctest.Test(t, func(*testing.T) {
		s := newSimulation(code)
		err = s.run(plan)
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, s.story())
		}
		s.stop()
	})
	return err
}

// attemptInFlight is an attempt that waits for the simulation to say how it ends.
type attemptInFlight struct {
	key    string
	number int
	token  int64
	answer chan error // nil for success
}

// simulation is one run, its store, its world and the node that runs it.
type simulation struct {
	store  *memStore
	turner *Turner
	logs   *logLines

	turn   *Turn // that executes now
	token  int64 // of its lease
	cancel context.CancelFunc
	ended  chan struct{}
	told   int64 // mail that the turn was told of
	stale  []staleTurn

	instant time.Time // guarded by the store, as reads
	reads   int

	mu       sync.Mutex
	flying   []*attemptInFlight
	auto     bool              // effects succeed at once
	requests map[string]string // what was asked under each idempotency key
	known    map[string]string // outcomes that the node knows and must not lose, "" for a failed attempt
	tried    map[string]int    // highest failed attempt that the node knows and must not forget
	signals  map[string][]string
	shown    map[string]string // published by the guest that owns the run and came to its end
	broken   error
	events   []string
}

// staleTurn is a turn that has lost its run and may not know it.
type staleTurn struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// tokenKey is the context's key of the token under which an attempt leaves.
type tokenKey struct{}

func newSimulation(code script) *simulation {
	s := &simulation{logs: &logLines{}, requests: map[string]string{}, known: map[string]string{}, tried: map[string]int{}, signals: map[string][]string{}}
	s.store = newMemStore(journal.Run{Tenant: tenant.Default, ID: journal.RunID{7}, Workflow: "script", Digest: "sha256:1", State: journal.Ready})
	s.store.clock = s.clock
	h := effect.HandlerFunc(s.handle)
	s.turner = New(Config{Store: s.store, Clock: s.store, HoldFor: 60 * time.Millisecond, MaxAttempts: 1 << 30, Checkpoints: Checkpoints{Every: 2, Verify: 2},
		Effects: effect.Registry{"test.a": {Handler: h}, "test.b": {Handler: h, Retry: abi.Retry{Attempts: 2, BackoffMS: 10}}},
		Logger:  slog.New(slog.NewTextHandler(s.logs, nil))})
	s.turner.load = func(context.Context, tenant.ID, modules.Digest) (program, error) { return played{code, s}, nil }
	return s
}

// played is a script that tells the simulation what it has published.
type played struct {
	script
	s *simulation
}

func (p played) Run(_ context.Context, w sandbox.World, _ string) sandbox.Ending {
	return p.watch(newScripted(w))
}

func (p played) Thaw(_ context.Context, w sandbox.World, f *sandbox.Frozen) sandbox.Ending {
	return p.watch(thawScripted(w, f))
}

func (p played) watch(g *guest) sandbox.Ending {
	end := p.play(g)
	rec := g.World.(*execution).rec
	if end.Cause == nil && rec != nil && rec.lease != nil && rec.lease.Token == p.s.row().Token {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.shown = g.shown
	}
	return end
}

// spinning is how often nobody reads the clock at one instant.
const spinning = 20_000

// clock is the bubble's. In a loop that waits for nothing time would stand still for ever.
func (s *simulation) clock() time.Time {
	now := time.Now().UTC()
	if !now.Equal(s.instant) {
		s.instant, s.reads = now, 0
	}
	if s.reads++; s.reads > spinning {
		panic("a loop waits for nothing")
	}
	return now
}

func (s *simulation) story() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, e := range s.events {
		fmt.Fprintln(&b, "  ", e)
	}
	for _, e := range s.store.entries {
		fmt.Fprintln(&b, "  entry", e.Seq, e.Kind, e.Op, e.Name, e.Status, string(e.Payload), "token", e.Token)
	}
	return b.String() + s.logs.String()
}

func (s *simulation) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

func (s *simulation) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = fmt.Errorf(format, args...)
	}
}

// handle is every effect. It checks that the attempt may be made, and waits for its answer.
func (s *simulation) handle(ctx context.Context, r effect.Request) ([]byte, error) {
	a := &attemptInFlight{key: r.IdempotencyKey, number: r.Attempt, token: ctx.Value(tokenKey{}).(int64), answer: make(chan error, 1)}
	s.note("effect %s attempt %d token %d", a.key, a.number, a.token)
	if err := s.mayLeave(a, r); err != nil {
		s.fail("%w", err)
	}
	s.mu.Lock()
	if s.auto {
		a.answer <- nil
	} else {
		s.flying = append(s.flying, a)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flying = slices.DeleteFunc(s.flying, func(o *attemptInFlight) bool { return o == a })
	}()
	select {
	case err := <-a.answer:
		return outcomeOf(r.IdempotencyKey, r.Attempt), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func outcomeOf(key string, attempt int) []byte { return fmt.Appendf(nil, "%s#%d", key, attempt) }

// mayLeave says why an attempt must not be made.
func (s *simulation) mayLeave(a *attemptInFlight, r effect.Request) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.IdempotencyKey
	asked := r.Name + " " + string(r.Input)
	if was, ok := s.requests[key]; ok && was != asked {
		return fmt.Errorf("key %s stands for %q and %q", key, was, asked)
	}
	s.requests[key] = asked
	if a.token != s.store.run.Token {
		return nil // its turn is stale: more than once is allowed
	}
	if strings.Count(key, "/") > 2 {
		return nil // of an activity
	}
	for _, e := range s.store.entries {
		if e.Kind == journal.KindEffect && strings.HasSuffix(key, fmt.Sprintf("/%d", e.Op)) {
			return fmt.Errorf("effect %s left again although entry %d has its outcome", key, e.Seq)
		}
	}
	for _, in := range s.store.inbox {
		if (in.Kind == journal.ArrivalDone || in.Kind == journal.ArrivalRetry && in.Attempt >= r.Attempt) && strings.HasSuffix(key, fmt.Sprintf("/%d", in.Op)) {
			return fmt.Errorf("effect %s attempt %d left although the inbox has %s of attempt %d", key, r.Attempt, in.Kind, in.Attempt)
		}
	}
	if out, ok := s.known[key]; ok {
		return fmt.Errorf("effect %s left again although its outcome %q was known", key, out)
	}
	if n := s.tried[key]; n >= r.Attempt {
		return fmt.Errorf("effect %s attempt %d left although attempt %d has failed", key, r.Attempt, n)
	}
	return nil
}

func (s *simulation) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *simulation) row() journal.Run {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.store.run
}

// claim starts a turn when the run is due.
func (s *simulation) claim() bool {
	r := s.row()
	due := r.State == journal.Ready || r.State == journal.Waiting && !r.WakeAt.IsZero() && !r.WakeAt.After(time.Now())
	if s.turn != nil || !due {
		return false
	}
	s.enter()
	return true
}

func (s *simulation) enter() {
	c := s.store.claim()
	s.note("claim, token %d, seq %d, %s", c.Lease.Token, c.Run.NextSeq, time.Now().Format("05.000"))
	s.turn, s.told, s.token = s.turner.Open(c), c.Run.InboxPos, c.Lease.Token
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tokenKey{}, c.Lease.Token))
	s.cancel, s.ended = cancel, make(chan struct{})
	turn, ended := s.turn, s.ended
	go func() {
		defer close(ended)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				s.fail("panic: %v", p)
			}
		}()
		turn.Run(ctx)
	}()
}

// settle waits until nobody can go on without the simulation, and takes note of a turn's end.
func (s *simulation) settle() {
	synctest.Wait()
	if s.turn == nil {
		return
	}
	select {
	case <-s.ended:
		r := s.row()
		s.note("turn over: %s %s wake %v", r.State, r.Reason, r.WakeAt.Format("05.000"))
		if r.State == journal.Running {
			s.fail("the turn is over and its run is still owned")
		}
		s.turn = nil
	default:
	}
}

// run plays the plan, lets the run come to an end, and judges what is left.
func (s *simulation) run(plan []byte) error {
	for len(plan) > 0 && s.err() == nil && !s.row().State.Terminal() {
		s.event(plan[0]%16, plan[0]/16)
		s.claim()
		s.settle()
		plan = plan[1:]
	}
	s.note("the plan is over")
	s.mu.Lock()
	s.auto = true
	s.mu.Unlock()
	s.store.mu.Lock()
	s.store.onCommit = nil
	s.store.mu.Unlock()
	if err := s.finish(); err != nil {
		return err
	}
	return s.judge()
}

// finish lets everything succeed until the run has ended or waits for what nobody will send.
func (s *simulation) finish() error {
	for range 500 {
		s.claim()
		s.settle()
		s.answerAll()
		s.mail()
		s.settle()
		r := s.row()
		switch {
		case s.err() != nil:
			return s.err()
		case s.turn == nil && r.State.Terminal():
			return nil
		case s.turn == nil && r.State == journal.Blocked:
			return fmt.Errorf("blocked: %s", r.Reason)
		case s.turn == nil && r.State == journal.Waiting && r.WakeAt.IsZero():
			return s.spurious()
		default:
			time.Sleep(30 * time.Millisecond)
		}
	}
	return errors.New("the run does not come to an end")
}

// spurious wakes a run that waits for what nobody will send: it must find nothing to do.
func (s *simulation) spurious() error {
	before := len(s.store.entries)
	s.enter()
	s.settle()
	if r := s.row(); s.err() == nil && (r.State != journal.Waiting || len(s.store.entries) != before) {
		return fmt.Errorf("lost wake-up: woken for nothing the run went to %s, from %d entries to %d", r.State, before, len(s.store.entries))
	}
	return s.err()
}

func (s *simulation) answerAll() {
	for s.answer(0, nil) {
	}
}

// answer ends an attempt in flight, and remembers what the node has learned by it.
func (s *simulation) answer(i int, err error) bool {
	s.mu.Lock()
	if len(s.flying) == 0 {
		s.mu.Unlock()
		return false
	}
	a := s.flying[i%len(s.flying)]
	s.flying = slices.DeleteFunc(s.flying, func(o *attemptInFlight) bool { return o == a })
	s.mu.Unlock()
	s.note("answer %s attempt %d: %v", a.key, a.number, err)
	a.answer <- err
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Count(a.key, "/") > 2 || a.token != s.token {
		return true
	}
	if s.tried[a.key] = a.number; err == nil {
		s.known[a.key] = string(outcomeOf(a.key, a.number))
	}
	return true
}

// mail tells the turn of what the inbox has, as the dispatcher does every poll.
func (s *simulation) mail() {
	s.store.mu.Lock()
	pos, mail := s.store.run.InboxPos, s.store.mailPos
	s.store.mu.Unlock()
	if s.turn != nil && mail > s.told {
		s.told = pos
		s.turn.Mail(pos)
	}
}

// forget is what a crash does to the node's knowledge.
func (s *simulation) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
	clear(s.tried)
}

// stop ends the turn so that the bubble can end.
func (s *simulation) stop() {
	for _, t := range s.stale {
		t.cancel()
		<-t.ended
	}
	if s.turn != nil {
		s.cancel()
		<-s.ended
	}
}
