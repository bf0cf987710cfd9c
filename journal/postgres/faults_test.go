package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise/internal/pgtest"
	"reprise/journal"
)

// killAll ends every connection to the database but the fixture's own.
func (f *fixture) killAll() {
	f.Helper()
	var n int
	f.queryRow(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`, &n)
}

// persist repeats a call whose fate is not known until it has an answer, as a host does.
func persist(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || fateOf(err) == refused || ctx.Err() != nil {
			return err
		}
	}
}

// TestConnectionsAreKilledAllTheTime commits to many runs while all connections are ended over and over.
// Whatever answers are lost, each journal comes out whole.
func TestConnectionsAreKilledAllTheTime(t *testing.T) {
	f := newFixture(t)
	const runs, steps, kills = 8, 40, 25
	ls := f.ownedMany(runs)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, runs)
	progress := make(chan struct{}, runs*steps)
	for i, l := range ls {
		wg.Go(func() {
			for seq := range int64(steps) {
				b := journal.Batch{Entries: entries(seq, 1), Stash: []journal.Arrival{{ID: fmt.Sprint("op:", seq), Kind: journal.ArrivalDone, Op: int32(seq)}}}
				if seq == steps-1 {
					b.Next = &journal.Transition{State: journal.Completed, Output: []byte("out")}
				}
				errs[i] = persist(ctx, func() error { _, err := f.s.Commit(ctx, l, b); return err })
				if errs[i] != nil {
					return
				}
				progress <- struct{}{}
			}
		})
	}
	for range kills {
		<-progress // so that the kills fall into the work and not before it
		f.killAll()
	}
	wg.Wait()
	for i, l := range ls {
		if errs[i] != nil {
			t.Errorf("run %d: %v", i, errs[i])
		}
		f.whole(l, steps)
	}
}

// whole checks that a run is completed and that its journal has n entries, the right ones.
func (f *fixture) whole(l journal.Lease, n int) {
	f.Helper()
	r, err := f.s.Run(f.Context(), acme, l.Run)
	f.must(err)
	if r.State != journal.Completed || r.NextSeq != int64(n) {
		f.Errorf("run %s: got %s at seq %d, want completed at %d", l.Run, r.State, r.NextSeq, n)
	}
	got := f.entries(l.Run)
	if len(got) != n {
		f.Fatalf("entries of run %s: got %d, want %d", l.Run, len(got), n)
	}
	for i, want := range entries(0, n) {
		if !got[i].Same(want) || got[i].Token != l.Token {
			f.Errorf("entry %d of run %s: got %+v, want %+v", i, l.Run, got[i], want)
		}
	}
}

// TestClaimsSurviveLostAnswers checks that no run is left with a live owner that was never told of it.
func TestClaimsSurviveLostAnswers(t *testing.T) {
	f := newFixture(t)
	const runs = 60
	for range runs {
		f.create()
	}
	node := f.register("n1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := make(map[journal.RunID]int64)
	var killer sync.WaitGroup
	killer.Go(func() {
		for range 20 {
			f.killAll()
		}
	})
	for range 20 {
		f.claimInto(ctx, told, node)
	}
	killer.Wait()
	for len(told) < runs && ctx.Err() == nil {
		f.claimInto(ctx, told, node)
	}
	if len(told) != runs {
		t.Errorf("runs that the node was told of: got %d, want %d", len(told), runs)
	}
}

func (f *fixture) claimInto(ctx context.Context, told map[journal.RunID]int64, node string) {
	f.Helper()
	cs, err := f.s.Claim(ctx, node, journal.Want{Limit: 1})
	if err != nil {
		return // nothing is known, the next call finds out
	}
	for _, c := range cs.Claims {
		if _, twice := told[c.Run.ID]; twice {
			f.Errorf("run %s: handed out twice", c.Run.ID)
		}
		if c.Run.Attempts != 1 || c.Lease.Token != 1 {
			f.Errorf("run %s: got attempt %d, token %d, want 1, 1", c.Run.ID, c.Run.Attempts, c.Lease.Token)
		}
		told[c.Run.ID] = c.Lease.Token
	}
}

func TestALostClaimIsHandedOutOnce(t *testing.T) {
	f := newFixture(t)
	r := f.create()
	node := f.register("n1")
	lost, err := f.s.claim(t.Context(), f.s.pool, claimArgs(node, journal.Want{Limit: 10}, 77, nil, (&outlook{}).next()))
	f.must(err)
	if len(lost.Claims.Claims) != 1 {
		t.Fatalf("claims: got %d, want 1", len(lost.Claims.Claims))
	}
	f.s.lostClaims.add(node, 77) // as if the answer had not come
	other := f.register("n2")
	if cs, err := f.s.Claim(t.Context(), other, journal.Want{Limit: 10}); err != nil || len(cs.Claims) != 0 {
		t.Errorf("another node's claim: got %v, %v, want nothing", cs.Claims, err)
	}
	again, err := f.s.Claim(t.Context(), node, journal.Want{Limit: 10})
	f.must(err)
	if len(again.Claims) != 1 || again.Claims[0].Lease != lost.Claims.Claims[0].Lease || again.Claims[0].Run.ID != r.ID || again.Claims[0].Run.Attempts != 1 {
		t.Fatalf("next claim: got %+v, want the lost one, %+v", again.Claims, lost.Claims.Claims)
	}
	if cs, err := f.s.Claim(t.Context(), node, journal.Want{Limit: 10}); err != nil || len(cs.Claims) != 0 {
		t.Errorf("the claim after it: got %v, %v, want nothing", cs.Claims, err)
	}
}

// TestServerCrashLosesNothingAcknowledged needs a server that fsyncs.
func TestServerCrashLosesNothingAcknowledged(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	b := &testbed{cfg: Config{DSN: server.Database(t)}} // fsync is on: no AllowNoFsync
	f := newFixtureOn(t, b)
	l := f.owned()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const steps = 10
	for seq := range int64(steps) {
		if seq%3 == 2 {
			server.Restart(t, pgtest.Immediate)
		}
		batch := journal.Batch{Entries: entries(seq, 1)}
		if seq == steps-1 {
			batch.Next = &journal.Transition{State: journal.Completed}
		}
		f.must(persist(ctx, func() error { _, err := f.s.Commit(ctx, l, batch); return err }))
	}
	f.whole(l, steps)
}

// TestAPausedServerDoesNotHoldTheCaller checks that a caller gets away with its context, and that the
// store works when the server is back.
func TestAPausedServerDoesNotHoldTheCaller(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	f := newFixtureOn(t, &testbed{cfg: Config{DSN: server.Database(t), AllowNoFsync: true}})
	l := f.owned()
	resume := server.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}}
	if _, err := f.s.Commit(ctx, l, b); err == nil {
		t.Error("commit while the server stands still: got no error, want one")
	}
	if _, err := f.s.Run(ctx, acme, l.Run); err == nil {
		t.Error("read while the server stands still: got no error, want one")
	}
	resume()
	// The first commit may have been carried out by now, or not; a repeat is right in both cases.
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f.must(persist(long, func() error { _, err := f.s.Commit(long, l, b); return err }))
	f.whole(l, 1)
}

func TestListenConnectionIsReplaced(t *testing.T) {
	f := newFixture(t)
	far := f.b.open(t) // another process, whose hints come by notification only
	listeners := func() map[int]bool {
		rows, err := f.conn.Query(t.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
		f.must(err)
		defer rows.Close()
		pids := map[int]bool{}
		for rows.Next() {
			var pid int
			f.must(rows.Scan(&pid))
			pids[pid] = true
		}
		f.must(rows.Err())
		return pids
	}
	f.waitFor("both stores to listen", func() bool { return len(listeners()) == 2 })
	f.hears(far)
	old := listeners()
	for pid := range old {
		var ok bool
		f.must(f.conn.QueryRow(t.Context(), `SELECT pg_terminate_backend($1)`, pid).Scan(&ok))
	}
	f.waitFor("both stores to listen again", func() bool {
		fresh := 0
		for pid := range listeners() {
			if !old[pid] {
				fresh++
			}
		}
		return fresh == 2
	})
	f.hears(far)
}

// hears checks that a store is told of what another one did. The hint that a store gives itself when
// it begins to listen may come in between, so the run must be there when the hint has come.
func (f *fixture) hears(far *Store) {
	f.Helper()
	f.waitFor("the hints to be quiet", func() bool {
		select {
		case <-far.Hints():
			return false
		default:
			return true
		}
	})
	f.create()
	select {
	case <-far.Hints():
	case <-time.After(time.Minute):
		f.Fatal("got no hint from another process, want one")
	}
}
