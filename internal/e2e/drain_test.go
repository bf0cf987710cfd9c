package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// draining is a host that was told to stop while a booking of one of its runs is in flight, and another host.
type draining struct {
	shop          *shop
	first, second *node
	booking       string        // the run whose booking is in flight
	sleeping      string        // a run that the first host held in memory for its timer
	answer        chan struct{} // closed to let the booking be answered
}

// drain brings up both hosts, of a program, and tells the first to stop.
func drain(t *testing.T, program string) *draining {
	s := newShop(t)
	dsn := pgtest.Start(t, pgtest.Options{Durable: true}).Database(t)
	flags := []string{"--allow-host", s.host(), "--lease-ttl", "4s", "--drain-timeout", "1m", "--hold-for", "1m"}
	d := &draining{shop: s, first: newNode(t, dsn, "first", flags...), second: newNode(t, dsn, "second", flags...), answer: make(chan struct{})}
	d.first.program, d.second.program = program, program
	d.first.start("")
	push(d.first, "matrix")
	push(d.first, "sleeper")
	s.mu.Lock()
	s.hold = d.answer
	s.mu.Unlock()
	d.booking = startRun(d.first, "matrix", "matrix", fmt.Sprintf(`{"shop":%q}`, s.srv.URL))
	<-s.heldAt
	d.sleeping = startRun(d.first, "sleeper", "sleeper", `"50s"`)
	d.first.eventually("the sleeper's timer", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, d.sleeping)
		return strings.HasPrefix(r.Owner, "first#") && r.NextSeq > 0, err
	})
	d.second.start("")
	d.first.signal(syscall.SIGTERM)
	return d
}

// ready asks a host whether it should get traffic.
func ready(n *node) int {
	n.t.Helper()
	addr, err := os.ReadFile(filepath.Join(n.dir, "addr"))
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.Get("http://" + strings.TrimSpace(string(addr)) + "/readyz")
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func ownedBy(run, name string) func(ctx context.Context, c *client.Client) (bool, error) {
	return func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		return strings.HasPrefix(r.Owner, name+"#"), err
	}
}

// finish lets the booking be answered and sees the run to its end on the second host.
func (d *draining) finish(t *testing.T) {
	t.Helper()
	d.shop.mu.Lock()
	d.shop.hold = nil
	d.shop.mu.Unlock()
	d.second.eventually("take-over of the booking", ownedBy(d.booking, "second"))
	d.second.call("signal", func(ctx context.Context, c *client.Client) error {
		_, err := c.Signal(ctx, d.booking, "go", "go-1", []byte(`"now"`))
		return err
	})
	d.second.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, d.booking)
		return r.State == "completed", err
	})
	if ledger := d.shop.ledger(d.booking); len(ledger) != 5 {
		t.Errorf("got ledger %v, want five bookings", ledger)
	}
	tokensGrow(t, d.second, d.booking)
}

// TestDrain: while the booking is in flight, the host says that it takes no work, goes on answering, and has given
// the other run back, which the second host takes at once. When the booking is answered the first host
// records that, gives its run back and ends, and nothing is asked for twice.
func TestDrain(t *testing.T) {
	d := drain(t, watched)
	d.second.eventually("take-over of the sleeper", ownedBy(d.sleeping, "second"))
	if got := ready(d.first); got != http.StatusServiceUnavailable {
		t.Errorf("readiness of a host that stops: got %d, want 503", got)
	}
	if got := ready(d.second); got != http.StatusOK {
		t.Errorf("readiness of the other host: got %d, want 200", got)
	}
	d.first.call("a request to the host that stops", func(ctx context.Context, c *client.Client) error {
		r, err := c.Run(ctx, d.booking)
		if err == nil && !strings.HasPrefix(r.Owner, "first#") {
			err = fmt.Errorf("the booking is owned by %q, want the first host while it is in flight", r.Owner)
		}
		return err
	})
	close(d.answer)
	d.first.awaitExit()
	if d.first.err != nil {
		t.Errorf("the host that stopped in order: got %v, want exit status 0", d.first.err)
	}
	d.finish(t)
	if asked := d.shop.requests(d.booking); asked > 2 {
		t.Errorf("one booking was asked for %d times; its one failure explains 2", asked)
	}
	d.second.terminate()
}

// TestDrainIsCutShort ends the host while it drains. Its lease keeps the run with the booking until it lapses; then the
// second host asks for the booking again under the same key.
func TestDrainIsCutShort(t *testing.T) {
	for _, tt := range []struct {
		name string
		cut  syscall.Signal
	}{{"second SIGTERM", syscall.SIGTERM}, {"SIGKILL", syscall.SIGKILL}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := drain(t, reprise) // what is left behind does not depend on the race detector
			d.second.eventually("take-over of the sleeper", ownedBy(d.sleeping, "second"))
			d.first.signal(tt.cut)
			d.first.awaitExit() // though the booking is not answered
			close(d.answer)
			d.finish(t)
			d.second.terminate()
		})
	}
}

// TestStarvedHost gives a host one processor and more guests that compute than it has, for several times its
// lease. It keeps the lease, or loses it in order: the runs end as they should, and the host lives.
func TestStarvedHost(t *testing.T) {
	wasm, err := os.ReadFile("../../testdata/wasm/spin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, filepath.Join(t.TempDir(), "reprise.db"), "n1", "--lease-ttl", "1s", "--limit", "gas=2000000000")
	n.program, n.env = reprise, []string{"GOMAXPROCS=1"} // the race detector would starve it ten times as much
	n.start("")
	n.call("push", func(ctx context.Context, c *client.Client) error {
		_, err := c.PushModule(ctx, "spin", wasm, "")
		return err
	})
	push(n, "sleeper")
	var spinning []string
	for i := range 8 {
		n.call("start", func(ctx context.Context, c *client.Client) error {
			r, err := c.StartRun(ctx, client.StartRun{Workflow: "spin", IdempotencyKey: fmt.Sprint("spin-", i)})
			spinning = append(spinning, r.ID)
			return err
		})
	}
	n.eventually("the sleeper", sleeps(startRun(n, "sleeper", "sleeper", `"3s"`), 3*time.Second))
	for _, run := range spinning {
		n.eventually("out of gas", func(ctx context.Context, c *client.Client) (bool, error) {
			r, err := c.Run(ctx, run)
			if err == nil && ended(r) && !strings.Contains(string(r.Failure), "out_of_gas") {
				err = fmt.Errorf("run %s is %s (%s), want out of gas", run, r.State, r.Reason)
			}
			return ended(r), err
		})
	}
	if got := ready(n); got != http.StatusOK {
		t.Errorf("readiness afterwards: got %d, want 200", got)
	}
	n.terminate()
}
