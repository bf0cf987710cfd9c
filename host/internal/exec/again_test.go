package exec

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// TestOddReplayIsTriedAgain has a replay differ from its journal a few times, as a damaged read would, and then match.
func TestOddReplayIsTriedAgain(t *testing.T) {
	for odd := range replayTries + 2 {
		t.Run(fmt.Sprint(odd), func(t *testing.T) {
			h := newHarness(t, "divergeA", "", nil)
			if r := h.drive(); r.State != journal.Waiting {
				t.Fatalf("got %s, want waiting for a signal", r.State)
			}
			other := fixture(t, "divergeB")
			h.store.mods[modules.DigestOf(other)] = other
			load, loads := h.turner.load, 0
			h.turner.load = func(ctx context.Context, owner tenant.ID, d modules.Digest) (program, error) {
				if loads++; loads <= odd {
					d = modules.DigestOf(other)
				}
				return load(ctx, owner, d)
			}
			h.store.arrive(signal("1", "go", "now"))
			r, calls := h.drive(), len(h.calls)
			if odd <= replayTries {
				h.check(r, journal.Completed, "test.atest.b")
			} else if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "nondeterminism: at seq 1 ") {
				t.Errorf("got %s %q, want blocked for nondeterminism at seq 1", r.State, r.Reason)
			}
			if calls != 2 {
				t.Errorf("got effects %v, want the two of the first turn", h.calls)
			}
		})
	}
}

// TestLongestJournal fills a journal to the limit of entries, and replays it. The bounds are of a hang and of memory
// that grows with more than the journal.
func TestLongestJournal(t *testing.T) {
	steps := abi.DefaultLimits().Entries - 2 // it begins and ends
	h := newLimited(t, func(w sandbox.World) (string, error) {
		for range steps {
			handle, _, err := ask(w, 100)
			if err == nil {
				err = w.Drop(handle)
			}
			if err != nil {
				return "", err
			}
		}
		return "done", nil
	}, func(l *abi.Limits) { *l = abi.DefaultLimits() })
	if r := h.drive(); r.State != journal.Completed || r.NextSeq != int64(steps+2) {
		t.Fatalf("got %s (%s) with %d entries, want completed with %d", r.State, r.Reason, r.NextSeq, steps+2)
	}
	run := h.snapshot()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	rep, err := h.turner.Replay(context.Background(), run, run.Digest)
	took := time.Since(began)
	if err != nil || rep.Mismatch != nil || rep.Entries != run.NextSeq {
		t.Fatalf("got %+v, %v; want a match of %d entries", rep, err, run.NextSeq)
	}
	runtime.ReadMemStats(&after)
	if took > time.Minute {
		t.Errorf("the replay took %s, want 2 s on a machine that has nothing else to do", took)
	}
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	if allocated > 512 {
		t.Errorf("the replay allocated %d MiB, want at most 512", allocated)
	}
	t.Logf("%d entries replayed in %s, with %d MiB allocated", rep.Entries, took, allocated)
}
