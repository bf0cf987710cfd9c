package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
)

// testRules is the short form of the contract: ten rules, each in its plainest case. The other groups
// go through the same ground in detail.
func testRules(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"01 an append carries seq and token", ruleSeqAndToken},
		{"02 a batch is one transaction", ruleAtomic},
		{"03 a lost answer may be repeated", ruleRepeat},
		{"04 an expired lease cannot append", ruleExpired},
		{"05 a take-over fences the old owner", ruleTakeover},
		{"06 an arrival during a lease wakes the run after it", ruleArrivalDuringLease},
		{"07 only the database clock decides expiry", ruleClock},
		{"08 due work is found without a hint", ruleLevelTriggered},
		{"09 a run keeps its digest", ruleDigest},
		{"10 attempts are counted before execution", ruleAttempts},
	})
}

func ruleSeqAndToken(f *fixture) {
	l := f.owned()
	f.commit(l, journal.Batch{Entries: entries(0, 2)})
	f.refuse("gap", l, journal.Batch{Entries: entries(3, 1)}, journal.ErrConflict)
	wrong := l
	wrong.Token++
	f.refuse("wrong token", wrong, journal.Batch{Entries: entries(2, 1)}, journal.ErrFenced)
	f.commit(l, journal.Batch{Entries: entries(2, 1)})
}

func ruleAtomic(f *fixture) {
	l := f.owned()
	f.signal(l.Run, "s1")
	f.refuse("bad transition", l, journal.Batch{
		Entries: entries(0, 2), Stash: []journal.Arrival{done(7, "x")}, Observed: []string{"signal:s1"},
		Published: []journal.Published{{Key: "k", Value: []byte("v")}},
		Next:      &journal.Transition{State: "nonsense"},
	}, journal.ErrState)
	got := f.commit(l, journal.Batch{
		Entries: entries(0, 2), Stash: []journal.Arrival{done(7, "x")}, Observed: []string{"signal:s1"},
		Published: []journal.Published{{Key: "k", Value: []byte("v")}},
		Next:      &journal.Transition{State: journal.Waiting, SeenPos: 1},
	})
	s := f.snapshot(acme, l.Run)
	if got != journal.Waiting || s.Run.State != journal.Waiting || s.Run.NextSeq != 2 || len(s.Entries) != 2 || len(s.Published) != 1 {
		f.Fatalf("after the commit: got %+v", s)
	}
	f.diff("open arrivals", ids(s.Arrivals), []string{"op:7"})
}

func ruleRepeat(f *fixture) {
	l := f.owned()
	b := journal.Batch{Entries: entries(0, 2)}
	f.commit(l, b)
	before := f.snapshot(acme, l.Run)
	if s := f.commit(l, b); s != journal.Running {
		f.Fatalf("repeat: got state %s, want running", s)
	}
	f.diff("a repeat wrote something", f.snapshot(acme, l.Run), before)
	b.Entries = entries(0, 2)
	b.Entries[1].Payload = []byte("another outcome")
	f.refuse("other content", l, b, journal.ErrConflict)
}

func ruleExpired(f *fixture) {
	l := f.owned()
	f.Advance(ttl + time.Second)
	f.refuse("nobody took over", l, journal.Batch{Entries: entries(0, 1)}, journal.ErrFenced)
}

func ruleTakeover(f *fixture) {
	old := f.owned()
	f.commit(old, journal.Batch{Entries: entries(0, 1)})
	f.Advance(ttl + time.Second)
	c := f.claim(f.register("n2"))
	if c.Lease.Run != old.Run || c.Lease.Token <= old.Token || c.StolenFrom != old.Node {
		f.Fatalf("take-over: got %+v from %q, want run %s from %q with a token above %d", c.Lease, c.StolenFrom, old.Run, old.Node, old.Token)
	}
	f.refuse("old owner", old, journal.Batch{Entries: entries(1, 1)}, journal.ErrFenced)
	f.commit(c.Lease, journal.Batch{Entries: entries(1, 1)})
}

func ruleArrivalDuringLease(f *fixture) {
	l := f.owned()
	f.signal(l.Run, "s1")
	if s := f.suspend(l, 0); s != journal.Ready {
		f.Fatalf("suspend without having seen the signal: got %s, want ready", s)
	}
	c := f.claim(l.Node)
	if c.Run.InboxPos != 1 {
		f.Fatalf("inbox position: got %d, want 1", c.Run.InboxPos)
	}
	if s := f.suspend(c.Lease, 1); s != journal.Waiting {
		f.Fatalf("suspend having seen the signal: got %s, want waiting", s)
	}
	f.claimNone(l.Node)
}

func ruleClock(f *fixture) {
	l := f.owned()
	before := f.now()
	f.Advance(ttl / 2)
	if moved := f.now().Sub(before); moved < ttl/2 {
		f.Fatalf("clock: moved %s, want at least %s", moved, ttl/2)
	}
	f.commit(l, journal.Batch{Entries: entries(0, 1)})
	f.Advance(ttl)
	_, err := f.Store.Heartbeat(f.Context(), l.Node, ttl)
	f.want("heartbeat", err, journal.ErrNodeLapsed)
}

func ruleLevelTriggered(f *fixture) {
	l := f.owned()
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, WakeAt: f.now().Add(time.Minute)}})
	f.claimNone(l.Node)
	f.Advance(2 * time.Minute)
	if c := f.claim(l.Node); c.Run.ID != l.Run {
		f.Fatalf("claim: got %s, want %s", c.Run.ID, l.Run)
	}
}

func ruleDigest(f *fixture) {
	_, _, err := f.Store.SetAlias(f.Context(), acme, "order", f.digest)
	f.must(err)
	f.create(f.newRun())
	_, _, err = f.Store.SetAlias(f.Context(), acme, "order", f.putModule(acme, []byte("a newer module")))
	f.must(err)
	if c := f.claim(f.register("n1")); c.Run.Digest != f.digest {
		f.Fatalf("digest: got %s, want that of the start, %s", c.Run.Digest, f.digest)
	}
}

func ruleAttempts(f *fixture) {
	l := f.owned()
	for want := 2; want <= 4; want++ {
		f.Advance(ttl + time.Second)
		c := f.claim(f.register("n1"))
		if got := f.run(l.Run).Attempts; got != want || c.Run.Attempts != want {
			f.Fatalf("attempts: got %d stored and %d claimed, want %d", got, c.Run.Attempts, want)
		}
		l = c.Lease
	}
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting}})
	if got := f.run(l.Run).Attempts; got != 0 {
		f.Fatalf("attempts after a suspension: got %d, want 0", got)
	}
}
