package sched

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"reprise/journal"
	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore has runs that are due at certain times, and a database that may be away. Its clock is that of the
// bubble.
type fakeStore struct {
	mu       sync.Mutex
	boots    int
	node     journal.Node
	others   []journal.Node
	due      map[journal.RunID]time.Time
	mail     map[journal.RunID]int64
	down     bool
	claims   int
	claimFor time.Duration // how long the next claim takes to answer
	bootFor  time.Duration // how long the next registration takes to answer
	beatFor  time.Duration // how long the next heartbeat takes to answer
	deaf     bool          // heartbeats take that long whatever their context says
	hints    chan struct{}
	lastSeen map[journal.RunID]int64
}

var errDown = errors.New("connection refused")

func newFakeStore() *fakeStore {
	return &fakeStore{due: map[journal.RunID]time.Time{}, mail: map[journal.RunID]int64{}, hints: make(chan struct{}, 1)}
}

// pause takes a pause that was asked for once.
func (s *fakeStore) pause(asked *time.Duration) {
	s.mu.Lock()
	d := *asked
	*asked = 0
	s.mu.Unlock()
	time.Sleep(d)
}

func (s *fakeStore) Register(_ context.Context, name string, ttl time.Duration) (journal.Node, error) {
	s.pause(&s.bootFor)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return journal.Node{}, errDown
	}
	s.boots++
	s.node = journal.Node{ID: fmt.Sprintf("%s#%d", name, s.boots), Name: name, ExpiresAt: time.Now().Add(ttl), Live: true}
	return s.node, nil
}

func (s *fakeStore) Heartbeat(ctx context.Context, node string, ttl time.Duration) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, deaf := s.beatFor, s.deaf; d > 0 {
		s.beatFor = 0
		s.mu.Unlock()
		done := ctx.Done()
		if deaf {
			done = nil
		}
		select {
		case <-time.After(d):
		case <-done:
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return time.Time{}, ctx.Err()
		}
	}
	if s.down {
		return time.Time{}, errDown
	}
	if node != s.node.ID || !time.Now().Before(s.node.ExpiresAt) {
		return time.Time{}, journal.ErrNodeLapsed
	}
	s.node.ExpiresAt = time.Now().Add(ttl)
	return time.Now(), nil
}

func (s *fakeStore) Unregister(_ context.Context, node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node.ID == node {
		s.node = journal.Node{}
	}
	return nil
}

func (s *fakeStore) ListNodes(context.Context) ([]journal.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errDown
	}
	return append([]journal.Node{s.node}, s.others...), nil
}

func (s *fakeStore) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (s *fakeStore) Claim(_ context.Context, node string, w journal.Want) (journal.Claims, error) {
	got, err := s.claim(node, w)
	if len(got.Claims) > 0 {
		s.pause(&s.claimFor)
	}
	return got, err
}

func (s *fakeStore) claim(node string, w journal.Want) (journal.Claims, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	if s.down {
		return journal.Claims{}, errDown
	}
	if node != s.node.ID {
		return journal.Claims{}, journal.ErrNodeLapsed
	}
	out := journal.Claims{NextDue: -1, Now: time.Now()}
	for id, at := range s.due {
		left, owner := max(time.Until(at), 0), tenantOf(id)
		switch {
		case left == 0 && w.Held[owner] >= w.PerTenant:
		case left == 0 && len(out.Claims) < w.Limit:
			delete(s.due, id)
			w.Held[owner]++
			out.Claims = append(out.Claims, journal.Claim{Lease: journal.Lease{Tenant: owner, Run: id, Node: node, Token: 1}})
		case out.NextDue < 0 || left < out.NextDue:
			out.NextDue = left
		}
	}
	return out, nil
}

func (s *fakeStore) Mail(_ context.Context, _ string, seen map[journal.RunID]int64) (map[journal.RunID]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[journal.RunID]int64{}
	for id, pos := range seen {
		if s.mail[id] > pos {
			out[id] = s.mail[id]
		}
	}
	return out, nil
}

func (s *fakeStore) Hints() <-chan struct{} { return s.hints }

func (s *fakeStore) add(id byte, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due[journal.RunID{id}] = at
}

// tenantOf makes the runs from 100 on another tenant's.
func tenantOf(id journal.RunID) tenant.ID {
	if id[0] >= 100 {
		return "other"
	}
	return "acme"
}

func (s *fakeStore) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// fakeTurn runs until it is told to end.
type fakeTurn struct {
	id      journal.RunID
	started time.Time
	ended   time.Time
	end     chan struct{}
	drained chan struct{}
	mail    chan int64
	err     error
}

