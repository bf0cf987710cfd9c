package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// TestFailover promotes a standby that lacks the second half of a run: a signal, bookings, and the run's end. The host
// goes over by itself and goes on from what is left. The bookings are made again under the keys that they had, so
// that the shop has each of them once.
func TestFailover(t *testing.T) {
	s := newShop(t)
	primary := pgtest.Start(t, pgtest.Options{Durable: true})
	standby := primary.Standby(t)
	n := newNode(t, pgtest.DSNOfBoth(t, "postgres", primary, standby), "n1", "--allow-host", s.host(), "--lease-ttl", "2s", "--hold-for", "50ms")
	n.start("")
	push(n, "matrix")
	run := startRun(n, "matrix", "matrix", fmt.Sprintf(`{"shop":%q}`, s.srv.URL))
	n.eventually("wait for the signal", waits(run, "signal go"))
	primary.CutOff(t, standby)
	finish := func() (output string) {
		n.call("signal", func(ctx context.Context, c *client.Client) error {
			_, err := c.Signal(ctx, run, "go", "go-1", []byte(`"now"`))
			return err
		})
		n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
			r, err := c.Run(ctx, run)
			if err == nil && ended(r) && r.State != "completed" {
				err = fmt.Errorf("run %s is %s: %s", run, r.State, r.Reason)
			}
			output = string(r.Output)
			return r.State == "completed", err
		})
		return output
	}
	output := finish()
	journal, ledger := journalOf(n, s, run), s.ledger(run)

	primary.Stop(t, pgtest.Immediate)
	standby.Promote(t)
	whenBack(t, n, "the run to wait again", waits(run, "signal go"))
	whenBack(t, n, "the node to be ready", func(ctx context.Context, c *client.Client) (bool, error) {
		nodes, err := c.Nodes(ctx)
		return len(nodes.Nodes) > 0 && nodes.Nodes[len(nodes.Nodes)-1].Live, err
	})
	if again := finish(); again != output {
		t.Errorf("output: got %s, want %s as before", again, output)
	}
	if diff := cmp.Diff(journal, journalOf(n, s, run)); diff != "" {
		t.Errorf("the journal is not as before (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(ledger, s.ledger(run)); diff != "" || len(ledger) != 5 {
		t.Errorf("got ledger %v; not the five bookings of before (-before +after):\n%s", ledger, diff)
	}
	n.terminate()
}

// whenBack polls while the host says that its database does not answer.
func whenBack(t *testing.T, n *node, what string, ok func(ctx context.Context, c *client.Client) (bool, error)) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		done, err := ok(t.Context(), n.client)
		var problem *client.Error
		switch {
		case done && err == nil:
			return
		case err != nil && !errors.As(err, &problem):
			t.Fatalf("%s: %v", what, err)
		case time.Now().After(deadline):
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
	}
}
