package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"reprise/host/api/wire"
	"reprise/host/client"
)

// TestCrashOfContinueAsNew crashes a host while a run goes on as a new one: no run of the chain is lost or there twice, and each
// takes one of the signals that were sent to the first.
func TestCrashOfContinueAsNew(t *testing.T) {
	for store, open := range stores(t) {
		for _, point := range []string{"store.commit.finish.before", "store.commit.finish.after", "exec.ended", "exec.claimed", "exec.recorded", "store.claim.after"} {
			t.Run(store+"/"+point, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, open(t), "n1", "--hold-for", "50ms", "--lease-ttl", "3s")
				n.startArmed("")
				pushFile(n, "again", "wasm/again.wasm")
				first := startRun(n, "again", "", "3")
				n.eventually("wait for the signal", waits(first, "signal go"))
				n.terminate()
				n.startArmed(point)
				last := first
				for i := range 4 {
					n.call("signal", func(ctx context.Context, c *client.Client) (err error) {
						last, err = signalChain(ctx, c, last, fmt.Sprint("s", i), fmt.Append(nil, i))
						return err
					})
				}
				n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
					r, err := c.Result(ctx, first, 0)
					if err == nil && r.Done && string(r.Output) != "3" {
						err = fmt.Errorf("got output %s, want 3", r.Output)
					}
					return r.Done, err
				})
				n.call("the chain", func(ctx context.Context, c *client.Client) error { return chain(ctx, c, first, 4) })
				if n.deaths != 1 {
					t.Errorf("the host died %d times at %s, want once", n.deaths, point)
				}
				n.terminate()
			})
		}
	}
}

// pushFile pushes a module of testdata.
func pushFile(n *node, name, file string) {
	n.t.Helper()
	wasm, err := os.ReadFile("../../testdata/" + file)
	if err != nil {
		n.t.Fatal(err)
	}
	n.call("push", func(ctx context.Context, c *client.Client) error {
		_, err := c.PushModule(ctx, name, wasm, "")
		return err
	})
}

// TestCrashOfChildren crashes a host while a run starts children, ends, and asks its children to end: none is lost or there twice,
// and the parent sees each end once.
func TestCrashOfChildren(t *testing.T) {
	const script = "child(signal(never););signal(b);child(signal(a);out(one););wait;"
	for store, open := range stores(t) {
		for _, point := range []string{"exec.claimed", "exec.recorded", "exec.suspended", "exec.ended", "store.claim.after", "store.commit.suspend.before",
			"store.commit.suspend.after", "store.commit.finish.before", "store.commit.finish.after"} {
			t.Run(store+"/"+point, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, open(t), "n1", "--hold-for", "50ms", "--lease-ttl", "3s")
				n.start("")
				pushFile(n, "family", "guests/c/family.wasm")
				n.terminate()
				n.startArmed(point)
				parent := startRun(n, "family", "", script)
				send(n, parent, "b")
				var kids []wire.Run
				n.eventually("the second child", func(ctx context.Context, c *client.Client) (bool, error) {
					page, err := c.Runs(ctx, client.Filter{Limit: 100})
					kids = nil
					for _, r := range page.Runs {
						if r.Parent == parent {
							kids = append(kids, r)
						}
					}
					return len(kids) == 2, err
				})
				send(n, kids[0].ID, "a") // the newest comes first
				for run, want := range map[string]string{parent: `completed "ok one"`, kids[0].ID: `completed "one"`, kids[1].ID: `cancelled ""`} {
					n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
						r, err := c.Run(ctx, run)
						if got := fmt.Sprintf("%s %q", r.State, wire.Bytes(r.Output, r.OutputBase64)); err == nil && ended(r) && got != want {
							err = fmt.Errorf("run %s is %s (%s), want %s", run, got, r.Reason, want)
						}
						return ended(r), err
					})
				}
				n.call("the runs", func(ctx context.Context, c *client.Client) error {
					page, err := c.Runs(ctx, client.Filter{Limit: 100})
					if err == nil && len(page.Runs) != 3 {
						err = fmt.Errorf("got %d runs, want 3", len(page.Runs))
					}
					return err
				})
				if n.deaths != 1 {
					t.Errorf("the host died %d times at %s, want once", n.deaths, point)
				}
				n.terminate()
			})
		}
	}
}

func send(n *node, run, name string) {
	n.t.Helper()
	n.call("signal", func(ctx context.Context, c *client.Client) error {
		_, err := c.Signal(ctx, run, name, "s-"+name, []byte("x"))
		return err
	})
}

// signalChain sends a signal to the run that a chain has come to, which it returns.
func signalChain(ctx context.Context, c *client.Client, run, id string, payload []byte) (string, error) {
	for {
		_, err := c.Signal(ctx, run, "go", id, payload)
		var problem *client.Error
		if !errors.As(err, &problem) || problem.Problem.Code != "run_ended" {
			return run, err
		}
		r, err := c.Run(ctx, run)
		if err != nil || r.Successor == "" {
			return run, errors.Join(err, problem)
		}
		run = r.Successor
	}
}

// chain checks that a run has gone on as so many runs, and that there are no others.
func chain(ctx context.Context, c *client.Client, first string, want int) error {
	page, err := c.Runs(ctx, client.Filter{Limit: 100})
	if err != nil || len(page.Runs) != want {
		return fmt.Errorf("got %d runs (%w), want %d", len(page.Runs), err, want)
	}
	var took []string
	for id := first; id != ""; {
		r, err := c.Run(ctx, id)
		if err != nil {
			return err
		}
		es, err := c.Journal(ctx, id, 0, 100)
		if err != nil {
			return err
		}
		for _, e := range es.Entries {
			if e.Kind == "signal" {
				took = append(took, string(e.Payload))
			}
		}
		id = r.Successor
	}
	if got := strings.Join(took, " "); got != "0 1 2 3" {
		return fmt.Errorf("the chain took the signals %s, want 0 1 2 3", got)
	}
	return nil
}
