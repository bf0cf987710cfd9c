package exec

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// goGuest is a guest in Go. It returns what its World stopped it with.
type goGuest func(w sandbox.World) error

func (g goGuest) Prepared() *modules.Prepared { return &modules.Prepared{Shape: modules.Command} }

func (g goGuest) Run(_ context.Context, w sandbox.World, _ string) sandbox.Ending {
	return sandbox.Ending{Cause: g(w)}
}

func (g goGuest) Freezable(string) error { return errNative }

func (g goGuest) Thaw(context.Context, sandbox.World, *sandbox.Frozen) sandbox.Ending {
	return sandbox.Ending{Cause: sandbox.ErrUnusable}
}

// errNative is why a guest that is no module is not frozen.
var errNative = errors.New("it is not a module")

// newGuest makes a harness whose module is guest.
func newGuest(t *testing.T, w world, guest goGuest) *harness {
	h := newHarness(t, "echo", "", w)
	h.turner.load = func(context.Context, tenant.ID, modules.Digest) (program, error) { return guest, nil }
	return h
}

// lookFor looks at a timer that is far away until it is stopped, and calls each with the number of looks.
func lookFor(w sandbox.World, each func(n int)) error {
	h, err := w.Start(sandbox.Request{Kind: sandbox.OpTimer, After: abi.MaxDuration})
	for n := 1; err == nil; n++ {
		each(n)
		_, err = w.Wait([]int32{h}, 0, 1)
	}
	return err
}

func TestLookingForEverReachesTheLimit(t *testing.T) {
	most := 0
	var h *harness
	h = newGuest(t, nil, func(w sandbox.World) error {
		return lookFor(w, func(int) { most = max(most, len(w.(*execution).rec.buffer)) })
	})
	h.turn()
	if r := h.snapshot(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "journal_limit: ") {
		t.Errorf("got %s %q, want blocked at the limit of the journal", r.State, r.Reason)
	}
	if most > maxBuffered {
		t.Errorf("got %d entries in memory, want %d at most", most, maxBuffered)
	}
}

func TestLookingGuestStopsWithItsNode(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := newGuest(t, nil, func(w sandbox.World) error {
		return lookFor(w, func(n int) {
			if n == 5 {
				cancel()
			}
		})
	})
	h.turner.Open(h.store.claim()).Run(ctx)
	if r := h.snapshot(); r.State != journal.Ready || r.NextSeq != 5 || r.Attempts != 0 {
		t.Errorf("got %s at seq %d after %d attempts, want ready at 5 after none", r.State, r.NextSeq, r.Attempts)
	}
}

func TestLookingActivityStopsAtItsTimeout(t *testing.T) {
	var status abi.Status
	h := newGuest(t, nil, func(w sandbox.World) error {
		if w.Entry().Kind == abi.EntryActivity {
			return lookFor(w, func(int) {
				if n := len(w.(*execution).rec.buffer); n > 0 {
					t.Errorf("got %d entries in the memory of an activity, want none", n)
				}
			})
		}
		a, err := w.Start(sandbox.Request{Kind: sandbox.OpActivity, Name: "act", Options: []byte(`{"timeout_ms":1}`)})
		if err == nil {
			_, err = w.Wait([]int32{a}, -1, 1)
		}
		if err == nil {
			status, err = w.Status(a)
		}
		return err
	})
	if h.turn(); status != abi.TimedOut {
		t.Errorf("got %s, want timed_out", status)
	}
}

// outcome asks for test.step, waits for it, and keeps how it ended.
func outcome(options string, status *abi.Status, payload *[]byte) goGuest {
	return func(w sandbox.World) error {
		e, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Options: []byte(options)})
		if err == nil {
			_, err = w.Wait([]int32{e}, -1, 1)
		}
		if err == nil {
			*status, err = w.Status(e)
		}
		if err == nil {
			*payload, err = w.Result(e)
		}
		return err
	}
}

