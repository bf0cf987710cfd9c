package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/modules"
)

func TestNondeterminismMessage(t *testing.T) {
	h := newHarness(t, "divergeA", "", nil)
	if r := h.drive(); r.State != journal.Waiting {
		t.Fatalf("got %s, want waiting for a signal", r.State)
	}
	other := fixture(t, "divergeB")
	h.store.mods[modules.DigestOf(other)] = other
	run := h.snapshot()
	rep, err := h.turner.Replay(context.Background(), run, modules.DigestOf(other))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Mismatch == nil || rep.Mismatch.Seq != 1 {
		t.Fatalf("got %+v, want a mismatch at seq 1", rep)
	}
	golden(t, "nondeterminism.golden", rep.Mismatch.Error()+"\n")

	// The same by force: the run is moved to the other module and claimed.
	h.store.run.Digest = modules.DigestOf(other)
	h.store.arrive(signal("1", "go", ""))
	entries := len(h.store.entries)
	r := h.drive()
	if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "nondeterminism: at seq 1 ") {
		t.Fatalf("got %s %q, want blocked for nondeterminism at seq 1", r.State, r.Reason)
	}
	if len(h.store.entries) != entries {
		t.Errorf("got %d entries, want %d: nothing is written after a mismatch", len(h.store.entries), entries)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), UPDATE=1 rewrites it:\n%s", path, diff)
	}
}

// TestMutatedJournalIsFound changes one thing of a finished journal at a time.
func TestMutatedJournalIsFound(t *testing.T) {
	mutations := map[string]func(e *journal.Entry){
		"kind":    func(e *journal.Entry) { e.Kind = journal.KindActivity },
		"name":    func(e *journal.Entry) { e.Name = "test.other" },
		"request": func(e *journal.Entry) { e.Request = []byte("9") },
		"options": func(e *journal.Entry) { e.Options = []byte("{}") },
		"handle":  func(e *journal.Entry) { e.Op = 7 },
		"issued":  func(e *journal.Entry) { e.Issued++ },
		"trail":   func(e *journal.Entry) { e.Trail ^= 1 },
		"status":  func(e *journal.Entry) { e.Status = abi.Pending },
	}
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "steps", "3", nil)
			h.check(h.drive(), journal.Completed, "[1][2][3]")
			mutate(&h.store.entries[2])
			run := h.snapshot()
			rep, err := h.turner.Replay(context.Background(), run, run.Digest)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Mismatch == nil || rep.Mismatch.Seq != 2 {
				t.Fatalf("got %+v, want a mismatch at seq 2", rep)
			}
		})
	}
}

func TestDamagedJournalBlocks(t *testing.T) {
	damages := map[string]func(s *memStore){
		"missing entry": func(s *memStore) { s.entries = s.entries[:1] },
		"gap":           func(s *memStore) { s.entries[1].Seq = 5 },
		"begun twice":   func(s *memStore) { s.entries[1].Kind = journal.KindStarted },
		"time goes back": func(s *memStore) {
			s.entries[1].At = s.entries[0].At.Add(-time.Hour)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "steps", "3", nil)
			h.drive()
			h.cut(2)
			damage(h.store)
			if r := h.drive(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "corrupt_history:") {
				t.Fatalf("got %s %q, want blocked for corrupt history", r.State, r.Reason)
			}
		})
	}
}

func TestUnreadablePayloadBlocks(t *testing.T) {
	for name, damage := range map[string]func(h *harness){
		"of an entry": func(h *harness) { h.store.unreadable = fmt.Errorf("payload sha256:00: %w", journal.ErrPayload) },
		"the input":   func(h *harness) { h.store.unclaimable = fmt.Errorf("payload sha256:00: %w", journal.ErrPayload) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "steps", "3", nil)
			h.drive()
			h.cut(2)
			damage(h)
			if r := h.drive(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "payload_unreadable: ") || !strings.Contains(r.Reason, "sha256:00") {
				t.Fatalf("got %s %q, want blocked for a payload that cannot be read", r.State, r.Reason)
			}
			if len(h.store.entries) != 2 {
				t.Errorf("entries: got %d, want the 2 that were there", len(h.store.entries))
			}
		})
	}
}

func TestMissingModuleBlocks(t *testing.T) {
	h := newHarness(t, "echo", "x", nil)
	h.store.run.Digest = modules.DigestOf([]byte("nobody has this"))
	if r := h.drive(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "module_missing:") {
		t.Fatalf("got %s %q, want blocked for a missing module", r.State, r.Reason)
	}
}

