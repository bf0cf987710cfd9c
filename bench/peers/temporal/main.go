// Command temporal is a Temporal server inside this process, on Postgres, and a worker beside it, for the benchmark.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"reprise/bench/harness"
)

func main() { harness.Main(os.Args[1:], open) }

const (
	queue     = "bench"
	namespace = "bench"
	// pollers is how many requests for tasks of each kind the worker has open; the library's default is 2.
	pollers = 8
	// local is the variant whose steps are local activities: they run in the worker's process, and what they gave is durable
	// with the workflow task that they are part of, not one by one.
	local = "local"
)

type system struct {
	server *server
	client client.Client
	worker worker.Worker
	number atomic.Int64
}

func open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	hello := harness.Hello{System: "Temporal", Version: version("go.temporal.io/server") + ", SDK " + version("go.temporal.io/sdk"),
		Settings: fmt.Sprintf("one server, %d history shards, %d connections, %d pollers of each kind, otherwise defaults", shards, connections, pollers)}
	if o.Variant == local {
		hello.Settings += "; steps are local activities, durable with their workflow task"
	}
	if o.DSN == "" {
		return nil, hello, errors.New("this program runs Temporal on Postgres only")
	}
	s := &system{}
	var err error
	if s.server, err = start(ctx, o.DSN); err != nil {
		return nil, hello, err
	}
	if err := s.work(ctx, o); err != nil {
		return nil, hello, errors.Join(err, s.Close())
	}
	return s, hello, nil
}

// work connects a client and starts a worker.
func (s *system) work(ctx context.Context, o harness.Options) (err error) {
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	options := client.Options{HostPort: s.server.address, Namespace: namespace, Logger: quiet}
	if s.client, err = client.DialContext(ctx, options); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := register(ctx, s.client); err != nil {
		return err
	}
	s.worker = worker.New(s.client, queue, worker.Options{MaxConcurrentWorkflowTaskPollers: pollers, MaxConcurrentActivityTaskPollers: pollers})
	s.worker.RegisterWorkflowWithOptions(steps{local: o.Variant == local}.run, workflow.RegisterOptions{Name: queue})
	s.worker.RegisterActivity(step)
	if err := s.worker.Start(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return s.settle(ctx)
}

// settle runs workflows until one ends: a namespace is known everywhere some seconds after it was made.
func (s *system) settle(ctx context.Context) (err error) {
	for end := time.Now().Add(settleLimit); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = s.Run(ctx, harness.Work{Steps: 1}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the first workflow: %w", err)
}

const settleLimit = 30 * time.Second

func step(context.Context) (string, error) { return string(harness.Payload), nil }

// steps is the workflow.
type steps struct{ local bool }

func (s steps) run(ctx workflow.Context, w harness.Work) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	execute := workflow.ExecuteActivity
	if s.local {
		execute = workflow.ExecuteLocalActivity
	}
	var begun []workflow.Future
	var result string
	for range w.Steps {
		f := execute(ctx, step)
		if w.Parallel {
			begun = append(begun, f)
		} else if err := f.Get(ctx, &result); err != nil {
			return "", err
		}
	}
	for _, f := range begun {
		if err := f.Get(ctx, &result); err != nil {
			return "", err
		}
	}
	return result, nil
}

// Run is part of harness.System.
func (s *system) Run(ctx context.Context, w harness.Work) error {
	id := "w" + strconv.FormatInt(s.number.Add(1), 10)
	r, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, queue, w)
	if err != nil {
		return err
	}
	var result string
	return r.Get(ctx, &result)
}

// Close is part of harness.System. Nothing of what is under way is of use to anybody, so the worker, which would wait for it, is
// left to the end of the process.
func (s *system) Close() error {
	if s.client != nil {
		s.client.Close()
	}
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
