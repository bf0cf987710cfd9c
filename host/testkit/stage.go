package testkit

import (
	"context"
	"sync"
	"time"

	"reprise/host/effect"
	"reprise/journal"
)

// actor is a goroutine of a play: a turn, or an attempt that a turn has sent out. One of them, or the director, goes on at a
// time: what any of them does is then in the same order in every play.
type actor struct {
	cue   chan struct{}
	ctx   context.Context
	wake  <-chan struct{} // goes on when it has a value
	due   time.Time       // goes on then, unless it is zero
	order int64           // among those that are due at one time
}

func newActor() *actor { return &actor{cue: make(chan struct{}, 1)} }

// deadline is a context that ends by the clock of the play.
type deadline struct {
	context.Context
	cancel context.CancelFunc
	at     time.Time
	mu     sync.Mutex
	passed bool
}

type deadlineKey struct{}

// Err is context.DeadlineExceeded when the time has passed.
func (d *deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed {
		return context.DeadlineExceeded
	}
	return d.Context.Err()
}

// Value finds the deadline itself.
func (d *deadline) Value(key any) any {
	if key == (deadlineKey{}) {
		return d
	}
	return d.Context.Value(key)
}

func (d *deadline) pass() {
	if d.Err() != nil {
		return
	}
	d.mu.Lock()
	d.passed = true
	d.mu.Unlock()
	d.cancel()
}

// outcome is what became of a request in the play whose journal is cut.
type outcome struct {
	call    Call
	output  []byte
	err     error
	timeout bool
	given   bool // it was given up before there was one
	due     time.Time
	order   int64
}

// stage is the world around the turns of a play. Its fields are used by who goes on; the clock is read by all.
type stage struct {
	clock struct {
		sync.Mutex
		now time.Time
	}
	effects, activities scripts
	passive             bool // nothing but what is over goes on any more
	begin               []*actor
	rest                []*actor
	deadlines           []*deadline
	orders              int64
	idle                func() (again bool, next time.Time) // looks for what else can go on; next is when there is something
	over                func() bool
	director            chan struct{}
	calls               []Call
	replies             []Reply
	unmocked            *UnmockedError
	known               map[string]outcome // of the play that is cut; nil in that itself
	outcomes            map[string]outcome
}

func newStage(start time.Time) *stage {
	s := &stage{director: make(chan struct{}, 1), outcomes: map[string]outcome{}}
	s.clock.now = start
	return s
}

// Now is the clock of the play.
func (s *stage) Now() time.Time {
	s.clock.Lock()
	defer s.clock.Unlock()
	return s.clock.now
}

// advance moves the clock, never back.
func (s *stage) advance(to time.Time) {
	s.clock.Lock()
	defer s.clock.Unlock()
	if to.After(s.clock.now) {
		s.clock.now = to
	}
}

// Attempt is part of exec.Stage.
func (s *stage) Attempt() (enter, leave func()) {
	a := newActor()
	s.begin = append(s.begin, a)
	return func() { <-a.cue }, s.pass
}

// Rest is part of exec.Stage.
func (s *stage) Rest(ctx context.Context, wake <-chan struct{}, due time.Time) {
	a := newActor()
	a.ctx, a.wake, a.due = ctx, wake, due
	s.park(a)
	select {
	case <-wake:
	default:
	}
}

// Within is part of exec.Stage.
func (s *stage) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(ctx)
	dl := &deadline{Context: inner, cancel: cancel, at: s.Now().Add(d)}
	s.deadlines = append(s.deadlines, dl)
	return dl, cancel
}

// park lets others go on until it is this actor's turn again.
func (s *stage) park(a *actor) {
	s.orders++
	if a.order == 0 {
		a.order = s.orders
	}
	s.rest = append(s.rest, a)
	s.pass()
	<-a.cue
}

