package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/host"
	"reprise/host/client"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// script builds a TypeScript program with the command that users have, once. The engine is made when it is not there yet.
var script = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-ts-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	engine, out := filepath.Join(dir, "engine-js.wasm"), filepath.Join(dir, "flow.wasm")
	for _, args := range [][]string{
		{"../../scripts/engine", engine},
		{reprise, "build", "../../guest-sdk/ts/testguests/flow.ts", "--engine", engine, "-o", out},
	} {
		if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, b)
		}
	}
	return os.ReadFile(out)
})

// flowNode starts a node that has the program.
func flowNode(t *testing.T, crashAt string, flags ...string) *node {
	t.Helper()
	wasm, err := script()
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, filepath.Join(t.TempDir(), "reprise.db"), "n1", append(flags, "--hold-for", "1ms", "--lease-ttl", "3s")...)
	n.program = reprise
	n.startArmed(crashAt)
	n.call("push", func(ctx context.Context, c *client.Client) error {
		_, err := c.PushModule(ctx, "flow", wasm, "")
		return err
	})
	return n
}

// TestScriptIsCrashedAtEveryWait kills the host after each turn's end and each entry that a TypeScript workflow makes it write,
// the first, the second and so on until none is left, and compares output and journal with those of a run that nothing disturbed.
func TestScriptIsCrashedAtEveryWait(t *testing.T) {
	s := newShop(t)
	want, deaths := flow(t, s, "")
	if deaths != 0 || !strings.Contains(want.Output, `"race":"timer"`) || want.CancelledState != "cancelled" || len(want.Journal) < 10 {
		t.Fatalf("without faults: %d deaths, %+v", deaths, want)
	}
	points := []string{"exec.suspended", "store.commit.append.after"}
	if raceDetector { // which the program of this test has not: less is enough
		points = points[:1]
	}
	for _, point := range points {
		met := 0
		for ; ; met++ {
			crashAt := fmt.Sprintf("%s:%d", point, met+1)
			got, deaths := flow(t, s, crashAt)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: not as without faults (-want +got):\n%s", crashAt, diff)
			}
			if deaths == 0 {
				break
			}
		}
		t.Logf("%s was met %d times", point, met)
		if met < 3 {
			t.Errorf("%s was met %d times, want some for each kind of wait", point, met)
		}
	}
}

// flow runs the program's two long workflows, one of which is cancelled.
func flow(t *testing.T, s *shop, crashAt string) (got outcome, deaths int) {
	n := flowNode(t, crashAt)
	main := startRun(n, "flow", "flow", `{"from":3}`)
	other := startRun(n, "flow", "cancelled", ``)
	n.eventually("wait for the signal", waits(main, "signal go"))
	n.eventually("wait for the cancellation", waits(other, "signal never"))
	n.call("cancel", func(ctx context.Context, c *client.Client) error {
		_, err := c.Cancel(ctx, other, "enough")
		return err
	})
	for i, payload := range []string{`"one"`, `"two"`} {
		n.call("signal", func(ctx context.Context, c *client.Client) error {
			_, err := c.Signal(ctx, main, "go", fmt.Sprint("go-", i), []byte(payload))
			return err
		})
	}
	for run, to := range map[string]func(state, output string){
		main:  func(_, output string) { got.Output = output },
		other: func(state, _ string) { got.CancelledState = state },
	} {
		n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
			r, err := c.Run(ctx, run)
			to(r.State, string(r.Output))
			return ended(r), err
		})
		replays(n, run)
	}
	got.Journal, got.CancelledJournal = journalOf(n, s, main), journalOf(n, s, other)
	n.terminate()
	if n.crashed() {
		n.deaths++
	}
	return got, n.deaths
}

func replays(n *node, run string) {
	n.t.Helper()
	n.call("replay", func(ctx context.Context, c *client.Client) error {
		r, err := c.Replay(ctx, run, "")
		if err == nil && !r.OK {
			err = errors.New(r.Mismatch)
		}
		return err
	})
}