func (f *fakeTurn) Run(ctx context.Context) {
	select {
	case <-f.end:
	case <-f.drained:
	case <-ctx.Done():
		f.err = ctx.Err()
	}
	f.ended = time.Now()
}
func (f *fakeTurn) Mail(pos int64) { f.mail <- pos }
func (f *fakeTurn) Drain()         { close(f.drained) }

// bench is a dispatcher in a bubble.
type bench struct {
	store *fakeStore
	d     *Dispatcher
	mu    sync.Mutex
	turns []*fakeTurn
	hold  bool // turns do not end by themselves
}

func (b *bench) open(c journal.Claim) Turn {
	f := &fakeTurn{id: c.Lease.Run, started: time.Now(), end: make(chan struct{}), drained: make(chan struct{}), mail: make(chan int64, 10)}
	if !b.hold {
		close(f.end)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns = append(b.turns, f)
	return f
}

func (b *bench) all() []*fakeTurn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*fakeTurn(nil), b.turns...)
}

func bubble(t *testing.T, slots int, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{store: newFakeStore()}
		b.d = New(Config{Store: b.store, Name: "n", LeaseTTL: 15 * time.Second, Poll: time.Second, MaxRunning: slots, MaxPerTenant: max(slots-1, 2), DrainTimeout: 10 * time.Second,
			Logger: slog.New(slog.DiscardHandler), Clock: &Clock{}, Open: b.open})
		if err := b.d.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, b)
		if err := b.d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestTimersAreMetToTheMillisecond(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bench) {
		began := time.Now()
		time.Sleep(100 * time.Millisecond)
		b.store.add(1, began.Add(3370*time.Millisecond))
		time.Sleep(5 * time.Second)
		turns := b.all()
		if len(turns) != 1 {
			t.Fatalf("got %d turns, want 1", len(turns))
		}
		if late := turns[0].started.Sub(began.Add(3370 * time.Millisecond)); late < 0 || late > 5*time.Millisecond {
			t.Errorf("the run was claimed %s after it was due, want 0 to 5 ms: the claim says when the next is due", late)
		}
	})
}

func TestSlotsAreNotExceeded(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		for i := range byte(5) {
			b.store.add(i+1, time.Now())
		}
		time.Sleep(3 * time.Second)
		if got := len(b.all()); got != 2 {
			t.Fatalf("got %d turns at once, want 2", got)
		}
		synctest.Wait()
		if n := b.store.claims; n > 6 {
			t.Errorf("got %d claims in 3 s, want one a second: a full node cannot take what is due", n)
		}
		close(b.all()[0].end)
		time.Sleep(time.Millisecond)
		if got := len(b.all()); got != 3 {
			t.Errorf("got %d turns after one ended, want the next at once", got)
		}
	})
}

// TestTenantDoesNotTakeEverySlot: a tenant has more due than it may run; another's run starts at once all the same.
func TestTenantDoesNotTakeEverySlot(t *testing.T) {
	bubble(t, 4, func(t *testing.T, b *bench) {
		b.hold = true
		for i := range byte(9) {
			b.store.add(i+1, time.Now())
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := len(b.all()); got != 3 {
			t.Fatalf("got %d turns at once, want 3 of 4 slots", got)
		}
		if n := b.store.claims; n > 6 {
			t.Errorf("got %d claims in 3 s, want one a second: only runs are due for which there is no room", n)
		}
		b.store.add(100, time.Now())
		b.store.hints <- struct{}{}
		synctest.Wait()
		if turns := b.all(); len(turns) != 4 || tenantOf(turns[3].id) != "other" {
			t.Errorf("got %d turns, want the other tenant's run in the last slot", len(turns))
		}
		close(b.all()[0].end)
		synctest.Wait()
		if got := len(b.all()); got != 5 {
			t.Errorf("got %d turns after one ended, want the tenant's next at once", got)
		}
	})
}

func TestMailReachesATurnWithEveryHintLost(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(1500 * time.Millisecond)
		b.store.set(func() { b.store.mail[journal.RunID{1}] = 7 })
		began := time.Now()
		if got := <-b.all()[0].mail; got != 7 {
			t.Errorf("got position %d, want 7", got)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s, want at most one poll", took)
		}
		time.Sleep(3 * time.Second)
		if n := len(b.all()[0].mail); n != 0 {
			t.Errorf("got the same mail %d times more, want never", n)
		}
	})
}
