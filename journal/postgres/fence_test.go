package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/journal"
)

// commitBlocked starts a commit while another transaction holds the run's row, and returns when the
// commit's statement waits for it: its snapshot is then older than what the other does next.
func (f *fixture) commitBlocked(l journal.Lease, b journal.Batch) func() (journal.State, error) {
	f.Helper()
	type answer struct {
		state journal.State
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		s, err := f.s.Commit(context.Background(), l, b)
		done <- answer{s, err}
	}()
	f.waitBlocked(1)
	return func() (journal.State, error) { a := <-done; return a.state, a.err }
}

func TestTakeoverDuringACommitFencesIt(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	other := f.lockRun(l.Run)
	answer := f.commitBlocked(l, journal.Batch{Entries: entries(0, 1)})
	other.exec(`UPDATE reprise.runs SET owner = 'thief#1', token = token + 1 WHERE id = $1`, uuidOf(l.Run))
	other.commit()
	if _, err := answer(); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("commit: got %v, want %v", err, journal.ErrFenced)
	}
	if got := f.entries(l.Run); len(got) != 0 {
		t.Errorf("entries: got %d, want none", len(got))
	}
}

func TestSignalDuringASuspensionWakesTheRun(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	other := f.lockRun(l.Run)
	answer := f.commitBlocked(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting}})
	other.exec(`UPDATE reprise.runs SET inbox_pos = 1, mail_pos = 1 WHERE id = $1`, uuidOf(l.Run))
	other.commit()
	if s, err := answer(); s != journal.Ready || err != nil {
		t.Errorf("commit: got %s, %v, want ready", s, err)
	}
}

func TestCommitOfAnotherLeaseDuringACommitIsAConflict(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	other := f.lockRun(l.Run)
	answer := f.commitBlocked(l, journal.Batch{Entries: entries(0, 1)})
	other.exec(`UPDATE reprise.runs SET next_seq = 1 WHERE id = $1`, uuidOf(l.Run))
	other.commit()
	if _, err := answer(); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("commit: got %v, want %v", err, journal.ErrConflict)
	}
}

// TestStaleNodeIsRefusedEverything is a node that was stopped for longer than its lease and goes on.
func TestStaleNodeIsRefusedEverything(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(3)
	f.b.advance(t, ttl+time.Second)
	second := f.b.open(t) // another process
	n2, err := second.Register(t.Context(), "n2", ttl)
	f.must(err)
	cs, err := second.Claim(t.Context(), n2.ID, journal.Want{Limit: 2})
	f.must(err)
	if len(cs.Claims) != 2 || cs.Claims[0].StolenFrom != ls[0].Node {
		t.Fatalf("take-over: got %+v, want two runs of %s", cs.Claims, ls[0].Node)
	}
	for i, l := range ls { // two that were taken over and one that was not
		for name, b := range map[string]journal.Batch{
			"nothing":    {},
			"entries":    {Entries: entries(0, 1)},
			"stash":      {Stash: []journal.Arrival{{ID: "op:1", Kind: journal.ArrivalDone, Op: 1}}},
			"published":  {Published: []journal.Published{{Key: "k"}}},
			"transition": {Next: &journal.Transition{State: journal.Completed}},
		} {
			if _, err := f.s.Commit(t.Context(), l, b); !errors.Is(err, journal.ErrFenced) {
				t.Errorf("run %d: commit of %s: got %v, want %v", i, name, err, journal.ErrFenced)
			}
		}
	}
	if _, err := f.s.Claim(t.Context(), ls[0].Node, journal.Want{Limit: 10}); !errors.Is(err, journal.ErrNodeLapsed) {
		t.Errorf("claim: got %v, want %v", err, journal.ErrNodeLapsed)
	}
	if _, err := f.s.Heartbeat(t.Context(), ls[0].Node, ttl); !errors.Is(err, journal.ErrNodeLapsed) {
		t.Errorf("heartbeat: got %v, want %v", err, journal.ErrNodeLapsed)
	}
}

func TestOneGroupTakesWhatHoldsAndLeavesTheRest(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(4)
	stale := ls[1]
	stale.Token--
	group := []*commit{
		{lease: ls[0], batch: journal.Batch{Entries: entries(0, 2)}},
		{lease: stale, batch: journal.Batch{Entries: entries(0, 1), Published: []journal.Published{{Key: "k"}}}},
		{lease: ls[2], batch: journal.Batch{Entries: entries(1, 1)}}, // not the next seq
		{lease: ls[3], batch: journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}}},
	}
	got, err := f.s.execGroup(t.Context(), f.s.pool, group)
	f.must(err)
	last, err := f.s.Run(t.Context(), ls[3].Tenant, ls[3].Run)
	f.must(err)
	want := []result{{state: journal.Running, written: true}, {}, {}, {state: journal.Completed, written: true, ended: journal.Ended{At: last.FinishedAt}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	for i, want := range []int{2, 0, 0, 1} {
		if got := len(f.entries(ls[i].Run)); got != want {
			t.Errorf("entries of run %d: got %d, want %d", i, got, want)
		}
	}
}

func TestOneRefusedCommitDoesNotTakeTheGroupDown(t *testing.T) {
	f := newFixture(t)
	ls := f.ownedMany(3)
	bad := entries(0, 1)
	bad[0].Kind = "nonsense" // the table's check refuses the whole statement
	group := []*commit{
		{lease: ls[0], batch: journal.Batch{Entries: entries(0, 1)}, done: make(chan result, 1)},
		{lease: ls[1], batch: journal.Batch{Entries: bad}, done: make(chan result, 1)},
		{lease: ls[2], batch: journal.Batch{Entries: entries(0, 1)}, done: make(chan result, 1)},
	}
	f.s.writeGroup(group)
	for i, c := range group {
		r := <-c.done
		if bad := i == 1; (r.err != nil) != bad || r.written == bad {
			t.Errorf("commit %d: got %+v", i, r)
		}
	}
}

func TestGather(t *testing.T) {
	run := func(n byte, payload int) *commit {
		c := &commit{lease: journal.Lease{Tenant: acme, Run: journal.RunID{n}}}
		c.batch.Entries = []journal.Entry{{Payload: make([]byte, payload)}}
		return c
	}
	many := make([]*commit, maxGroup+5)
	for i := range many {
		many[i] = &commit{lease: journal.Lease{Tenant: acme, Run: journal.RunID{byte(i), byte(i >> 8)}}}
	}
	for _, c := range []struct {
		name  string
		queue []*commit
		size  int
		next  bool
	}{
		{"one", []*commit{run(1, 0)}, 1, false},
		{"all that wait", []*commit{run(1, 0), run(2, 0), run(3, 0)}, 3, false},
		{"a run once", []*commit{run(1, 0), run(2, 0), run(1, 0), run(3, 0)}, 2, true},
		{"bounded in number", many, maxGroup, false},
		{"bounded in bytes", []*commit{run(1, maxGroupBytes/2), run(2, maxGroupBytes), run(3, 0)}, 1, true},
		{"a large one goes alone", []*commit{run(1, 2*maxGroupBytes), run(2, 0)}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Store{commits: make(chan *commit, len(c.queue))}
			for _, q := range c.queue[1:] {
				s.commits <- q
			}
			group, next := s.gather(c.queue[0], map[runKey]bool{})
			if len(group) != c.size || (next != nil) != c.next {
				t.Errorf("got %d in the group, another next %v; want %d, %v", len(group), next != nil, c.size, c.next)
			}
		})
	}
}