func TestCrashLoopBlocks(t *testing.T) {
	h := newHarness(t, "echo", "x", nil)
	h.store.run.Attempts = 5
	if r := h.drive(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "crash_loop:") {
		t.Fatalf("got %s %q, want blocked for a crash loop", r.State, r.Reason)
	}
	h = newHarness(t, "echo", "x", nil)
	h.store.run.Attempts = 4 // the last that it may have
	h.check(h.drive(), journal.Completed, "x")
}

func TestCancel(t *testing.T) {
	cancel := journal.Arrival{ID: "cancel", Kind: journal.ArrivalCancel, Op: abi.CancelHandle, Payload: []byte("enough")}
	t.Run("a guest that does not know of it ends at its next wait", func(t *testing.T) {
		h := newHarness(t, "signal", "", nil)
		h.drive()
		h.store.arrive(cancel)
		h.check(h.drive(), journal.Cancelled, abi.CodeCancelled)
		h.replays()
	})
	t.Run("a guest that handles it cleans up", func(t *testing.T) {
		h := newHarness(t, "cancelaware", "86400000000000", nil)
		h.turn()
		h.store.arrive(cancel)
		h.check(h.drive(), journal.Cancelled, abi.CodeCancelled)
		h.replays()
		if len(h.calls) != 1 || !strings.HasPrefix(h.calls[0], "test.cleanup ") {
			t.Errorf("got effects %v, want test.cleanup once", h.calls)
		}
	})
	t.Run("before the first turn", func(t *testing.T) {
		h := newHarness(t, "steps", "3", nil)
		h.store.arrive(cancel)
		h.check(h.drive(), journal.Cancelled, abi.CodeCancelled)
		if len(h.calls) != 0 {
			t.Errorf("got effects %v, want none", h.calls)
		}
	})
}

func TestRetry(t *testing.T) {
	flaky := func(failures int32, f *abi.Failure) world {
		var n atomic.Int32
		return world{"test.step": func(ctx context.Context, r effect.Request) ([]byte, error) {
			if n.Add(1) <= failures {
				return nil, f
			}
			return okStep(ctx, r)
		}}
	}
	setRetry := func(h *harness, r abi.Retry) {
		e := h.turner.cfg.Effects["test.step"]
		e.Retry = r
		h.turner.cfg.Effects["test.step"] = e
	}
	t.Run("succeeds in the third attempt, suspended in between", func(t *testing.T) {
		h := newHarness(t, "steps", "1", flaky(2, abi.NewFailure("busy", "not yet")))
		setRetry(h, abi.Retry{Attempts: 3, BackoffMS: 60_000})
		h.check(h.drive(), journal.Completed, "[1]")
		if want := 3; len(h.calls) != want || !strings.HasSuffix(h.calls[2], " 3") {
			t.Errorf("got attempts %v, want %d", h.calls, want)
		}
		if len(h.store.entries) != 3 {
			t.Errorf("got %d entries, want 3: failed attempts are not entries", len(h.store.entries))
		}
	})
	t.Run("gives up after its attempts", func(t *testing.T) {
		h := newHarness(t, "steps", "1", flaky(9, abi.NewFailure("busy", "not yet")))
		setRetry(h, abi.Retry{Attempts: 3, BackoffMS: 1})
		h.check(h.drive(), journal.Failed, "busy")
		if len(h.calls) != 3 {
			t.Errorf("got attempts %v, want 3", h.calls)
		}
	})
	t.Run("not for a terminal failure", func(t *testing.T) {
		h := newHarness(t, "steps", "1", flaky(9, abi.NewFailure("gone", "never").Terminal()))
		setRetry(h, abi.Retry{Attempts: 3, BackoffMS: 1})
		h.check(h.drive(), journal.Failed, "gone")
		if len(h.calls) != 1 {
			t.Errorf("got attempts %v, want 1", h.calls)
		}
	})
	t.Run("a host error is not shown", func(t *testing.T) {
		h := newHarness(t, "steps", "1", world{"test.step": func(context.Context, effect.Request) ([]byte, error) {
			return nil, errors.New("secret detail")
		}})
		r := h.drive()
		h.check(r, journal.Failed, abi.CodeInternal)
		if strings.Contains(string(r.Failure), "secret") {
			t.Errorf("got failure %s, want nothing of the host's error", r.Failure)
		}
	})
	t.Run("a panic is a failure", func(t *testing.T) {
		h := newHarness(t, "steps", "1", world{"test.step": func(context.Context, effect.Request) ([]byte, error) { panic("boom") }})
		h.check(h.drive(), journal.Failed, abi.CodeInternal)
	})
}

