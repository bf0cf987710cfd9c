package prune

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"reprise/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store has pieces to remove; a call takes a second.
type store struct {
	journal.Pruner
	mu     sync.Mutex
	pieces int
	fail   error
	calls  []time.Time
	asked  journal.Retention
}

func (s *store) Prune(ctx context.Context, r journal.Retention, limit int) (journal.Pruned, error) {
	s.mu.Lock()
	s.calls, s.asked = append(s.calls, time.Now()), r
	s.mu.Unlock()
	if !sleep(ctx, time.Second) {
		return journal.Pruned{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil || s.pieces == 0 {
		return journal.Pruned{}, s.fail
	}
	s.pieces--
	return journal.Pruned{Runs: limit, More: s.pieces > 0}, nil
}

// seen is when it was called.
func (s *store) seen() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// left is how many pieces there are still.
func (s *store) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pieces
}

func start(s *store) *Pruner {
	p := New(Config{Store: s, Retention: journal.Retention{Failed: time.Hour}, Every: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	p.Start(context.Background())
	return p
}

func TestRoundsUntilNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{pieces: 4}
		p := start(s)
		for len(s.seen()) == 0 { // the first round begins at any time of a minute, and the second is no less than 45 s behind it
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		if s.left() != 0 || len(s.seen()) != 4 || s.asked.Failed != time.Hour {
			t.Fatalf("after a round: got %d pieces left, %d calls, %v; want none, 4", s.left(), len(s.seen()), s.asked)
		}
		calls := s.seen()
		for i, at := range calls[1:] {
			if d := at.Sub(calls[i]); d != 2*time.Second {
				t.Errorf("between calls: got %s, want the time of one and as long a rest", d)
			}
		}
		time.Sleep(10 * time.Minute)
		if n := len(s.seen()) - 4; n < 7 || n > 14 {
			t.Errorf("in 10 more minutes: got %d calls, want about 10", n)
		}
		p.Stop()
		n := len(s.seen())
		time.Sleep(time.Hour)
		if len(s.seen()) != n {
			t.Error("called after Stop")
		}
		p.Stop()
	})
}

func TestAFailureIsForTheNextRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{pieces: 4, fail: errors.New("the database is away")}
		p := start(s)
		defer p.Stop()
		time.Sleep(5 * time.Minute)
		if n := len(s.seen()); n < 3 || n > 7 {
			t.Errorf("calls that fail in 5 minutes: got %d, want about 5", n)
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		time.Sleep(2 * time.Minute)
		if n := s.left(); n != 0 {
			t.Errorf("pieces left: got %d, want none", n)
		}
	})
}

func TestStopEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{pieces: 1 << 30}
		p := start(s)
		time.Sleep(2 * time.Minute)
		began := time.Now()
		p.Stop()
		if d := time.Since(began); d > 0 {
			t.Errorf("stop took %s, want no time", d)
		}
	})
	New(Config{}).Stop() // was not started
}
