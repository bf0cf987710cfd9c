package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/host/client"
	"reprise/internal/pgtest"
)

// backups are the ways to back up the journal of a node that works: open makes an empty journal, backup takes the backup, and
// what it returns restores it and says where.
func backups(t *testing.T) map[string]func(t *testing.T) (journal string, backup func(n *node) (restore func() string)) {
	return map[string]func(t *testing.T) (string, func(n *node) func() string){
		"postgres": func(t *testing.T) (string, func(n *node) func() string) {
			primary := pgtest.Start(t, pgtest.Options{Durable: true})
			return primary.DSN("postgres"), func(*node) func() string {
				copied := primary.Backup(t)
				return func() string {
					primary.Stop(t, pgtest.Immediate)
					copied.Start(t)
					return copied.DSN("postgres")
				}
			}
		},
		// As a file system's snapshot: the database and its log at one moment.
		"sqlite": func(t *testing.T) (string, func(n *node) func() string) {
			from, to := filepath.Join(t.TempDir(), "reprise.db"), filepath.Join(t.TempDir(), "restored.db")
			return from, func(n *node) func() string {
				n.signal(syscall.SIGSTOP)
				for _, suffix := range []string{"", "-wal"} {
					b, err := os.ReadFile(from + suffix)
					if err == nil {
						err = os.WriteFile(to+suffix, b, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				n.signal(syscall.SIGCONT)
				return func() string { return to }
			}
		},
	}
}

// restoredSite is a node, and the runs that were open when the backup was taken.
type restoredSite struct {
	t                         *testing.T
	shop                      *shop
	node                      *node
	flags                     []string
	waiting, sleeping, asking string // for a signal, for a timer, for the shop's answer
	later                     string // began after the backup
}

// TestRestoredBackup takes a backup while one run waits for a signal, one for a timer, and one for the shop's answer. All three end, and
// another begins and ends, before the database is lost. On the backup nothing happens until somebody says so: then a run books
// again what its journal does not know of, under the keys that it had.
func TestRestoredBackup(t *testing.T) {
	for store, open := range backups(t) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			journal, backup := open(t)
			r := &restoredSite{t: t, shop: newShop(t)}
			r.flags = []string{"--allow-host", r.shop.host(), "--hold-for", "50ms", "--lease-ttl", "3s"}
			r.node = newNode(t, journal, "n1", r.flags...)
			r.node.start("")
			restore := r.workAndBackup(backup)
			output := r.workOn()
			journalBefore, before := journalOf(r.node, r.shop, r.waiting), r.shop.counts()
			r.node.terminate()

			r.node = newNode(t, restore(), "n1", append(r.flags, "--restored")...)
			r.node.start("")
			r.nothingHappens()
			if diff := cmp.Diff(before, r.shop.counts()); diff != "" {
				t.Errorf("the shop was asked, though nothing was resumed (-before +after):\n%s", diff)
			}
			r.resume(r.waiting)
			r.node.eventually("wait for the signal", waits(r.waiting, "signal go"))
			r.signalGo()
			if again := r.completes(); again != output {
				t.Errorf("output: got %s, want %s as before", again, output)
			}
			if diff := cmp.Diff(journalBefore, journalOf(r.node, r.shop, r.waiting)); diff != "" {
				t.Errorf("the journal is not as before (-before +after):\n%s", diff)
			}
			for _, key := range r.shop.keys(r.waiting, "ship") {
				before[key]++ // what came after the backup is asked for once more
			}
			if diff := cmp.Diff(before, r.shop.counts()); diff != "" {
				t.Errorf("requests by key (-want +got):\n%s", diff)
			}
			r.paused(r.sleeping)
			r.resume(r.asking)
			r.node.eventually("wait for the cancellation", waits(r.asking, "cancellation"))
			r.node.terminate()

			// What was resumed goes on when the node starts as usual.
			r.node.flags = r.flags
			r.node.start("")
			r.paused(r.sleeping)
			r.cancelAsking()
			r.resume(r.sleeping)
			r.node.eventually("the end of the sleep", sleeps(r.sleeping, 0))
			if got := r.shop.ledger(r.asking); len(got) != 2 {
				t.Errorf("got ledger %v, want the two bookings of before", got)
			}
			r.node.terminate()
		})
	}
}

// sleepsFor is the input of the run that sleeps: for longer than the backup takes.
const sleepsFor = `"10s"`

// workAndBackup brings the runs to where they are when the backup is taken.
func (r *restoredSite) workAndBackup(backup func(n *node) func() string) (restore func() string) {
	push(r.node, "matrix")
	push(r.node, "sleeper")
	input := fmt.Sprintf(`{"shop":%q}`, r.shop.srv.URL)
	r.waiting, r.sleeping = startRun(r.node, "matrix", "matrix", input), startRun(r.node, "sleeper", "sleeper", sleepsFor)
	r.node.eventually("wait for the signal", waits(r.waiting, "signal go"))
	r.node.eventually("sleep", waits(r.sleeping, "until"))
	answer := r.shop.holdAnswers()
	r.asking = startRun(r.node, "matrix", "cancelled", input)
	<-r.shop.heldAt
	restore = backup(r.node)
	answer()
	return restore
}

