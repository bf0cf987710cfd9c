package conformance

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

const (
	// patience bounds every wait of a test; it is reached only when something is wrong.
	patience = 2 * time.Minute
	// poll is how often a test, and a host, look for what nobody told them.
	poll = 5 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a host with a language's module.
type stage struct {
	t     *testing.T
	lang  language
	store *mortal
	host  *host.Host
}

// newStage starts a host. frozen makes it write a checkpoint at each suspension, and suspend at every wait for a timer.
func newStage(t *testing.T, l language, wasm []byte, cache string, frozen bool) *stage {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, lang: l, store: newMortal(db)}
	cfg := host.Config{Store: s.store, CacheDir: cache, Poll: poll, CheckpointEvery: -1, Logger: logger()}
	if frozen {
		cfg.HoldFor, cfg.CheckpointEvery, cfg.CheckpointVerify = time.Nanosecond, 1, 1
	}
	if s.host, err = host.New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := s.host.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.host.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.host.PushModule(t.Context(), tenant.Default, l.name, wasm, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// logger writes to the file that REPRISE_TEST_LOG names.
func logger() *slog.Logger {
	out := io.Discard
	if name := os.Getenv("REPRISE_TEST_LOG"); name != "" {
		if f, err := os.OpenFile(filepath.Clean(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			out = f
		}
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// outcome is what must be the same in every run of a program.
type outcome struct {
	Journal []string
	Commits int  // that the run made
	Died    bool // whether it was killed
}

// play runs a program to its end and checks what came of it.
func (s *stage) play(p program, c *cut) (outcome, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	key := p.name + p.input
	if c != nil {
		key += fmt.Sprint(*c)
		s.store.plan(key, *c)
	}
	run, created, err := s.host.StartRun(ctx, tenant.Default, host.StartRun{Workflow: s.lang.name, Entry: p.name, Input: []byte(p.input), Key: key})
	if err != nil || !created {
		return outcome{}, fmt.Errorf("start: created %t: %w", created, err)
	}
	if p.meddle != nil {
		if err := p.meddle(ctx, s.host, run.ID); err != nil {
			return outcome{}, fmt.Errorf("meddle: %w", err)
		}
	}
	first := run.ID
	if run, err = s.host.Result(ctx, tenant.Default, first, patience); err != nil {
		return outcome{}, err
	}
	published, err := s.store.Published(ctx, tenant.Default, run.ID)
	if err != nil {
		return outcome{}, err
	}
	if err := p.check(s.lang, run, published); err != nil {
		return outcome{}, err
	}
	var o outcome
	o.Died, o.Commits = s.store.died(first)
	for id := first; id != (journal.RunID{}) && err == nil; {
		id, err = s.read(ctx, p, id, &o)
	}
	return o, err
}

// read adds a run's journal, which must replay to the same end, and returns the run that goes on for it.
func (s *stage) read(ctx context.Context, p program, id journal.RunID, o *outcome) (next journal.RunID, err error) {
	run, err := s.store.Run(ctx, tenant.Default, id)
	if err != nil {
		return next, err
	}
	entries, err := s.store.Entries(ctx, tenant.Default, id, 0, 1000)
	if err != nil {
		return next, err
	}
	lines, err := canonical(p, entries)
	if err != nil {
		return next, err
	}
	o.Journal = append(o.Journal, lines...)
	r, err := s.host.Replay(ctx, tenant.Default, id, "")
	if err == nil && !r.OK {
		err = fmt.Errorf("replay: %s", r.Mismatch)
	}
	return run.Successor, err
}

// runnable are the programs that hosts run.
func runnable() []program {
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return slices.Contains(pending, p.name) })
}

func contains(text, part string) bool { return strings.Contains(text, part) }
