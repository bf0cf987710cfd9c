package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// watched is a module that tells of each instance that was frozen.
type watched struct {
	program
	frozen chan struct{}
}

func (w watched) tell(end sandbox.Ending) sandbox.Ending {
	if end.Frozen != nil {
		w.frozen <- struct{}{}
	}
	return end
}

func (w watched) Run(ctx context.Context, world sandbox.World, export string) sandbox.Ending {
	return w.tell(w.program.Run(ctx, world, export))
}

func (w watched) Thaw(ctx context.Context, world sandbox.World, f *sandbox.Frozen) sandbox.Ending {
	return w.tell(w.program.Thaw(ctx, world, f))
}

// direct says that two of a request are made at a time.
func direct(r effect.Request) bool { return strings.Contains(string(r.Input), "direct") }

// answer answers at once, but one of two requests later than the other, always the same.
func answer(_ context.Context, r effect.Request) ([]byte, error) {
	if direct(r) && r.IdempotencyKey[len(r.IdempotencyKey)-1]%2 == 1 && r.Attempt == 1 {
		return nil, abi.NewFailure("once", "at first")
	}
	return fmt.Appendf(nil, "%q", "answer to "+string(r.Input)), nil
}

// TestEvictedInFlight freezes the guest of a turn while each of its effects is under way, for want of memory: the turn
// goes on without it, and everything is as if it had stayed.
func TestEvictedInFlight(t *testing.T) {
	plain := tortured(t, Checkpoints{})
	plain.turner.cfg.Effects["test.ask"] = effect.Effect{Retry: abi.Retry{Attempts: 2, BackoffMS: 10}, Handler: effect.HandlerFunc(answer)}
	want := plain.drive()

	h := tortured(t, Checkpoints{})
	frozen := make(chan struct{})
	load := h.turner.load
	h.turner.load = func(ctx context.Context, owner tenant.ID, d modules.Digest) (program, error) {
		p, err := load(ctx, owner, d)
		return watched{p, frozen}, err
	}
	var turn *Turn
	h.turner.cfg.Effects["test.ask"] = effect.Effect{Retry: abi.Retry{Attempts: 2, BackoffMS: 10}, Handler: effect.HandlerFunc(func(ctx context.Context, r effect.Request) ([]byte, error) {
		if direct(r) {
			return answer(ctx, r)
		}
		turn.mu.Lock()
		x := turn.rec.x
		turn.mu.Unlock()
		x.Evict()
		select {
		case <-frozen:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return answer(ctx, r)
	})}
	evicted := int64(0)
	for r := h.snapshot(); !r.State.Terminal(); r = h.snapshot() {
		h.store.mu.Lock()
		if r.State == journal.Waiting && h.store.now.Before(r.WakeAt) {
			h.store.now = r.WakeAt
		}
		h.store.mu.Unlock()
		turn = h.turner.Open(h.store.claim())
		turn.Run(t.Context())
		evicted = h.turner.Counts().Returned
	}
	got := h.snapshot()
	h.check(got, journal.Completed, string(want.Output))
	if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
		t.Errorf("entries (-stayed +evicted):\n%s", diff)
	}
	if evicted < 15 || len(h.turner.Counts().Fallbacks) > 0 {
		t.Errorf("got %+v", h.turner.Counts())
	}
}

// TestEvictedGuestThatCannotBeFrozen begins again, as one does that asked for memory itself.
func TestEvictedGuestThatCannotBeFrozen(t *testing.T) {
	h := newHarness(t, "steps", "3", nil)
	var u Turn
	u.t = h.turner
	_, err := u.outside(nil, sandbox.Ending{Cause: errEvicted})
	if got := fmt.Sprint(err); got != fmt.Sprintf("%v: %v", sandbox.ErrPressure, errEvicted) {
		t.Errorf("got %v, want the pressure that makes a turn begin again", err)
	}
	big := make([]byte, 40<<20)
	if _, err := u.outside(nil, sandbox.Ending{Cause: errEvicted, Frozen: &sandbox.Frozen{Patch: big}}); err == nil || !u.stays {
		t.Errorf("got %v, want an instance that is too large, and stays", err)
	}
	if diff := cmp.Diff(map[string]int64{"not_frozen": 1, "too_large": 1}, h.turner.Counts().Fallbacks); diff != "" {
		t.Errorf("fallbacks (-want +got):\n%s", diff)
	}
}
