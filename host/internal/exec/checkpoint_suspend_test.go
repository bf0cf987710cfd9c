package exec

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/modules"
)

// suspended is a run of a guest that saves its frames. Its effects fail once each, so that it is suspended at each.
func suspended(t *testing.T, name string, c Checkpoints) *harness {
	t.Helper()
	code, err := os.ReadFile("../../../testdata/guests/suspend/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, "echo", "1", nil)
	h.store.run.Digest = modules.DigestOf(code)
	h.store.mods[h.store.run.Digest] = code
	h.turner.cfg.Limits, h.turner.cfg.Checkpoints = abi.DefaultLimits(), c
	h.turner.cfg.Effects["test.ask"] = effect.Effect{Retry: abi.Retry{Attempts: 2, BackoffMS: 10}, Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls = append(h.calls, fmt.Sprintf("%s %s %d", r.Input, r.IdempotencyKey, r.Attempt))
		if r.Attempt == 1 {
			return nil, abi.NewFailure("once", "at first")
		}
		return fmt.Appendf(nil, "%q", "answer to "+string(r.Input)), nil
	})}
	return h
}

// TestSuspendedGuestsGoOn suspends runs of C, Rust and AssemblyScript at every wait. Each checkpoint is verified.
func TestSuspendedGuestsGoOn(t *testing.T) {
	for _, name := range []string{"torture-c-O0", "torture-c-O2", "torture-rust-Os", "torture-as"} {
		t.Run(name, func(t *testing.T) {
			plain := suspended(t, name, Checkpoints{})
			want := plain.drive()
			plain.check(want, journal.Completed, string(want.Output))
			h := suspended(t, name, Checkpoints{Every: 1, Verify: 1})
			got := h.drive()
			h.check(got, journal.Completed, string(want.Output))
			if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
				t.Errorf("entries (-replayed +from checkpoints):\n%s", diff)
			}
			slices.Sort(plain.calls)
			slices.Sort(h.calls)
			if diff := cmp.Diff(plain.calls, h.calls); diff != "" {
				t.Errorf("effects (-replayed +from checkpoints):\n%s", diff)
			}
			c := h.turner.Counts()
			if c.Thawed < 50 || c.Thawed != got.Token-1 || c.Verified != c.Thawed || c.Different != 0 || len(c.Fallbacks) != 0 {
				t.Errorf("got %+v in %d turns", c, got.Token)
			}
		})
	}
}

// TestDamagedFramesAreReplayed: whatever became of the frames, the run comes to the same end.
func TestDamagedFramesAreReplayed(t *testing.T) {
	plain := suspended(t, "torture-c-O2", Checkpoints{})
	want := plain.drive()
	for name, change := range map[string]func(frames []uint64) []uint64{
		"cut off":    func(f []uint64) []uint64 { return f[:len(f)-1] },
		"none":       func([]uint64) []uint64 { return nil },
		"too many":   func(f []uint64) []uint64 { return append([]uint64{1, 2, 3}, f...) },
		"other call": func(f []uint64) []uint64 { f[len(f)-1]++; return f },
	} {
		t.Run(name, func(t *testing.T) {
			h := suspended(t, "torture-c-O2", Checkpoints{Every: 12})
			for h.snapshot().CheckpointSeq < 12 {
				h.onward()
			}
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Frames = change(slices.Clone(s.frozen.Frames)) })
			h.onward()
			if diff := cmp.Diff(map[string]int64{"odd": 1}, h.turner.Counts().Fallbacks); diff != "" {
				t.Errorf("fallbacks (-want +got):\n%s", diff)
			}
			h.check(h.drive(), journal.Completed, string(want.Output))
			if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
				t.Errorf("entries (-replayed +went on):\n%s", diff)
			}
		})
	}
}
