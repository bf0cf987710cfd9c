package exec

import (
	"context"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/journal"
)

func signal(id, name, payload string) journal.Arrival {
	return journal.Arrival{ID: "signal:" + id, Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: name, Payload: []byte(payload)}
}

func TestFixtures(t *testing.T) {
	tests := []struct {
		name, fixture, input string
		world                world
		arrivals             []journal.Arrival
		state                journal.State
		want                 string
	}{
		{name: "echo", fixture: "echo", input: "2^53+1 is 9007199254740993 \x00\xff", state: journal.Completed, want: "2^53+1 is 9007199254740993 \x00\xff"},
		{name: "sequential steps", fixture: "steps", input: "12", state: journal.Completed, want: "[1][2][3][4][5][6][7][8][9][10][11][12]"},
		{name: "no steps", fixture: "steps", input: "0", state: journal.Completed, want: ""},
		{name: "parallel", fixture: "parallel", state: journal.Completed, want: "[1][2][3]"},
		{name: "a day", fixture: "timer", input: "86400000000000", state: journal.Completed, want: "done"},
		{name: "timer of 0", fixture: "timer", input: "0", state: journal.Completed, want: "done"},
		{name: "signal before the run", fixture: "signal", arrivals: []journal.Arrival{signal("1", "go", "now")}, state: journal.Completed, want: "now"},
		{name: "other signals do not count", fixture: "signal", arrivals: []journal.Arrival{signal("1", "stop", "x"), signal("2", "go", "y")}, state: journal.Completed, want: "y"},
		{name: "signal that never comes", fixture: "signal", state: journal.Waiting},
		{name: "race won by the effect", fixture: "race", input: "3600000000000", state: journal.Completed, want: "effect [1]"},
		{name: "race won by the timer", fixture: "race", input: "0", world: world{"test.step": hang}, state: journal.Completed, want: "timer"},
		{name: "wait with a timeout", fixture: "waittimeout", input: "5000000000", state: journal.Completed, want: "timeout"},
		{name: "activity", fixture: "activity", input: "ab", state: journal.Completed, want: "abab"},
		{name: "manifest module as workflow", fixture: "manifest", input: "hi", state: journal.Completed, want: "hi"},
		{name: "publish", fixture: "published", state: journal.Completed, want: "done"},
		{name: "plain WASI program", fixture: "wasi", input: "to and fro", state: journal.Completed, want: "to and fro"},
		{name: "fails by itself", fixture: "failing", state: journal.Failed, want: "out_of_stock"},
		{name: "traps", fixture: "trap", state: journal.Failed, want: abi.CodeTrap},
		{name: "exits with 3", fixture: "abort", state: journal.Failed, want: abi.CodeExit},
		{name: "computes without end", fixture: "spin", state: journal.Failed, want: abi.CodeOutOfGas},
		{name: "calls itself without end", fixture: "recurse", state: journal.Failed, want: abi.CodeCallDepth},
		{name: "waits for nothing", fixture: "deadlock", state: journal.Failed, want: abi.CodeDeadlock},
		{name: "asks for an unknown handle", fixture: "misuse", state: journal.Failed, want: abi.CodeMisuse},
		{name: "points outside memory", fixture: "outside", state: journal.Failed, want: abi.CodeMisuse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, tt.fixture, tt.input, tt.world)
			for _, a := range tt.arrivals {
				h.store.arrive(a)
			}
			r := h.drive()
			if tt.state == journal.Waiting {
				if r.State != journal.Waiting || r.Waiting == "" {
					t.Fatalf("got %s waiting for %q, want waiting for something", r.State, r.Waiting)
				}
				return
			}
			h.check(r, tt.state, tt.want)
			h.replays()
			h.resumesFromEveryPrefix(0, tt.arrivals, r)
		})
	}
}

