package host_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reprise/abi"
	"reprise/host"
	"reprise/host/effect"
	"reprise/tenant"
)

// TestResultIsWhatIsStored: who waits gets the run from the turn that ended it, without a look at the store, and must not be
// able to tell.
func TestResultIsWhatIsStored(t *testing.T) {
	n := newNode(t, effect.Registry{"test.step": {Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
		if string(r.Input) == "2" {
			return nil, abi.NewFailure("no_such_step", "there are only two").Terminal()
		}
		return []byte("done"), nil
	})}})
	n.push("steps", "steps")
	for _, input := range []string{"0", "2", "3", "not a number"} {
		run, _, err := n.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "steps", Input: []byte(input), Key: "k", IdempotencyKey: input})
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.Result(t.Context(), tenant.Default, run.ID, patience)
		if err != nil {
			t.Fatal(err)
		}
		want, err := n.store.Run(t.Context(), tenant.Default, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !got.State.Terminal() {
			t.Errorf("input %q: got state %s, want an end", input, got.State)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("input %q (-stored +result):\n%s", input, d)
		}
	}
}
