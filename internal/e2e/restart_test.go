package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// TestSleepAcrossRestart lets a Go guest sleep 3 seconds by time.Sleep while its host is dead for some of them.
func TestSleepAcrossRestart(t *testing.T) {
	for store, open := range stores(t) {
		t.Run(store, func(t *testing.T) {
			n := newNode(t, open(t), "n1", "--hold-for", "50ms")
			n.start("")
			push(n, "sleeper")
			began := time.Now()
			run := startRun(n, "sleeper", "sleeper", `"3s"`)
			n.eventually("suspension", waits(run, "until"))
			n.kill()
			n.start("")
			n.eventually("the end", sleeps(run, 3*time.Second))
			if took := time.Since(began); took < 3*time.Second {
				t.Errorf("it took %s, want at least the 3 s that the guest sleeps", took)
			}
			n.terminate()
		})
	}
}

// TestPlainProgram runs a WASI program that knows nothing of Reprise, and kills its host once it has begun.
func TestPlainProgram(t *testing.T) {
	n := newNode(t, filepath.Join(t.TempDir(), "reprise.db"), "n1", "--hold-for", "50ms")
	n.start("")
	push(n, "plain")
	run := startRun(n, "plain", "", `some input`)
	n.kill()
	n.start("")
	n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		return r.State == "completed", err
	})
	n.call("result", func(ctx context.Context, c *client.Client) error {
		out, err := c.Wait(ctx, run, time.Second)
		if err == nil && !strings.Contains(strings.ToLower(string(out)), "some input") {
			err = fmt.Errorf("got %q, want what it read", out)
		}
		return err
	})
	n.terminate()
}

// TestCrashOfResume blocks a run by crashing its host, and then crashes the host in the act of resuming it.
func TestCrashOfResume(t *testing.T) {
	for store, open := range stores(t) {
		for _, point := range []string{"store.resume.before", "store.resume.after"} {
			t.Run(store+"/"+point, func(t *testing.T) {
				n := newNode(t, open(t), "n1", "--hold-for", "50ms", "--max-attempts", "1", "--lease-ttl", "3s")
				n.start("")
				push(n, "sleeper")
				n.kill()
				n.start("exec.claimed")
				run := startRun(n, "sleeper", "sleeper", `"1ms"`) // its first turn kills the host
				if n.deaths == 0 {                                // it died before or after it answered
					n.awaitExit()
				}
				n.kill()
				n.deaths = 0
				n.start(point)
				n.eventually("quarantine", func(ctx context.Context, c *client.Client) (bool, error) {
					r, err := c.Run(ctx, run)
					if r.State == "blocked" && !strings.HasPrefix(r.Reason, "crash_loop") {
						err = errors.New(r.Reason)
					}
					return r.State == "blocked", err
				})
				n.call("resume", func(ctx context.Context, c *client.Client) error {
					_, err := c.Resume(ctx, run)
					var problem *client.Error
					if errors.As(err, &problem) && problem.Problem.Code == "run_not_held" && n.deaths > 0 {
						return nil // the first try got through
					}
					return err
				})
				if n.deaths != 1 {
					t.Errorf("the host died %d times at %s, want once", n.deaths, point)
				}
				n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
					// A host that has resumed the run may claim it before it dies, which is one more turn that ended with its host.
					if r, err := c.Run(ctx, run); err != nil || r.State == "blocked" && strings.HasPrefix(r.Reason, "crash_loop") {
						if err == nil {
							_, err = c.Resume(ctx, run)
						}
						return false, err
					}
					return sleeps(run, 0)(ctx, c)
				})
				n.terminate()
			})
		}
	}
}

// TestCrashOfRemoval crashes a host while a run is deleted, or pruned: the run is gone, and one that is open is not.
func TestCrashOfRemoval(t *testing.T) {
	for store, open := range stores(t) {
		for _, point := range []string{"store.delete.before", "store.delete.after", "store.prune.before", "store.prune.after"} {
			t.Run(store+"/"+point, func(t *testing.T) {
				flags := []string{"--hold-for", "50ms", "--lease-ttl", "3s"}
				prunes := strings.HasPrefix(point, "store.prune")
				if prunes {
					flags = append(flags, "--retain", "1ms", "--prune-every", "20ms")
				}
				n := newNode(t, open(t), "n1", flags...)
				n.startArmed(point)
				push(n, "sleeper")
				kept := startRun(n, "sleeper", "sleeper", `"1h"`)
				n.eventually("the run sleeps", waits(kept, ""))
				run := startRun(n, "sleeper", "", `"1ms"`)
				if !prunes {
					n.eventually("the end", sleeps(run, 0))
					n.call("delete", func(ctx context.Context, c *client.Client) error {
						err := c.Delete(ctx, run)
						var problem *client.Error
						if errors.As(err, &problem) && problem.Problem.Code == "run_not_found" && n.deaths > 0 {
							return nil // the first try got through
						}
						return err
					})
				}
				n.eventually("removal", func(ctx context.Context, c *client.Client) (bool, error) {
					_, err := c.Run(ctx, run)
					var problem *client.Error
					if errors.As(err, &problem) && problem.Problem.Code == "run_not_found" {
						return true, nil
					}
					return false, err
				})
				n.call("the open run", func(ctx context.Context, c *client.Client) error {
					r, err := c.Run(ctx, kept)
					if err == nil && r.State != "waiting" {
						err = errors.New(r.State)
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

// stores are the journals that a test runs on: a function for each makes an empty one. The Postgres server
// keeps what it acknowledges, and is gone with the test.
func stores(t *testing.T) map[string]func(t testing.TB) string {
	cluster := pgtest.Start(t, pgtest.Options{Durable: true})
	return map[string]func(t testing.TB) string{
		"sqlite":   func(t testing.TB) string { return filepath.Join(t.TempDir(), "reprise.db") },
		"postgres": func(t testing.TB) string { return cluster.Database(t) },
	}
}

func push(n *node, name string) {
	n.t.Helper()
	n.call("push", func(ctx context.Context, c *client.Client) error {
		_, err := c.PushModule(ctx, name, guests[name], "")
		return err
	})
}

// sleeps waits for a sleeper's end. It may have slept for longer than it asked for, never for less.
func sleeps(run string, least time.Duration) func(ctx context.Context, c *client.Client) (bool, error) {
	return func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		if err != nil || !ended(r) {
			return false, err
		}
		var out struct{ Slept string }
		if err := json.Unmarshal(r.Output, &out); r.State != "completed" || err != nil {
			return false, fmt.Errorf("run %s is %s with %s (%s)", run, r.State, r.Output, r.Reason)
		}
		if d, err := time.ParseDuration(out.Slept); err != nil || d < least {
			return false, fmt.Errorf("run %s slept %s (%v), want at least %s", run, out.Slept, err, least)
		}
		return true, nil
	}
}