// hang never answers by itself.
func hang(ctx context.Context, _ effect.Request) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// replays checks that the finished journal replays without a write.
func (h *harness) replays() {
	h.t.Helper()
	before := h.store.commits
	run := h.snapshot()
	rep, err := h.turner.Replay(context.Background(), run, run.Digest)
	if err != nil {
		h.t.Fatal(err)
	}
	if rep.Mismatch != nil {
		h.t.Fatalf("replay does not match:\n%v", rep.Mismatch)
	}
	if rep.Entries != run.NextSeq || h.store.commits != before {
		h.t.Fatalf("replay matched %d of %d entries and made %d commits, want all and 0", rep.Entries, run.NextSeq, h.store.commits-before)
	}
}

// resumesFromEveryPrefix cuts the journal after each entry and carries the run on: the end must be the same.
func (h *harness) resumesFromEveryPrefix(from int, arrivals []journal.Arrival, want journal.Run) {
	h.t.Helper()
	full := h.store.entries
	for n := from; n < len(full); n++ {
		h.store.entries = full
		h.cut(n)
		for _, a := range arrivals {
			if !delivered(full[:n], a) {
				h.store.arrive(a)
			}
		}
		got := h.drive()
		if got.State != want.State || string(got.Output) != string(want.Output) || string(got.Failure) != string(want.Failure) {
			h.t.Fatalf("cut after %d entries: got %s %q %q, want %s %q %q", n, got.State, got.Output, got.Failure, want.State, want.Output, want.Failure)
		}
		if len(h.store.entries) != len(full) {
			h.t.Fatalf("cut after %d entries: got %d entries in the end, want %d", n, len(h.store.entries), len(full))
		}
		for i, e := range h.store.entries {
			if f := full[i]; e.Kind != f.Kind || e.Name != f.Name || e.Op != f.Op || string(e.Payload) != string(f.Payload) || e.Trail != f.Trail {
				h.t.Fatalf("cut after %d entries: entry %d is %+v, want %+v", n, i, e, f)
			}
		}
	}
}

func delivered(entries []journal.Entry, a journal.Arrival) bool {
	for _, e := range entries {
		if e.Kind == journal.KindSignal && e.Name == a.Name {
			return true
		}
	}
	return false
}

func TestSequentialStepCostsOneEntryAndOneCommit(t *testing.T) {
	h := newHarness(t, "steps", "10", nil)
	h.check(h.drive(), journal.Completed, "[1][2][3][4][5][6][7][8][9][10]")
	if got, want := len(h.store.entries), 12; got != want {
		t.Errorf("got %d entries, want started, 10 steps and completed: %d", got, want)
	}
	if got, want := h.store.commits, 11; got != want { // the last step shares the commit of the end
		t.Errorf("got %d commits, want %d", got, want)
	}
	if got, want := len(h.calls), 10; got != want {
		t.Errorf("got %d effects %v, want %d", got, h.calls, want)
	}
}

func TestIdempotencyKeyIsTheSameInEveryAttempt(t *testing.T) {
	h := newHarness(t, "steps", "1", nil)
	h.check(h.drive(), journal.Completed, "[1]")
	first := h.calls[0]
	h.cut(1)
	h.check(h.drive(), journal.Completed, "[1]")
	if h.calls[0] != first {
		t.Errorf("got %q after a restart, want %q", h.calls[0], first)
	}
	if !strings.Contains(first, h.snapshot().ID.String()+"/1") {
		t.Errorf("got %q, want the run and handle in the key", first)
	}
}

func TestPublishedAndLogs(t *testing.T) {
	h := newHarness(t, "published", "", nil)
	h.check(h.drive(), journal.Completed, "done")
	if got := h.store.pub["progress"]; got != "full" {
		t.Errorf("got progress %q, want full", got)
	}
	if n := strings.Count(h.logs.String(), "halfway"); n != 1 {
		t.Errorf("got the log line %d times, want 1", n)
	}
	h.cut(2) // the step's entry is there: the line before it is silent in replay
	h.drive()
	if n := strings.Count(h.logs.String(), "halfway"); n != 1 {
		t.Errorf("got the log line %d times after a replay, want 1", n)
	}
}
