package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// severed is a store whose network can be cut.
type severed struct {
	journal.Store
	cut atomic.Bool
}

func (s *severed) err() error {
	if s.cut.Load() {
		return errSevered
	}
	return nil
}

func (s *severed) Heartbeat(ctx context.Context, node string, ttl time.Duration) (time.Time, error) {
	if err := s.err(); err != nil {
		return time.Time{}, err
	}
	return s.Store.Heartbeat(ctx, node, ttl)
}

func (s *severed) Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error) {
	if err := s.err(); err != nil {
		return journal.Claims{}, err
	}
	return s.Store.Claim(ctx, node, w)
}

func (s *severed) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Commit(ctx, l, b)
}

func (s *severed) ListNodes(ctx context.Context) ([]journal.Node, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.ListNodes(ctx)
}

const numbers = 60 // steps of a run that computes while the clock jumps

func allSteps() string {
	var b strings.Builder
	for i := range numbers {
		fmt.Fprintf(&b, "[%d]", i+1)
	}
	return b.String()
}

// live waits until both hosts have a lease.
func live(t *testing.T, nodes ...*node) {
	t.Helper()
	until(t, "every host to have a lease", func() bool {
		for _, n := range nodes {
			if n.Ready(t.Context()) != nil {
				return false
			}
		}
		return true
	})
}

// TestClockJumps moves the database's clock while runs execute and others wait. Forward ends every lease at once;
// backward ends none. Whatever it does, a journal has one writer at a time, and a timer fires when that clock
// passes its time: no earlier, and at once when the clock comes back.
func TestClockJumps(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		a, b := s.boot("a", s.open(), nil), s.boot("b", s.open(), nil)
		a.push("steps", "timer", "signal")
		hours := func(h float64) string {
			return fmt.Sprint((time.Duration(h * float64(time.Hour))).Nanoseconds())
		}
		soon, late, silent := a.start("timer", hours(1)), a.start("timer", hours(20)), a.start("signal", "")
		for _, run := range []journal.RunID{soon, late, silent} {
			a.until(run, journal.Waiting)
		}
		due := a.row(late).WakeAt
		var all []journal.RunID
		for i, jump := range []time.Duration{30 * time.Minute, -24 * time.Hour, -24*time.Hour + time.Minute, 0, -time.Minute, 2 * time.Hour} {
			var busy []journal.RunID
			for range 6 {
				busy = append(busy, a.start("steps", fmt.Sprint(numbers)))
			}
			until(t, "a run to be under way", func() bool { return a.row(busy[0]).NextSeq > 2 })
			s.set(jump)
			for _, run := range busy {
				b.ends(run, journal.Completed, allSteps())
			}
			live(t, a, b)
			b.ends(a.start("timer", "100000000"), journal.Completed, "done") // of the new time
			all = append(all, busy...)
			if i < 5 && a.row(soon).State != journal.Waiting {
				t.Fatalf("after the jump to %s the timer of an hour has fired", jump)
			}
		}
		b.ends(soon, journal.Completed, "done")
		if r := a.row(late); r.State != journal.Waiting || !r.WakeAt.Equal(due) {
			t.Errorf("got the later timer %s, due at %s; want waiting until %s", r.State, r.WakeAt, due)
		}
		s.set(21 * time.Hour)
		b.ends(late, journal.Completed, "done")
		if r := a.row(late); r.FinishedAt.Before(due) {
			t.Errorf("the run ended at %s, before its timer was due at %s", r.FinishedAt, due)
		}
		live(t, a, b)
		a.signal(silent, "go", "now")
		b.ends(silent, journal.Completed, "now")
		for _, run := range append(all, soon, late, silent) {
			b.checkJournal(run)
		}
	})
}

// TestTakeoverAfterTheClockWentBack: the clock goes back by a day under a lease; with the next renewal the lease is as
// short as ever, so that its node's runs are not lost for a day when it dies.
func TestTakeoverAfterTheClockWentBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		net := &severed{Store: s.open()}
		held := make(chan struct{})
		hang := func(c *host.Config) { c.Effects = hanging(held) }
		a := s.boot("a", net, hang)
		a.push("steps")
		run := a.start("steps", "1")
		<-held
		s.set(-24 * time.Hour)
		node := a.row(run).Owner
		until(t, "a renewal under the new clock", func() bool {
			now, err := a.store.Now(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range a.nodes() {
				if n.ID == node {
					return n.Live && n.ExpiresAt.Sub(now) < time.Hour
				}
			}
			t.Fatalf("the node %s has lost its lease because the clock went back", node)
			return false
		})
		net.cut.Store(true)
		b := s.boot("b", s.open(), nil)
		b.ends(run, journal.Completed, "[1]")
		b.checkJournal(run)
		net.cut.Store(false)
		live(t, a, b)
		if r, err := b.store.Run(t.Context(), tenant.Default, run); err != nil || r.State != journal.Completed {
			t.Errorf("got %s, %v when the severed host was back, want completed", r.State, err)
		}
	})
}
