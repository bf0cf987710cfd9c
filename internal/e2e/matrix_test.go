package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/host/api/wire"
	"reprise/host/client"
	"reprise/internal/failpoint"
)

// A mode says when the failpoint is armed.
const (
	live   = "live"   // from the start: it is met while new things are done
	replay = "replay" // after a kill in the middle: it is met by turns that replay what was done before
	frozen = "frozen" // from the start: it stops the process, and another node takes over
	twice  = "twice"  // from the start, and again in the process after: it is met while a crash at it is recovered from
)

// outcome is what must be the same whatever crashed.
type outcome struct {
	Output, CancelledState    string
	Journal, CancelledJournal []string
	Ledger, CancelledLedger   []string
}

// TestCrashMatrix kills the host at every durable step that the program itself names, live, in replay, and twice in a
// row, on both stores, and compares output, journal and ledger with those of a run without faults.
func TestCrashMatrix(t *testing.T) {
	if raceDetector {
		return // the program of this test has none
	}
	points := failpoints(t)
	s := newShop(t)
	journals := stores(t)
	wants := map[string]outcome{}
	for store, open := range journals {
		want, _ := scenario(t, s, open(t), live, "")
		if want.Output == "" || len(want.Ledger) != 5 || len(want.CancelledLedger) != 2 {
			t.Fatalf("%s: without faults: %+v", store, want)
		}
		wants[store] = want
	}
	if diff := cmp.Diff(wants["sqlite"], wants["postgres"]); diff != "" {
		t.Fatalf("the stores do not agree without faults (-sqlite +postgres):\n%s", diff)
	}
	modes := []string{live, replay, twice}
	var mu sync.Mutex
	met := map[string]int{}
	t.Run("at", func(t *testing.T) {
		for store, open := range journals {
			for _, point := range points {
				for _, mode := range modes {
					t.Run(store+"/"+point+"/"+mode, func(t *testing.T) {
						t.Parallel()
						got, deaths := scenario(t, s, open(t), mode, point)
						mu.Lock()
						met[store+" "+point] = max(met[store+" "+point], deaths)
						mu.Unlock()
						if diff := cmp.Diff(wants[store], got); diff != "" {
							t.Errorf("not as without faults (-want +got):\n%s", diff)
						}
					})
				}
			}
		}
	})
	again := 0 // points at which two processes died, one after the other
	for store := range journals {
		for _, p := range points {
			if met[store+" "+p] > 1 {
				again++
			}
			if met[store+" "+p] == 0 {
				t.Errorf("%s: no process died at %s: the scenario does not pass it", store, p)
			}
		}
	}
	if all := len(points) * len(journals); again < all/2 {
		t.Errorf("hosts died twice at %d points of %d, want most", again, all)
	}
}

// elsewhere lists points that have a test of their own.
var elsewhere = []string{
	"store.resume.before", "store.resume.after", // TestCrashOfResume
	"store.delete.before", "store.delete.after", "store.prune.before", "store.prune.after", // TestCrashOfRemoval
	"store.hold.before", "store.hold.after", // TestCrashOfHold
}

// failpoints asks the program for its points.
func failpoints(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command(reprise, "failpoints").Output()
	if err != nil {
		t.Fatal(err)
	}
	points := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return slices.Contains(elsewhere, p) })
	if len(points) < 20 {
		t.Fatalf("got the points %v, want every durable step", points)
	}
	return points
}