// workOn lets all runs end, and one more.
func (r *restoredSite) workOn() (output string) {
	r.node.eventually("wait for the cancellation", waits(r.asking, "cancellation"))
	r.cancelAsking()
	r.signalGo()
	output = r.completes()
	r.node.eventually("the end of the sleep", sleeps(r.sleeping, 0))
	r.later = startRun(r.node, "sleeper", "", `"1ms"`)
	r.node.eventually("the end of the last run", sleeps(r.later, 0))
	if len(r.shop.ledger(r.waiting)) != 5 || len(r.shop.ledger(r.asking)) != 2 {
		r.t.Fatalf("got ledgers %v and %v, want 5 and 2 bookings", r.shop.ledger(r.waiting), r.shop.ledger(r.asking))
	}
	return output
}

// nothingHappens checks that the open runs are paused while the node does something else, which shows that it works.
func (r *restoredSite) nothingHappens() {
	if !strings.Contains(r.node.log.String(), "  Restored   3 open runs paused") {
		r.t.Errorf("the node does not say that it paused 3 runs:\n%s", r.node.log.tail(2<<10))
	}
	var problem *client.Error
	if _, err := r.node.client.Run(r.t.Context(), r.later); !errors.As(err, &problem) || problem.Problem.Code != "run_not_found" {
		r.t.Errorf("a run that began after the backup: got %v, want run_not_found", err)
	}
	// Who repeats a start gets the run of the first, or another when the first is lost.
	if id := startRun(r.node, "sleeper", "sleeper", sleepsFor); id != r.sleeping {
		r.t.Errorf("a start again: got run %s, want %s", id, r.sleeping)
	}
	again := startRun(r.node, "sleeper", "", `"1ms"`)
	r.node.eventually("the end of a new run", sleeps(again, 0))
	for _, id := range []string{r.waiting, r.sleeping, r.asking} {
		r.paused(id)
	}
}

func (r *restoredSite) paused(id string) {
	r.t.Helper()
	r.node.call("a paused run", func(ctx context.Context, c *client.Client) error {
		run, err := c.Run(ctx, id)
		if err == nil && (run.State != "paused" || !strings.HasPrefix(run.Reason, "restored: ")) {
			err = fmt.Errorf("run %s is %s: %s", id, run.State, run.Reason)
		}
		return err
	})
}

func (r *restoredSite) resume(id string) {
	r.t.Helper()
	r.node.call("resume", func(ctx context.Context, c *client.Client) error {
		_, err := c.Resume(ctx, id)
		return err
	})
}

func (r *restoredSite) signalGo() {
	r.t.Helper()
	r.node.call("signal", func(ctx context.Context, c *client.Client) error {
		_, err := c.Signal(ctx, r.waiting, "go", "go-1", []byte(`"now"`))
		return err
	})
}

func (r *restoredSite) cancelAsking() {
	r.t.Helper()
	r.node.call("cancel", func(ctx context.Context, c *client.Client) error {
		_, err := c.Cancel(ctx, r.asking, "enough")
		return err
	})
	r.node.eventually("the end of the cancelled run", func(ctx context.Context, c *client.Client) (bool, error) {
		run, err := c.Run(ctx, r.asking)
		return run.State == "cancelled", err
	})
}

// completes waits for the end of the run that had waited for a signal.
func (r *restoredSite) completes() (output string) {
	r.t.Helper()
	r.node.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
		run, err := c.Run(ctx, r.waiting)
		if err == nil && ended(run) && run.State != "completed" {
			err = fmt.Errorf("run %s is %s: %s", r.waiting, run.State, run.Reason)
		}
		output = string(run.Output)
		return run.State == "completed", err
	})
	return output
}

// TestCrashOfHold kills a host while it pauses the runs of a restored journal; the next start goes on with that.
func TestCrashOfHold(t *testing.T) {
	for store, open := range stores(t) {
		for _, point := range []string{"store.hold.before", "store.hold.after"} {
			t.Run(store+"/"+point, func(t *testing.T) {
				n := newNode(t, open(t), "n1", "--hold-for", "50ms", "--lease-ttl", "3s")
				n.start("")
				push(n, "sleeper")
				run := startRun(n, "sleeper", "sleeper", `"1ms"`)
				n.eventually("the end", sleeps(run, 0))
				run = startRun(n, "sleeper", "", `"1h"`)
				n.eventually("sleep", waits(run, "until"))
				n.kill()
				n.flags = append(n.flags, "--restored")
				if n.start(point) {
					t.Fatalf("the host serves, want its death at %s", point)
				}
				n.start("")
				r := restoredSite{t: t, node: n}
				r.paused(run)
				n.terminate()
			})
		}
	}
}