// TestTotalTimeoutEndsAnAttempt: the bound of all attempts holds for the one in flight too.
func TestTotalTimeoutEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status abi.Status
		var payload []byte
		h := newGuest(t, world{"test.step": hang}, outcome(`{"total_timeout_ms":500}`, &status, &payload))
		h.store.clock = func() time.Time { return time.Now().UTC() }
		began := time.Now()
		h.turn()
		if status != abi.TimedOut || time.Since(began) != 500*time.Millisecond {
			t.Errorf("got %s after %s, want timed_out after 500ms: %s", status, time.Since(began), payload)
		}
	})
}

func TestOddFailuresOfHandlers(t *testing.T) {
	long := strings.Repeat("x", abi.MaxPayload)
	for name, tt := range map[string]struct {
		err  error
		code string
	}{
		"nil failure":       {(*abi.Failure)(nil), abi.CodeInternal},
		"too large failure": {abi.NewFailure("odd", "%s", long), abi.CodePayloadLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var status abi.Status
			var payload []byte
			h := newGuest(t, world{"test.step": func(context.Context, effect.Request) ([]byte, error) { return nil, tt.err }}, outcome("", &status, &payload))
			h.turn()
			if f := abi.DecodeFailure(payload); status != abi.Failed || f.Code != tt.code {
				t.Errorf("got %s %.80s, want failed with code %s", status, payload, tt.code)
			}
		})
	}
}

func TestAttemptThatWasGivenUpDoesNotLeave(t *testing.T) {
	h := newHarness(t, "echo", "", nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := newRecorder(ctx, h.turner, nil, nil)
	r.x = &execution{run: h.snapshot()}
	attempt{r: r, op: op{handle: 1, kind: journal.KindEffect, name: "test.step"}, number: 1}.run(ctx)
	if len(h.calls) != 0 {
		t.Errorf("got %v, want no effect", h.calls)
	}
}

// TestNoRunIsLeftToNobody: while its node lives nobody else may take a run, so a turn gives it back
// whatever the store says.
func TestNoRunIsLeftToNobody(t *testing.T) {
	for _, odd := range []error{journal.ErrConflict, journal.ErrState, journal.ErrNotFound} {
		t.Run(odd.Error(), func(t *testing.T) {
			h := newHarness(t, "steps", "3", nil)
			h.store.onCommit = func(n int) (error, error) {
				if n == 2 {
					return odd, nil
				}
				return nil, nil
			}
			h.turn()
			if r := h.snapshot(); r.State != journal.Ready || r.Attempts != 1 {
				t.Fatalf("got %s after %d attempts, want ready after 1", r.State, r.Attempts)
			}
			h.check(h.drive(), journal.Completed, "[1][2][3]")
		})
	}
}

// TestEndThatOnlyTheJournalHas: the row of a run whose journal has ended follows.
func TestEndThatOnlyTheJournalHas(t *testing.T) {
	h := newHarness(t, "steps", "1", nil)
	h.check(h.drive(), journal.Completed, "[1]")
	h.store.run.State, h.store.run.Output = journal.Ready, nil
	h.check(h.drive(), journal.Completed, "[1]")
}

// TestHandlesCostLittle: a guest that asks and gives up, again and again, is stopped before it fills memory.
func TestHandlesCostLittle(t *testing.T) {
	for name, use := range map[string]func(w sandbox.World) error{
		"dropped": func(w sandbox.World) error {
			h, err := w.Start(sandbox.Request{Kind: sandbox.OpTimer, After: 1})
			if err == nil {
				err = w.Drop(h)
			}
			return err
		},
		"refused": func(w sandbox.World) error {
			h, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Input: []byte("x"), Options: []byte("no options")})
			if err == nil && w.(*execution).m.get(h).request != nil {
				t.Error("the request of a handle that is done is kept")
			}
			if err == nil {
				err = w.Drop(h)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newGuest(t, nil, nil)
			x := &execution{run: h.snapshot(), m: newMachine(nil)}
			x.m.issued = abi.MaxRequests - 10*slack
			x.m.ops = make([]*op, x.m.issued)
			for n := int(x.m.issued); ; n++ {
				err := use(x)
				if kept := len(x.m.waiting) + len(x.m.ready); kept > 3*slack {
					t.Fatalf("got %d handles kept after %d requests, want at most %d", kept, n, 3*slack)
				}
				var misuse *sandbox.Misuse
				if errors.As(err, &misuse) && n == abi.MaxRequests {
					return
				}
				if err != nil || n > abi.MaxRequests {
					t.Fatalf("got %v after %d requests, want a misuse after %d", err, n, abi.MaxRequests)
				}
			}
		})
	}
}