// scenario runs the whole program once, killing the host at a point, and returns what came out and how
// often the host died there.
func scenario(t testing.TB, s *shop, journal, mode, point string) (outcome, int) {
	flags := []string{"--allow-host", s.host(), "--hold-for", "50ms", "--lease-ttl", "3s", "--checkpoint-every", "2", "--checkpoint-verify", "2"}
	n := newNode(t, journal, "n1", flags...)
	n.program = reprise // what is durable does not depend on the race detector, which takes ten times as long
	var standby *node
	switch mode {
	case live:
		n.startArmed(point)
	case twice:
		n.next = point
		n.startArmed(point)
	case replay:
		n.startArmed("")
	case frozen:
		standby = newNode(t, journal, "n2", flags...)
		standby.program = reprise
		n.env, n.other = []string{failpoint.FreezeEnv + "=" + point}, standby
		n.start("")
	}
	input := fmt.Sprintf(`{"shop":%q}`, s.srv.URL)
	push(n, "matrix")
	main := startRun(n, "matrix", "matrix", input)
	other := startRun(n, "matrix", "cancelled", input)
	n.eventually("wait for the signal", waits(main, "signal go"))
	n.eventually("wait for the cancellation", waits(other, "cancellation"))
	if mode == replay && point != "" {
		n.kill()
		n.startArmed(point)
	}
	n.call("signal", func(ctx context.Context, c *client.Client) error {
		_, err := c.Signal(ctx, main, "go", "go-1", []byte(`"now"`))
		return err
	})
	n.call("cancel", func(ctx context.Context, c *client.Client) error {
		_, err := c.Cancel(ctx, other, "enough")
		return err
	})
	var got outcome
	n.eventually("result", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, main)
		got.Output = string(r.Output)
		return ended(r), err
	})
	n.eventually("cancelled", func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, other)
		got.CancelledState = r.State
		return ended(r), err
	})
	if mode == frozen {
		n.thaw(standby)
	} else {
		n.terminate()
	}
	died := n.deaths
	if n.crashed() {
		died++
	}
	n.env = nil
	n.start("")
	got.Journal, got.CancelledJournal = journalOf(n, s, main), journalOf(n, s, other)
	got.Ledger, got.CancelledLedger = s.ledger(main), s.ledger(other)
	if asked := s.requests(main); point != "" && asked > 2+died {
		t.Errorf("one booking was asked for %d times; one failure and %d crashes explain %d", asked, died, 2+died)
	}
	for _, run := range []string{main, other} {
		n.call("replay", func(ctx context.Context, c *client.Client) error {
			r, err := c.Replay(ctx, run, "")
			if err == nil && !r.OK {
				err = errors.New(r.Mismatch)
			}
			return err
		})
	}
	n.terminate()
	return got, died
}

func ended(r wire.Run) bool {
	switch r.State {
	case "ready", "running", "waiting":
		return false
	}
	return true
}

// startArmed starts the process with a failpoint; when that kills it before it serves, it is started again without.
func (n *node) startArmed(point string) {
	n.t.Helper()
	if !n.start(point) {
		n.startAgain()
	}
}

func startRun(n *node, workflow, entry, input string) (id string) {
	n.t.Helper()
	n.call("start", func(ctx context.Context, c *client.Client) error {
		r, err := c.StartRun(ctx, client.StartRun{Workflow: workflow, Entry: entry, Input: []byte(input), IdempotencyKey: "start-" + entry})
		id = r.ID
		return err
	})
	return id
}

func waits(run, what string) func(ctx context.Context, c *client.Client) (bool, error) {
	return func(ctx context.Context, c *client.Client) (bool, error) {
		r, err := c.Run(ctx, run)
		if err == nil && ended(r) {
			err = fmt.Errorf("run %s is %s: %s %s", run, r.State, r.Reason, r.Failure)
		}
		return r.State == "waiting" && strings.Contains(r.Waiting, what), err
	}
}

// journalOf renders a journal without what may differ: times, tokens, ports, due times. Entries are listed by
// handle, because answers to parallel requests may overtake each other after a crash.
func journalOf(n *node, s *shop, run string) []string {
	n.t.Helper()
	var lines []string
	n.call("journal", func(ctx context.Context, c *client.Client) error {
		page, err := c.Journal(ctx, run, 0, 1000)
		lines = nil
		for i, e := range page.Entries {
			if e.Seq != int64(i) {
				return fmt.Errorf("entry %d has seq %d", i, e.Seq)
			}
			request := strings.ReplaceAll(string(e.Request), s.srv.URL, "SHOP")
			if e.Kind == "sleep" || e.Kind == "timer" {
				request = "DUE"
			}
			lines = append(lines, fmt.Sprintf("%s %d %s %s %s %s", e.Kind, e.Op, e.Name, e.Status, request, e.Payload))
		}
		return err
	})
	slices.Sort(lines)
	return lines
}
