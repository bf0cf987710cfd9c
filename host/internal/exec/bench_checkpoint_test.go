package exec

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// BenchmarkTurn wakes a run of a Go program that has made so many steps and has nothing to do: by replaying its
// journal, and from a checkpoint. Both are of use only beside each other.
func BenchmarkTurn(b *testing.B) {
	code, err := builtGo("go")
	if err != nil {
		b.Fatal(err)
	}
	for _, steps := range []int{50, 200, 500, 2000, 10000} {
		for _, way := range []string{"replayed", "from its checkpoint"} {
			b.Run(fmt.Sprintf("%d steps, %s", steps, way), func(b *testing.B) {
				every := int64(0)
				if way != "replayed" {
					every = int64(steps)
				}
				turner, store := stepped(b, code, steps, every)
				for b.Loop() {
					turner.Open(store.claim()).Run(context.Background())
				}
				if store.cp != nil {
					b.ReportMetric(float64(len(store.cp.Packed)), "bytes")
				}
			})
		}
	}
}

// stepped is a run of a Go program that has made so many steps and waits, in memory.
func stepped(tb testing.TB, code []byte, steps int, every int64) (*Turner, *memStore) {
	tb.Helper()
	store := newMemStore(journal.Run{Tenant: tenant.Default, ID: journal.RunID{1}, Workflow: "go", Entry: "steps", Digest: modules.DigestOf(code), Input: strconv.AppendInt(nil, int64(steps)+1, 10), State: journal.Ready})
	store.mods[modules.DigestOf(code)] = code
	turner := New(Config{Store: store, Engine: engine, Clock: store, MaxAttempts: 1 << 30, Logger: slog.New(slog.DiscardHandler), Checkpoints: Checkpoints{Every: every},
		Effects: effect.Registry{"bench.add": {Retry: abi.Retry{Attempts: 9, BackoffMS: 3_600_000}, Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
			if string(r.Input) == strconv.Itoa(steps) { // the last
				return nil, abi.NewFailure("later", "not yet")
			}
			return r.Input, nil
		})}}})
	turner.Open(store.claim()).Run(context.Background())
	if r := store.run; r.State != journal.Waiting || r.NextSeq != int64(steps)+1 || (r.CheckpointSeq > 0) != (every > 0) {
		tb.Fatalf("got %s at seq %d, checkpoint %d", r.State, r.NextSeq, r.CheckpointSeq)
	}
	return turner, store
}

// TestCheckpointsStaySmall says that a Go program's checkpoint does not grow with the garbage that it has made.
func TestCheckpointsStaySmall(t *testing.T) {
	code, err := builtGo("go")
	if err != nil {
		t.Fatal(err)
	}
	const most = 64 << 10 // without collecting it has 110 KB
	if _, store := stepped(t, code, 2000, 2000); len(store.cp.Packed) > most {
		t.Errorf("got a checkpoint of %d bytes after 2,000 steps, want at most %d", len(store.cp.Packed), most)
	}
}