// TestDatabaseThatFailsIsNoOutcome: an activity whose module cannot be read for a moment has not failed.
func TestDatabaseThatFailsIsNoOutcome(t *testing.T) {
	var status abi.Status
	guest := goGuest(func(w sandbox.World) error {
		if w.Entry().Kind == abi.EntryActivity {
			return nil
		}
		a, err := w.Start(sandbox.Request{Kind: sandbox.OpActivity, Name: "act"})
		if err == nil {
			_, err = w.Wait([]int32{a}, -1, 1)
		}
		if err == nil {
			status, err = w.Status(a)
		}
		return err
	})
	h := newGuest(t, nil, guest)
	loads := 0
	h.turner.load = func(context.Context, tenant.ID, modules.Digest) (program, error) {
		if loads++; loads == 2 || loads == 3 {
			return nil, errStoreDown
		}
		return guest, nil
	}
	if h.turn(); status != abi.OK || loads != 4 {
		t.Errorf("got %s after %d reads, want ok after 4", status, loads)
	}
}

// TestModulesOfOtherTenants: that a module is compiled already gives nobody else a right to it.
func TestModulesOfOtherTenants(t *testing.T) {
	h := newHarness(t, "steps", "1", nil)
	r := h.drive()
	h.check(r, journal.Completed, "[1]")
	if _, ok := engine.Cached(r.Digest); !ok {
		t.Fatal("the module is not compiled")
	}
	if _, err := h.turner.load(context.Background(), "other", r.Digest); !errors.Is(err, modules.ErrNotFound) {
		t.Errorf("got %v for another tenant, want %v", err, modules.ErrNotFound)
	}
}

// TestReplayOfARunThatGoesOn: entries that were written since the run's row was read are left out.
func TestReplayOfARunThatGoesOn(t *testing.T) {
	h := newHarness(t, "steps", "5", nil)
	h.check(h.drive(), journal.Completed, "[1][2][3][4][5]")
	run := h.snapshot()
	run.NextSeq = 3
	rep, err := h.turner.Replay(context.Background(), run, run.Digest)
	if err != nil || rep.Entries != 3 || rep.Ending != "live" {
		t.Errorf("got %+v, %v, want 3 entries and live", rep, err)
	}
}

// TestOutageDuringARelease: the database is away while a node gives its runs back. With the database comes
// what the run has learned; a store that will not take it gets the run without.
func TestOutageDuringARelease(t *testing.T) {
	for name, tt := range map[string]struct {
		down  time.Duration
		stash int
	}{"short": {12 * time.Second, 1}, "for ever with what it has learned": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				drain := make(chan struct{})
				h := newGuest(t, world{"test.step": func(context.Context, effect.Request) ([]byte, error) {
					<-drain
					return []byte("known"), nil
				}}, func(w sandbox.World) error {
					if _, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step"}); err != nil {
						return err
					}
					s, err := w.Start(sandbox.Request{Kind: sandbox.OpSignal, Name: "never"})
					if err == nil {
						_, err = w.Wait([]int32{s}, -1, 1)
					}
					return err
				})
				h.store.clock = func() time.Time { return time.Now().UTC() }
				turn := h.turner.Open(h.store.claim())
				go func() {
					synctest.Wait()
					back := time.Now().Add(tt.down)
					h.store.mu.Lock()
					h.store.onBatch = func(b journal.Batch) error {
						if time.Now().Before(back) && (tt.stash == 1 || len(b.Stash) > 0) {
							return errStoreDown
						}
						return nil
					}
					h.store.mu.Unlock()
					turn.Drain()
					close(drain)
				}()
				turn.Run(context.Background())
				if r := h.snapshot(); r.State != journal.Ready || len(h.store.inbox) != tt.stash {
					t.Errorf("got %s with %d outcomes, want ready with %d", r.State, len(h.store.inbox), tt.stash)
				}
			})
		})
	}
}
