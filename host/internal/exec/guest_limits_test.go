package exec

import (
	"context"
	"encoding/binary"
	"testing"

	"reprise/abi"
	"reprise/journal"
)

// useIn runs the fixture limits to its end and says how it ended: its output, or the failure's code. A replay under
// other limits must come to the same.
func useIn(t *testing.T, kind byte, n int, set func(l *abi.Limits)) (journal.State, string) {
	t.Helper()
	h := newHarness(t, "limits", string(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(n))), nil)
	h.turner.cfg.Limits = abi.DefaultLimits()
	set(&h.turner.cfg.Limits)
	r := h.drive()
	for _, other := range []abi.Limits{abi.DefaultLimits(), one()} {
		h.turner.cfg.Limits = other
		rep, err := h.turner.Replay(context.Background(), r, r.Digest)
		if err != nil || rep.Mismatch != nil || rep.Ending != string(r.State) || rep.Entries != r.NextSeq {
			t.Errorf("%c %d: replay under other limits: got %+v, %v, want %d entries and %s", kind, n, rep, err, r.NextSeq, r.State)
		}
	}
	if r.State == journal.Completed {
		return r.State, string(r.Output)
	}
	return r.State, abi.DecodeFailure(r.Failure).Code
}

// ends checks how a use of the fixture ends.
func ends(t *testing.T, kind byte, n int, set func(l *abi.Limits), state journal.State, want string) {
	t.Helper()
	if got, how := useIn(t, kind, n, set); got != state || how != want {
		t.Errorf("%c %d: got %s %q, want %s %q", kind, n, got, how, state, want)
	}
}

func TestMemoryLimit(t *testing.T) {
	pages := func(n uint32) func(l *abi.Limits) { return func(l *abi.Limits) { l.MemoryPages = n } }
	for _, limit := range []uint32{2, 5, abi.MaxMemoryPages} {
		ends(t, 'm', int(limit), pages(limit), journal.Completed, "grown")
		ends(t, 'm', int(limit)+1, pages(limit), journal.Completed, "refused")
	}
	ends(t, 'g', 1, pages(1), journal.Failed, abi.CodeMemory) // it begins with 2
}

// TestDepthLimit: what a call takes is the rewriter's affair; that a limit which is one higher allows no less, and that
// there is a last depth which is allowed, is not.
func TestDepthLimit(t *testing.T) {
	const limit = 100
	depth := func(n int32) func(l *abi.Limits) { return func(l *abi.Limits) { l.Depth = n } }
	most := lowest(t, 1, limit+1, func(n int) bool {
		state, how := useIn(t, 'd', n, depth(limit))
		return state == journal.Failed && how == abi.CodeCallDepth
	}) - 1
	if most < limit/4 {
		t.Errorf("got %d nested calls under a limit of %d, want more", most, limit)
	}
	ends(t, 'd', most, depth(limit), journal.Completed, "done")
	ends(t, 'd', most+1, depth(limit), journal.Failed, abi.CodeCallDepth)
	ends(t, 'd', most, depth(limit-1), journal.Failed, abi.CodeCallDepth)
	ends(t, 'd', 1<<30, depth(abi.MaxDepth), journal.Failed, abi.CodeCallDepth)
}

func TestGasLimit(t *testing.T) {
	const rounds = 1000
	gas := func(n int) func(l *abi.Limits) { return func(l *abi.Limits) { l.Gas = int64(n) } }
	enough := lowest(t, 1, 1000*rounds, func(n int) bool {
		state, _ := useIn(t, 'g', rounds, gas(n))
		return state == journal.Completed
	})
	if enough < rounds {
		t.Errorf("%d rounds cost %d gas, want at least 1 each", rounds, enough)
	}
	ends(t, 'g', rounds, gas(enough), journal.Completed, "done")
	ends(t, 'g', rounds, gas(enough-1), journal.Failed, abi.CodeOutOfGas)
	ends(t, 'g', rounds+1, gas(enough), journal.Failed, abi.CodeOutOfGas)
	ends(t, 'r', 50, gas(enough), journal.Completed, "done") // it waits in between
}

// TestRunGasLimit: the run is suspended at each timer, and its replays cost nothing of it.
func TestRunGasLimit(t *testing.T) {
	const timers = 7
	gas := func(n int) func(l *abi.Limits) { return func(l *abi.Limits) { l.RunGas = int64(n) } }
	enough := lowest(t, 1, 100_000, func(n int) bool {
		state, _ := useIn(t, 'r', timers, gas(n))
		return state == journal.Completed
	})
	ends(t, 'r', timers, gas(enough), journal.Completed, "done")
	ends(t, 'r', timers, gas(enough-1), journal.Failed, abi.CodeOutOfGas)
	ends(t, 'r', timers+1, gas(enough), journal.Failed, abi.CodeOutOfGas)
	ends(t, 'g', enough, func(l *abi.Limits) { l.RunGas = int64(enough) }, journal.Failed, abi.CodeOutOfGas)
}

// lowest finds the lowest number from low to high for which ok is true; it is true for all above.
func lowest(t *testing.T, low, high int, ok func(n int) bool) int {
	t.Helper()
	if !ok(high) {
		t.Fatalf("not even with %d", high)
	}
	for low < high {
		if mid := (low + high) / 2; ok(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
