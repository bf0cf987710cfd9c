package gotest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/abi"
	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// env is what the tests share: compiling the suite takes seconds, so there is one host for all. Runs do
// not see each other.
var env struct {
	dir   string
	cache string // of compiled modules
	host  *host.Host
	log   *logBook
}

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gotest-")
	if err != nil {
		return report(err)
	}
	defer os.RemoveAll(dir)
	env.dir, env.cache, env.log = dir, filepath.Join(dir, "cache"), &logBook{}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		return report(err)
	}
	env.host, err = host.New(host.Config{Store: store, CacheDir: env.cache, Effects: effects(), Logger: slog.New(env.log),
		Poll: 50 * time.Millisecond, HoldFor: 20 * time.Millisecond})
	if err != nil {
		return report(err)
	}
	if err := env.host.Start(ctx); err != nil {
		return report(err)
	}
	for _, p := range programs {
		if err := push(ctx, p); err != nil {
			return report(err)
		}
	}
	code := m.Run()
	if err := env.host.Stop(ctx); err != nil {
		return report(err)
	}
	if err := store.Close(); err != nil {
		return report(err)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		return report(err)
	}
	return code
}

func report(err error) int {
	fmt.Fprintln(os.Stderr, "gotest:", err)
	return 1
}

// program is a guest's source and how it is built: as a reactor, or as a command.
type program struct {
	name, dir string
	command   bool
}

var programs = []program{
	{"suite", "../go/testguests/suite", false},
	{"suite-command", "../go/testguests/suite", true},
	{"sleeper", "../go/testguests/sleeper", false},
	{"plain", "../go/testguests/plain", true},
	{"hello", "../../examples/hello", false},
	{"libraries", "../go/testguests/libraries", false},
}

// push builds a program and publishes it under its name.
func push(ctx context.Context, p program) error {
	out := filepath.Join(env.dir, p.name+".wasm")
	mode := "-buildmode=c-shared"
	if p.command {
		mode = "-buildmode=exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", mode, "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if _, err := env.host.PushModule(ctx, tenant.Default, p.name, b, ""); err != nil {
		return fmt.Errorf("push %s: %w", p.name, err)
	}
	return nil
}

// effects are those that the guests of the suite use.
func effects() effect.Registry {
	return effect.Registry{
		"test.echo": {Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) { return r.Input, nil })},
		"test.fail": {Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
			return nil, abi.DecodeFailure(r.Input)
		})},
		"test.hang": {Handler: effect.HandlerFunc(func(ctx context.Context, _ effect.Request) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})},
		"http.request": {Handler: effect.HandlerFunc(fakeHTTP)},
	}
}

// fakeHTTP answers in the form of http.request with a description of what it was asked.
func fakeHTTP(_ context.Context, r effect.Request) ([]byte, error) {
	return json.Marshal(map[string]any{"status": 418, "headers": map[string]string{"x-answer": "tea"}, "body": string(r.Input)})
}

// start starts a run of a workflow of the suite.
func start(t *testing.T, module, entry, input string) journal.RunID {
	t.Helper()
	run, created, err := env.host.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: module, Entry: entry, Input: []byte(input)})
	if err != nil || !created {
		t.Fatalf("start %s: got created %t, %v", entry, created, err)
	}
	return run.ID
}

// patience bounds every wait of a test; it is reached only when something is wrong.
const patience = 60 * time.Second

// finish waits for the end of a run, or of the one that went on for it, which must replay to the same end.
func finish(t *testing.T, id journal.RunID) journal.Run {
	t.Helper()
	run, err := env.host.Result(t.Context(), tenant.Default, id, patience)
	if err != nil {
		t.Fatal(err)
	}
	if !run.State.Terminal() {
		t.Fatalf("the run is %s (%s) after %v, waiting for %q", run.State, run.Reason, patience, run.Waiting)
	}
	r, err := env.host.Replay(t.Context(), tenant.Default, run.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK || r.Ending != string(run.State) {
		t.Errorf("replay: got ok %t and ending %q after %d entries, want %s: %s", r.OK, r.Ending, r.Entries, run.State, r.Mismatch)
	}
	return run
}

// until waits until a run is as wanted.
func until(t *testing.T, id journal.RunID, want func(host.RunView) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		v, err := env.host.Run(ctx, tenant.Default, id)
		if err != nil {
			t.Fatal(err)
		}
		if want(v) {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the run is %s, waiting for %q, and published %v", v.Run.State, v.Run.Waiting, v.Published)
		}
	}
}

func published(key, value string) func(host.RunView) bool {
	return func(v host.RunView) bool {
		for _, p := range v.Published {
			if p.Key == key && string(p.Value) == value {
				return true
			}
		}
		return false
	}
}

func isWaiting(v host.RunView) bool { return v.Run.State == journal.Waiting }

func signal(t *testing.T, id journal.RunID, name, payload string) {
	t.Helper()
	signalID := fmt.Sprintf("%s-%s", name, payload)
	if _, err := env.host.Signal(t.Context(), tenant.Default, id, signalID, name, []byte(payload)); err != nil {
		t.Fatal(err)
	}
}

// logBook keeps what the host and its guests say.
type logBook struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (b *logBook) Enabled(context.Context, slog.Level) bool { return true }

func (b *logBook) Handle(ctx context.Context, r slog.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slog.NewTextHandler(&b.lines, &slog.HandlerOptions{Level: slog.LevelDebug}).Handle(ctx, r)
}

// WithAttrs drops the attributes: the tests look at messages only.
func (b *logBook) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup drops the group.
func (b *logBook) WithGroup(string) slog.Handler { return b }

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.String()
}
