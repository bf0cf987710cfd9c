package parked

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/postgres"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// The environment by which this test's program knows that it is a host.
const (
	roleEnv    = "REPRISE_TEST_PARKED"
	journalEnv = "REPRISE_TEST_PARKED_JOURNAL" // a path or a DSN
	aheadEnv   = "REPRISE_TEST_PARKED_AHEAD"
)

// compileWord is the first argument of a compiler.
const compileWord = "compile-module"

// The roles of a host.
const (
	rolePark  = "park"  // start the runs, and say when all are parked
	roleWake  = "wake"  // say when all are done
	roleServe = "serve" // carry on what wakes, until it is killed
)

// forHowLong each run waits.
const forHowLong = time.Hour

func nodeMain(role string) int {
	if err := node(context.Background(), role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// open opens a journal by its name.
func open(ctx context.Context, name string, ahead time.Duration) (journal.Store, error) {
	if strings.HasPrefix(name, "postgres") {
		return postgres.Open(ctx, postgres.Config{DSN: name, AllowNoFsync: true})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: name, Clock: func() time.Time { return time.Now().Add(ahead) }})
}

// boot starts a host with the defaults of the program.
func boot(ctx context.Context, store journal.Store) (*host.Host, error) {
	return bootWith(ctx, store, 0)
}

func bootWith(ctx context.Context, store journal.Store, checkpointEvery int64) (*host.Host, error) {
	h, err := host.New(host.Config{Store: store, Compiler: []string{host.SelfCompiler, compileWord}, CheckpointEvery: checkpointEvery, CheckpointVerify: -1,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return nil, err
	}
	return h, h.Start(ctx)
}

func node(ctx context.Context, role string) (err error) {
	ahead, err := time.ParseDuration(os.Getenv(aheadEnv))
	if err != nil {
		return err
	}
	store, err := open(ctx, os.Getenv(journalEnv), ahead)
	if err != nil {
		return err
	}
	h, err := boot(ctx, store)
	if err != nil {
		return err
	}
	if role == roleServe {
		fmt.Println("settled 1 0")
		select {} // to be killed
	}
	began := time.Now()
	busy := []journal.State{journal.Ready, journal.Running}
	if role == rolePark {
		in := func(int) time.Duration { return forHowLong }
		if err := park(ctx, h, in); err != nil {
			return err
		}
	} else {
		busy = append(busy, journal.Waiting)
	}
	if err := none(ctx, store, busy); err != nil {
		return err
	}
	nodes, err := store.ListNodes(ctx)
	if err != nil {
		return err
	}
	fmt.Println("settled", len(nodes), time.Since(began).Milliseconds())
	if role == rolePark {
		select {} // to be killed
	}
	if err := errors.Join(completed(ctx, store), h.Stop(ctx), store.Close()); err != nil {
		return err
	}
	fmt.Println("stopped in order")
	return nil
}

// park starts the runs, 32 at a time; in is how long each waits.
func park(ctx context.Context, h *host.Host, in func(i int) time.Duration) error {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "timer.wasm"))
	if err != nil {
		return err
	}
	if _, err := h.PushModule(ctx, tenant.Default, "timer", wasm, ""); err != nil {
		return err
	}
	starts, ctx := errgroup.WithContext(ctx)
	starts.SetLimit(32)
	for i := range runs {
		starts.Go(func() error {
			input := fmt.Appendf(nil, "%d", in(i).Nanoseconds())
			_, _, err := h.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "timer", Input: input})
			return err
		})
	}
	return starts.Wait()
}

// none waits until no run is in one of some states.
func none(ctx context.Context, store journal.Store, states []journal.State) error {
	for i := 0; i < len(states); {
		page, err := store.Runs(ctx, tenant.Default, journal.Filter{State: states[i], Limit: 1})
		switch {
		case err != nil:
			return err
		case len(page.Runs) > 0:
			i = 0
			time.Sleep(20 * time.Millisecond) // nobody announces it
		default:
			i++
		}
	}
	return nil
}

// list returns all runs.
func list(ctx context.Context, store journal.Store) (all []journal.Run, err error) {
	f := journal.Filter{Limit: 1000}
	for {
		page, err := store.Runs(ctx, tenant.Default, f)
		if all = append(all, page.Runs...); err != nil || page.Cursor == "" {
			return all, err
		}
		f.Cursor = page.Cursor
	}
}

// completed says which run has not completed, by its one timer.
func completed(ctx context.Context, store journal.Store) error {
	all, err := list(ctx, store)
	if err != nil {
		return err
	}
	if len(all) != runs {
		return fmt.Errorf("there are %d runs, want %d", len(all), runs)
	}
	for _, r := range all {
		if r.State != journal.Completed || r.NextSeq != 3 {
			return fmt.Errorf("run %s is %s (%s) with %d entries, want completed with 3", r.ID, r.State, r.Reason, r.NextSeq)
		}
	}
	return nil
}
