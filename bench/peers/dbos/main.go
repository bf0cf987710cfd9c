// Command dbos is DBOS Transact for Go, on Postgres or SQLite, for the benchmark.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"reprise/bench/harness"
)

func main() { harness.Main(os.Args[1:], open) }

// pool is the number of connections.
const pool = 32

type system struct {
	dbos   dbos.Context
	number atomic.Int64
}

func open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	hello := harness.Hello{System: "DBOS Transact", Version: version("github.com/dbos-inc/dbos-transact-golang")}
	c := dbos.Config{AppName: "bench", ApplicationVersion: "1", Logger: slog.New(slog.DiscardHandler)}
	if o.SQLite != "" {
		hello.Settings = "SQLite in WAL mode, synchronous=FULL instead of the library's NORMAL, so that commits survive a loss of power"
		c.DatabaseURL = "sqlite:file:" + o.SQLite + "?_pragma=synchronous(FULL)"
	} else {
		u, err := url.Parse(o.DSN)
		if err != nil {
			return nil, hello, fmt.Errorf("DSN: %w", err)
		}
		q := u.Query()
		q.Set("pool_max_conns", strconv.Itoa(pool))
		u.RawQuery = q.Encode()
		hello.Settings = fmt.Sprintf("%d connections, otherwise defaults", pool)
		c.DatabaseURL = u.String()
	}
	d, err := dbos.NewContext(ctx, c)
	if err != nil {
		return nil, hello, err
	}
	dbos.RegisterWorkflow(d, steps)
	if err := dbos.Launch(d); err != nil {
		return nil, hello, err
	}
	return &system{dbos: d}, hello, nil
}

func step(context.Context) (string, error) { return string(harness.Payload), nil }

func steps(ctx dbos.Context, w harness.Work) (string, error) {
	if w.Parallel {
		return parallel(ctx, w)
	}
	for range w.Steps {
		if _, err := dbos.RunAsStep(ctx, step); err != nil {
			return "", err
		}
	}
	return string(harness.Payload), nil
}

func parallel(ctx dbos.Context, w harness.Work) (string, error) {
	begun := make([]<-chan dbos.StepOutcome[string], w.Steps)
	for i := range begun {
		var err error
		if begun[i], err = dbos.Go(ctx, step); err != nil {
			return "", err
		}
	}
	var err error
	for _, c := range begun {
		outcome := <-c
		err = errors.Join(err, outcome.Err)
	}
	return string(harness.Payload), err
}

// Run is part of harness.System.
func (s *system) Run(ctx context.Context, w harness.Work) error {
	h, err := dbos.RunWorkflow(s.dbos, steps, w, dbos.WithWorkflowID("w"+strconv.FormatInt(s.number.Add(1), 10)))
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := h.GetResult()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close is part of harness.System. Nothing of what is under way is of use to anybody.
func (s *system) Close() error {
	dbos.Shutdown(s.dbos, time.Second)
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
