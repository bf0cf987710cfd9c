package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// TestFrozenAtEachStep freezes the host that owns everything, past its lease, at every durable step that the program
// names. A second host finishes the runs; then the first thaws, in the middle of its step. Output, journal and ledger
// are those of runs without faults, and what the first still writes changes nothing.
func TestFrozenAtEachStep(t *testing.T) {
	if raceDetector {
		return // the program of this test has none
	}
	s := newShop(t)
	cluster := pgtest.Start(t, pgtest.Options{Durable: true})
	want, _ := scenario(t, s, cluster.Database(t), live, "")
	t.Run("at", func(t *testing.T) {
		for _, point := range failpoints(t) {
			if point == "store.claim.before" {
				continue // a claim is one statement, and has no such place unless a crash is armed there
			}
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				got, hurt := scenario(t, s, cluster.Database(t), frozen, point)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("not as without faults (-want +got):\n%s", diff)
				}
				if hurt != 1 {
					t.Errorf("the host froze %d times, want once: the scenario does not pass the point", hurt)
				}
			})
		}
	})
}

// stopped says whether the process is stopped by a signal.
func (n *node) stopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	if err != nil {
		return false // it is gone
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "T"
}

// cancelWhenStopped ends a request that a stopped process will not answer.
func (n *node) cancelWhenStopped(ctx context.Context, cancel context.CancelFunc) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if n.stopped() {
				cancel()
			}
		}
	}
}

// takeOver starts the other node, which is called from now on.
func (n *node) takeOver() {
	n.t.Helper()
	n.deaths++
	n.other.start("")
	if n.client != nil {
		n.client.Close()
	}
	n.client, n.other = n.other.client, nil
}

// thaw lets the process go on once its lease has lapsed, and returns when it lives again as a node of the cluster. Then
// it ends both nodes.
func (n *node) thaw(standby *node) {
	n.t.Helper()
	if n.other != nil { // it was not called for
		n.other = nil
		n.terminateStopping()
		return
	}
	live := func(count int) func(ctx context.Context, c *client.Client) (bool, error) {
		return func(ctx context.Context, c *client.Client) (bool, error) {
			nodes, err := c.Nodes(ctx)
			n := 0
			for _, k := range nodes.Nodes {
				if k.Live {
					n++
				}
			}
			return n == count, err
		}
	}
	n.eventually("the frozen node's lease lapsed", live(1))
	n.signal(syscall.SIGCONT)
	n.eventually("both nodes live", live(2))
	n.terminate()
	standby.terminate()
}

// terminateStopping ends a process that may freeze while it drains.
func (n *node) terminateStopping() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-n.exited:
			return
		case <-time.After(10 * time.Millisecond):
			if n.stopped() {
				n.deaths++
				time.Sleep(longerThanLease)
				n.signal(syscall.SIGCONT)
				n.awaitExit()
				return
			}
		}
	}
	n.awaitExit()
}

// longerThanLease is longer than the lease of scenario's nodes.
const longerThanLease = 4 * time.Second
