package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// TestFrozenOwnerIsFenced freezes the host that owns a run, past its lease, while a booking is in flight. The
// other host finishes the run. When the first one thaws, none of its writes lands and it books nothing more.
func TestFrozenOwnerIsFenced(t *testing.T) {
	s := newShop(t)
	dsn := pgtest.Start(t, pgtest.Options{Durable: true}).Database(t)
	flags := []string{"--allow-host", s.host(), "--lease-ttl", "2s", "--hold-for", "50ms"}
	first, second := newNode(t, dsn, "first", flags...), newNode(t, dsn, "second", flags...)
	first.start("")
	push(first, "matrix")
	hold := make(chan struct{})
	s.mu.Lock()
	s.hold = hold
	s.mu.Unlock()
	run := startRun(first, "matrix", "matrix", fmt.Sprintf(`{"shop":%q}`, s.srv.URL))
	<-s.heldAt // the first booking that is answered at all is in flight, and the run is first's

	first.signal(syscall.SIGSTOP)
	second.start("")
	second.eventually("take-over", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		return strings.HasPrefix(r.Owner, "second#"), err
	})
	s.mu.Lock()
	s.hold = nil
	s.mu.Unlock()
	close(hold)
	second.eventually("wait for the signal", waits(run, "signal go"))
	second.call("signal", func(ctx context.Context, c *client.Client) error {
		_, err := c.Signal(ctx, run, "go", "go-1", []byte(`"now"`))
		return err
	})
	second.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		return r.State == "completed", err
	})
	journal, ledger := journalOf(second, s, run), s.ledger(run)

	first.signal(syscall.SIGCONT)
	// The frozen host wakes with an answer in hand: it must learn that its lease is gone and drop the run.
	eventuallyLogs(t, first, "lapsed")
	second.eventually("both nodes live", func(ctx context.Context, c *client.Client) (bool, error) {
		nodes, err := c.Nodes(ctx)
		live := 0
		for _, n := range nodes.Nodes {
			if n.Live {
				live++
			}
		}
		return live == 2, err
	})
	if diff := cmp.Diff(journal, journalOf(second, s, run)); diff != "" {
		t.Errorf("the journal changed after the thaw (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(ledger, s.ledger(run)); diff != "" {
		t.Errorf("the ledger changed after the thaw (-before +after):\n%s", diff)
	}
	if len(ledger) != 5 {
		t.Errorf("got ledger %v, want five bookings", ledger)
	}
	tokensGrow(t, second, run)
	first.terminate()
	second.terminate()
}

// tokensGrow checks that no entry of an earlier token follows one of a later, and that two tokens wrote.
func tokensGrow(t *testing.T, n *node, run string) {
	t.Helper()
	n.call("journal", func(ctx context.Context, c *client.Client) error {
		page, err := c.Journal(ctx, run, 0, 1000)
		if err != nil {
			return err
		}
		last := int64(0)
		for _, e := range page.Entries {
			if e.Token < last {
				return fmt.Errorf("entry %d was written under token %d after %d", e.Seq, e.Token, last)
			}
			last = e.Token
		}
		if first := page.Entries[0].Token; first == last {
			return errors.New("one token wrote the whole journal: nothing was taken over")
		}
		return nil
	})
}

func eventuallyLogs(t *testing.T, n *node, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(n.log.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("node %s does not log %q:\n%s", n.name, text, n.log.tail(4<<10))
		}
	}
}
