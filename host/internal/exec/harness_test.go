package exec

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

var engine *sandbox.Engine

func TestMain(m *testing.M) {
	var err error
	if engine, err = sandbox.New(context.Background(), sandbox.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	err = engine.Close(context.Background())
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// harness drives one run of a fixture on a memStore.
type harness struct {
	t      *testing.T
	store  *memStore
	turner *Turner

	mu    sync.Mutex
	calls []string // effects that left, "name input key attempt"
	logs  *logLines
}

// world is how a test's effects behave.
type world map[string]func(ctx context.Context, r effect.Request) ([]byte, error)

// okStep answers test.step with its input in brackets.
func okStep(_ context.Context, r effect.Request) ([]byte, error) {
	return fmt.Appendf(nil, "[%s]", r.Input), nil
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../testdata/wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newHarness(t *testing.T, name, input string, w world) *harness {
	t.Helper()
	code := fixture(t, name)
	h := &harness{t: t, logs: &logLines{}}
	h.store = newMemStore(journal.Run{Tenant: tenant.Default, ID: journal.RunID{1, 2, 3}, Workflow: name, Digest: modules.DigestOf(code), Input: []byte(input), State: journal.Ready})
	h.store.mods[modules.DigestOf(code)] = code
	effects := effect.Registry{}
	for _, n := range []string{"test.step", "test.a", "test.b", "test.cleanup"} {
		f := w[n]
		if f == nil {
			f = okStep
		}
		effects[n] = effect.Effect{Handler: effect.HandlerFunc(func(ctx context.Context, r effect.Request) ([]byte, error) {
			h.mu.Lock()
			h.calls = append(h.calls, fmt.Sprintf("%s %s %s %d", r.Name, r.Input, r.IdempotencyKey, r.Attempt))
			h.mu.Unlock()
			return f(ctx, r)
		})}
	}
	h.turner = New(Config{Store: h.store, Engine: engine, Effects: effects, Clock: h.store, HoldFor: 0, MaxAttempts: 5, Limits: abi.Limits{Gas: 20_000_000},
		Logger: slog.New(slog.NewTextHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		h.turner.Wait(ctx)
	})
	return h
}

// turn runs one turn.
func (h *harness) turn() {
	h.t.Helper()
	h.turner.Open(h.store.claim()).Run(context.Background())
}

// drive runs turns until the run has ended, is blocked, or waits for something that only the test can send.
func (h *harness) drive() journal.Run {
	h.t.Helper()
	for range 1000 {
		switch r := h.snapshot(); {
		case r.State == journal.Ready:
			h.turn()
		case r.State == journal.Waiting && !r.WakeAt.IsZero():
			h.store.mu.Lock()
			if h.store.now.Before(r.WakeAt) {
				h.store.now = r.WakeAt
			}
			h.store.mu.Unlock()
			h.turn()
		default:
			return r
		}
	}
	h.t.Fatal("the run does not come to an end")
	return journal.Run{}
}

func (h *harness) snapshot() journal.Run {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	return h.store.run
}

// check fails the test unless the run ended as wanted.
func (h *harness) check(r journal.Run, state journal.State, output string) {
	h.t.Helper()
	if r.State != state {
		h.t.Fatalf("got state %s (%s, failure %s), want %s\n%s", r.State, r.Reason, r.Failure, state, h.logs)
	}
	got := string(r.Output)
	if state != journal.Completed {
		got = abi.DecodeFailure(r.Failure).Code
	}
	if got != output {
		h.t.Fatalf("got %q, want %q (failure %s)", got, output, r.Failure)
	}
}

// cut makes a fresh run whose journal is the first n entries of this one.
func (h *harness) cut(n int) {
	s := h.store
	s.entries = s.entries[:n]
	s.run = journal.Run{Tenant: s.run.Tenant, ID: s.run.ID, Workflow: s.run.Workflow, Digest: s.run.Digest, Input: s.run.Input, State: journal.Ready, NextSeq: int64(n)}
	s.inbox, s.seenIDs, s.pub = nil, map[string]bool{}, map[string]string{}
	s.mailPos, s.releasedBy = 0, 0
	h.calls = nil
}

type logLines struct {
	mu sync.Mutex
	b  []byte
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
