package sched

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"reprise/journal"
)

// TestLapseStopsRunsBeforeAnotherMayStart: the database is away for longer than the lease.
func TestLapseStopsRunsBeforeAnotherMayStart(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(6 * time.Second) // one renewal went well, 5 s after the start
		b.store.set(func() { b.store.down = true })
		expires := b.store.node.ExpiresAt
		time.Sleep(30 * time.Second)
		synctest.Wait()
		f := b.all()[0]
		if f.err == nil || f.ended.After(expires) {
			t.Errorf("the turn was stopped at %s (%v), want before the lease ends at %s", f.ended, f.err, expires)
		}
		if b.d.Ready() == nil {
			t.Error("the node says that it is ready without a lease")
		}
		b.store.set(func() { b.store.down = false })
		time.Sleep(10 * time.Second)
		if err := b.d.Ready(); err != nil {
			t.Errorf("got %v after the database came back, want ready", err)
		}
		if b.store.boots != 2 {
			t.Errorf("got %d registrations, want a second one", b.store.boots)
		}
	})
}

// TestAHeartbeatThatNeverReturnsStopsRunsInTime: not even a store that ignores its context keeps a node from stopping
// its runs before the lease ends.
func TestAHeartbeatThatNeverReturnsStopsRunsInTime(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(time.Second)
		var expires time.Time
		b.store.set(func() { b.store.beatFor, b.store.deaf, expires = time.Hour, true, b.store.node.ExpiresAt })
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		f := b.all()[0]
		if f.err == nil || !f.ended.Before(expires) {
			t.Errorf("the turn was stopped at %s (%v), want before the lease ends at %s", f.ended, f.err, expires)
		}
		var boots int
		b.store.set(func() { boots = b.store.boots })
		if err := b.d.Ready(); err != nil || boots != 2 {
			t.Errorf("got %v and %d registrations after it returned, want ready by a second one", err, boots)
		}
	})
}

// TestASilentConnectionDoesNotCostTheLease: one heartbeat is not answered, the next one is.
func TestASilentConnectionDoesNotCostTheLease(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(time.Second)
		b.store.set(func() { b.store.beatFor = time.Hour })
		time.Sleep(time.Minute)
		synctest.Wait()
		var boots int
		b.store.set(func() { boots = b.store.boots })
		if f := b.all()[0]; f.err != nil || boots != 1 {
			t.Errorf("got %v and %d registrations, want the turn untouched", f.err, boots)
		}
	})
}

func TestShortOutageDoesNotCostTheLease(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(time.Second)
		b.store.set(func() { b.store.down = true })
		time.Sleep(9 * time.Second)
		b.store.set(func() { b.store.down = false })
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if f := b.all()[0]; f.err != nil || b.store.boots != 1 {
			t.Errorf("got %v and %d registrations, want the turn untouched", f.err, b.store.boots)
		}
	})
}

func TestNameTakenByAnotherHost(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		time.Sleep(time.Second)
		b.store.set(func() {
			b.store.node = journal.Node{} // the other registration ended ours
			b.store.others = []journal.Node{{ID: "n#9", Name: "n", Live: true}}
		})
		time.Sleep(time.Minute)
		if b.store.boots != 1 || b.d.Ready() == nil {
			t.Errorf("got %d registrations and ready %v, want no war over the name", b.store.boots, b.d.Ready())
		}
		b.store.set(func() { b.store.others[0].Live = false })
		time.Sleep(10 * time.Second)
		if err := b.d.Ready(); err != nil || b.store.boots != 2 {
			t.Errorf("got %d registrations and %v after the other host ended, want a second", b.store.boots, err)
		}
	})
}

// TestClaimOfAnEndedLeaseDoesNotRun: the lease lapses and is replaced while a claim under it is under way.
func TestClaimOfAnEndedLeaseDoesNotRun(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.set(func() { b.store.claimFor = 25 * time.Second })
		b.store.add(1, time.Now())
		time.Sleep(2 * time.Second)
		b.store.set(func() { b.store.node = journal.Node{} })
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if turns := b.all(); b.store.boots != 2 || len(turns) != 1 || turns[0].err == nil {
			t.Errorf("got %d registrations and %d turns, want a second one, and the turn of the first stopped", b.store.boots, len(turns))
		}
	})
}

func TestStopEndsARegistrationUnderWay(t *testing.T) {
	var store *fakeStore
	bubble(t, 2, func(t *testing.T, b *bench) {
		store = b.store
		b.store.set(func() { b.store.node, b.store.bootFor = journal.Node{}, 5*time.Second })
		time.Sleep(7 * time.Second) // registering since the first beat, at 5 s
	})
	if store.boots != 2 || store.node.ID != "" {
		t.Errorf("got registration %q of %d, want the second, and none left after Stop", store.node.ID, store.boots)
	}
}

func TestStopWithoutStart(t *testing.T) {
	d := New(Config{Store: newFakeStore(), Name: "n", Logger: slog.New(slog.DiscardHandler), Clock: &Clock{}})
	if err := d.Stop(context.Background()); err != nil || d.Ready() == nil {
		t.Errorf("got %v and ready %v, want a node that takes no work", err, d.Ready())
	}
}

func TestStopDrains(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bench) {
		b.hold = true
		b.store.add(1, time.Now())
		time.Sleep(time.Second)
		began := time.Now()
		if err := b.d.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s, want no wait for a run that can be given back", took)
		}
		if b.d.Ready() == nil {
			t.Error("the node says that it is ready after Stop")
		}
		b.store.add(2, time.Now())
		time.Sleep(5 * time.Second)
		if got := len(b.all()); got != 1 {
			t.Errorf("got %d turns, want none after Stop", got)
		}
	})
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		if !c.Now().IsZero() {
			t.Errorf("got %s before the first reading, want zero", c.Now())
		}
		db := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		c.Set(db)
		time.Sleep(time.Hour)
		if got := c.Now(); !got.Equal(db.Add(time.Hour)) {
			t.Errorf("got %s, want the reading and an hour", got)
		}
		c.Set(db) // the database's clock went back
		if got := c.Now(); !got.Equal(db) {
			t.Errorf("got %s, want the newest reading", got)
		}
	})
}
