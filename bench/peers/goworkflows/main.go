// Command goworkflows is go-workflows on SQLite, for the benchmark. Its newest version that Go's module proxy serves has no
// Postgres.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"reprise/bench/harness"
)

func main() { harness.Main(os.Args[1:], open) }

// pollers for workflows, and as many for activities.
const pollers = 8

type system struct {
	client *client.Client
	worker *worker.Worker
	cancel context.CancelFunc
	number atomic.Int64
}

func open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	hello := harness.Hello{System: "go-workflows", Version: version("github.com/cschleiden/go-workflows"),
		Settings: fmt.Sprintf("SQLite, woken up within the process, %d+%d pollers, all workflows cached", pollers, pollers)}
	if o.SQLite == "" {
		return nil, hello, fmt.Errorf("go-workflows %s has no Postgres", hello.Version)
	}
	quiet := backend.WithLogger(slog.New(slog.DiscardHandler))
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(o.SQLite, sqlite.WithBackendOptions(quiet)))
	options := worker.DefaultOptions
	options.WorkflowPollers, options.ActivityPollers = pollers, pollers
	options.WorkflowExecutorCacheSize = 2 * max(o.InFlight, options.WorkflowExecutorCacheSize)
	options.WorkflowExecutorCacheTTL = 10 * time.Minute
	w := worker.New(b, &options)
	if err := w.RegisterWorkflow(Steps); err != nil {
		return nil, hello, err
	}
	if err := w.RegisterActivity(Step); err != nil {
		return nil, hello, err
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := w.Start(ctx); err != nil {
		cancel()
		return nil, hello, err
	}
	return &system{client: client.New(b), worker: w, cancel: cancel}, hello, nil
}

// Step is the activity.
func Step(context.Context) (string, error) { return string(harness.Payload), nil }

// Steps is the workflow.
func Steps(ctx workflow.Context, w harness.Work) (string, error) {
	var begun []workflow.Future[string]
	for i := 0; w.Parallel && i < w.Steps; i++ {
		begun = append(begun, workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, Step))
	}
	for i := range w.Steps {
		if !w.Parallel {
			begun = append(begun, workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, Step))
		}
		if _, err := begun[i].Get(ctx); err != nil {
			return "", err
		}
	}
	return string(harness.Payload), nil
}

// Run is part of harness.System.
func (s *system) Run(ctx context.Context, w harness.Work) error {
	id := "w" + strconv.FormatInt(s.number.Add(1), 10)
	run, err := s.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, Steps, w)
	if err != nil {
		return err
	}
	_, err = client.GetWorkflowResult[string](ctx, s.client, run, time.Minute)
	return err
}

// Close is part of harness.System. It does not wait: the worker would finish what is under way.
func (s *system) Close() error {
	s.cancel()
	return nil
}

func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}