// pass gives the turn to the next: who begins, who has been woken, then whoever is due first. The caller has nothing more to do.
func (s *stage) pass() {
	for {
		if len(s.begin) > 0 {
			a := s.begin[0]
			s.begin = s.begin[1:]
			a.cue <- struct{}{}
			return
		}
		if a := s.woken(); a != nil {
			a.cue <- struct{}{}
			return
		}
		if s.passive && len(s.rest) == 0 || !s.passive && s.over() {
			s.director <- struct{}{}
			return
		}
		again, next := s.idle()
		if again {
			continue
		}
		if !s.skip(next) {
			s.director <- struct{}{}
			return
		}
	}
}

// woken takes an actor that need not wait any longer.
func (s *stage) woken() *actor {
	now, found := s.Now(), -1
	for i, a := range s.rest {
		if len(a.wake) > 0 || a.ctx.Err() != nil {
			return s.take(i)
		}
		if a.due.IsZero() || a.due.After(now) {
			continue
		}
		if f := found; f < 0 || a.due.Before(s.rest[f].due) || a.due.Equal(s.rest[f].due) && a.order < s.rest[f].order {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	return s.take(found)
}

func (s *stage) take(i int) *actor {
	a := s.rest[i]
	s.rest = append(s.rest[:i:i], s.rest[i+1:]...)
	return a
}

// skip moves the clock to when something happens; false when nothing ever does.
func (s *stage) skip(next time.Time) bool {
	earlier := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, a := range s.rest {
		earlier(a.due)
	}
	open := s.deadlines[:0]
	for _, d := range s.deadlines {
		if d.Err() == nil {
			open = append(open, d)
			earlier(d.at)
		}
	}
	s.deadlines = open
	if next.IsZero() {
		return false
	}
	s.advance(next)
	for _, d := range s.deadlines {
		if !d.at.After(s.Now()) {
			d.pass()
		}
	}
	return true
}

// Carry is part of exec.Stage.
func (s *stage) Carry(ctx context.Context, kind journal.Kind, r effect.Request, do func(context.Context) ([]byte, error)) ([]byte, error) {
	c := Call{Kind: kind, Name: r.Name, Input: r.Input, Key: r.IdempotencyKey, Attempt: r.Attempt, At: s.Now()}
	s.calls = append(s.calls, c)
	if o, ok := s.known[c.Key]; ok && o.call.Name == c.Name && string(o.call.Input) == string(c.Input) {
		return s.again(ctx, o)
	}
	out, err := s.carry(ctx, c, do)
	o := outcome{call: c, output: out, err: err, due: s.Now(), order: int64(len(s.outcomes)), timeout: ctx.Err() == context.DeadlineExceeded,
		given: ctx.Err() == context.Canceled}
	s.outcomes[c.Key] = o
	return out, err
}

// carry answers an attempt for the first time.
func (s *stage) carry(ctx context.Context, c Call, do func(context.Context) ([]byte, error)) ([]byte, error) {
	mocks := s.effects
	if c.Kind == journal.KindActivity {
		mocks = s.activities
	}
	mock := mocks[c.Name]
	if mock == nil && c.Kind == journal.KindActivity {
		return do(ctx)
	}
	var a Answer
	ok := false
	if mock != nil {
		a, ok = mock.next(c)
	}
	if !ok {
		if s.unmocked == nil {
			s.unmocked = &UnmockedError{Call: c, Mocked: mocks.names(), None: mock != nil}
		}
		return do(ctx) // an effect that the turner does not have
	}
	due := c.At.Add(a.After)
	if a.Never {
		due = time.Time{}
	}
	s.park(&actor{cue: make(chan struct{}, 1), ctx: ctx, due: due})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.Func != nil:
		return a.Func(c)
	case a.Failure != nil:
		return nil, a.Failure
	}
	return a.Output, nil
}

// again gives what became of the request in the play that is cut, at the same time.
func (s *stage) again(ctx context.Context, o outcome) ([]byte, error) {
	a := &actor{cue: make(chan struct{}, 1), ctx: ctx, due: o.due, order: o.order - knownFirst}
	if o.given {
		a.due = time.Time{}
	} else if o.timeout {
		if d, ok := ctx.Value(deadlineKey{}).(*deadline); ok {
			d.at, a.due = o.due, time.Time{}
		}
	}
	s.park(a)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return o.output, o.err
}

// knownFirst puts outcomes that are known before others of the same time.
const knownFirst = 1 << 60