func TestLookAndOrder(t *testing.T) {
	h := newHarness(t, "look", "", nil)
	r := h.drive()
	if r.State != journal.Completed || !strings.HasSuffix(string(r.Output), "[1]") {
		t.Fatalf("got %s %q, want the result at the end", r.State, r.Output)
	}
	h.replays()
	h.resumesFromEveryPrefix(2, nil, r) // what the look found is decided by its entry, not before
	// The order in which the guest saw completions is that of the journal, in every replay.
	h = newHarness(t, "order", "", nil)
	h.drive()
	h.replays()
}

func TestStoreFaults(t *testing.T) {
	lost := errors.New("connection reset")
	tests := []struct {
		name          string
		before, after error
	}{
		{name: "commit lost", before: lost},
		{name: "acknowledgement lost", after: lost},
	}
	for _, tt := range tests {
		for at := 1; at <= 4; at++ {
			t.Run(fmt.Sprintf("%s at commit %d", tt.name, at), func(t *testing.T) {
				h := newHarness(t, "steps", "3", nil)
				h.store.onCommit = func(n int) (error, error) {
					if n == at {
						return tt.before, tt.after
					}
					return nil, nil
				}
				h.check(h.drive(), journal.Completed, "[1][2][3]")
				if len(h.store.entries) != 5 || len(h.calls) != 3 {
					t.Errorf("got %d entries and effects %v, want 5 and each once", len(h.store.entries), h.calls)
				}
			})
		}
	}
}

func TestFencedTurnStopsWithoutFurtherEffects(t *testing.T) {
	h := newHarness(t, "steps", "5", world{"test.step": func(ctx context.Context, r effect.Request) ([]byte, error) {
		return okStep(ctx, r)
	}})
	h.store.onCommit = func(n int) (error, error) {
		if n == 3 { // another node takes over
			h.store.run.Token++
			h.store.onCommit = nil
		}
		return nil, nil
	}
	h.turn()
	if len(h.calls) != 2 {
		t.Errorf("got effects %v, want 2: none leaves after the fence", h.calls)
	}
	if len(h.store.entries) != 2 {
		t.Errorf("got %d entries, want 2", len(h.store.entries))
	}
}

func TestDrainGivesTheRunBack(t *testing.T) {
	h := newHarness(t, "signal", "", nil)
	turn := h.turner.Open(h.store.claim())
	turn.Drain()
	turn.Run(context.Background())
	if r := h.snapshot(); r.State != journal.Ready || r.Attempts != 0 {
		t.Fatalf("got %s with %d attempts, want ready with 0", r.State, r.Attempts)
	}
}

func TestAbortGivesTheRunBackWithWhatItSaw(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := newHarness(t, "steps", "3", world{"test.step": func(c context.Context, r effect.Request) ([]byte, error) {
		if string(r.Input) == "2" {
			cancel()
			<-c.Done()
			return nil, c.Err()
		}
		return okStep(c, r)
	}})
	h.turner.Open(h.store.claim()).Run(ctx)
	r := h.snapshot()
	if r.State != journal.Ready || r.NextSeq != 2 {
		t.Fatalf("got %s at seq %d, want ready at 2", r.State, r.NextSeq)
	}
}

// TestOutcomeIsKeptUntilTheGuestLooks: an effect completes while the guest waits for something else, the
// run is suspended, and the effect is not carried out again when the guest looks.
func TestOutcomeIsKeptUntilTheGuestLooks(t *testing.T) {
	h := newHarness(t, "later", "", nil)
	if r := h.drive(); r.State != journal.Waiting || r.InboxPos != 1 {
		t.Fatalf("got %s with inbox position %d, want waiting with the outcome in the inbox", r.State, r.InboxPos)
	}
	h.store.arrive(signal("1", "go", "now "))
	h.check(h.drive(), journal.Completed, "now [1]")
	if len(h.calls) != 1 {
		t.Errorf("got effects %v, want it once", h.calls)
	}
	if open, _ := h.store.Arrivals(context.Background(), "", journal.RunID{}, 0); len(open) != 0 {
		t.Errorf("got %v in the inbox, want nothing left", open)
	}
	h.replays()
}