func TestScripts(t *testing.T) {
	n := flowNode(t, "")
	for _, tc := range []struct{ entry, input, output, failure string }{
		{entry: "within", output: `"timeout"`},
		{entry: "aborts", output: `["TimeoutError: The operation timed out.","Error: mine","TimeoutError: The operation timed out."]`},
		{entry: "ticks", output: `3`},
		{entry: "overflows", output: `"RangeError"`},
		{entry: "fetches", input: `"http://127.0.0.1:1/"`, output: `"egress_denied"`},
		{entry: "broken", failure: `"stack":"    at boom (lib/boom.ts:6:3)\n    at \u003canonymous\u003e (flow.ts:71:8)"`},
		{entry: "broken", input: `{`, failure: `"code":"invalid_input"`},
		{entry: "stuck", failure: `"code":"deadlock"`},
		{entry: "draws"},
		{entry: "floats", output: `"waited for in time"`},
		{entry: "bytes", input: "\x00\xff\xfe{", output: "\x00\xff\xfe{"},
		{entry: "exact", input: `{"n":-9007199254740993}`, output: `["bigint",-9007199254740992,1180591620717411303424,[1e+21,0.12345678901234568,-12,"9007199254740993"]]`},
		{entry: "utf8", output: `["������","��","�","����","","\u0000A",[239,191,189,97,239,191,189],[],[0,195,169]]`},
		{entry: "urls", output: `["http://h/a/c?x=1&y=%C3%A9#z","https://h:8/q?a=+b&a=%26","http://127.0.0.1/","http://h/?a=1&b=%C3%A9+","TypeError","URL"]`},
		{entry: "stops", output: `["AbortError","mine",true]`},
		{entry: "globals", output: `{"utf8":[195,169,240,159,152,128,239,191,189],"text":"é😀��","clone":[true,true,0,true,[1,2]],` +
			`"refused":"TypeError","uuid":true,"base64":["/2Fi",3],"zone":0,"language":[[1,2,3],{"1":["a"],"2":["bb"]},true]}`},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			var id string
			n.call("start", func(ctx context.Context, c *client.Client) error {
				r, err := c.StartRun(ctx, client.StartRun{Workflow: "flow", Entry: tc.entry, Input: []byte(tc.input)})
				id = r.ID
				return err
			})
			n.eventually("the end", func(ctx context.Context, c *client.Client) (bool, error) {
				r, err := c.Run(ctx, id)
				if err != nil || !ended(r) {
					return false, err
				}
				if got := string(r.Output) + string(r.OutputBase64); tc.output != "" && got != tc.output {
					t.Errorf("got %s %s %s\nwant %s", r.State, got, r.Failure, tc.output)
				}
				if failure, err := json.Marshal(r.Failure); tc.failure != "" && (err != nil || !strings.Contains(string(failure), tc.failure)) {
					t.Errorf("got %s %s, %v\nwant a failure with %s", r.State, failure, err, tc.failure)
				}
				return true, nil
			})
			replays(n, id)
		})
	}
	log := n.log.String()
	for _, want := range []string{`a line {\"of\":[\"the\",\"log\"]} {\"Map\":[[1,\"2n\"]]}`, `a promise was rejected that nothing waits for: Error: lost`} {
		if strings.Count(log, want) != 1 || strings.Count(log, "that nothing waits for") != 1 {
			t.Errorf("the log has %q %d times, want once\n%s", want, strings.Count(log, want), n.log.tail(4<<10))
		}
	}
	n.terminate()
}

// TestScriptIsFrozen suspends a script in each of its waits and goes on from a checkpoint, which is compared with a replay each time:
// the state of a JavaScript program is all in the instance's memory, globals, and one frame.
func TestScriptIsFrozen(t *testing.T) {
	wasm, err := script()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h, err := host.New(host.Config{Store: store, CacheDir: cacheDir, Poll: 5 * time.Millisecond, HoldFor: time.Millisecond,
		CheckpointEvery: 3, CheckpointVerify: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer h.Stop(context.Background())
	if _, err := h.PushModule(ctx, tenant.Default, "flow", wasm, ""); err != nil {
		t.Fatal(err)
	}
	run, _, err := h.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "flow", Entry: "long", Input: []byte("40")})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = h.Result(ctx, tenant.Default, run.ID, patience); err != nil {
		t.Fatal(err)
	}
	if got, want := string(run.Output), `[40,"wait 39",true]`; got != want {
		t.Errorf("got %s %s %s, want %s", run.State, got, run.Failure, want)
	}
	if c := h.Checkpoints(); c.Written == 0 || c.Thawed == 0 || c.Verified == 0 || c.Different != 0 {
		t.Errorf("got %+v, want checkpoints that were written, gone on from, and like their replays", c)
	}
}
