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
				store := newMemStore(journal.Run{Tenant: tenant.Default, ID: journal.RunID{1}, Workflow: "go", Entry: "steps", Digest: modules.DigestOf(code), Input: strconv.AppendInt(nil, int64(steps)+1, 10), State: journal.Ready})
				store.mods[modules.DigestOf(code)] = code
				every := int64(0)
				if way != "replayed" {
					every = int64(steps)
				}
				turner := New(Config{Store: store, Engine: engine, Clock: store, MaxAttempts: 1 << 30, Logger: slog.New(slog.DiscardHandler), Checkpoints: Checkpoints{Every: every},
					Effects: effect.Registry{"bench.add": {Retry: abi.Retry{Attempts: 9, BackoffMS: 3_600_000}, Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
						if string(r.Input) == strconv.Itoa(steps) { // the last
							return nil, abi.NewFailure("later", "not yet")
						}
						return r.Input, nil
					})}}})
				turner.Open(store.claim()).Run(context.Background())
				if r := store.run; r.State != journal.Waiting || r.NextSeq != int64(steps)+1 || (r.CheckpointSeq > 0) != (every > 0) {
					b.Fatalf("got %s at seq %d, checkpoint %d", r.State, r.NextSeq, r.CheckpointSeq)
				}
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
