package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/bench/harness"
)

// progress says, by the system's folder or name, how many steps of a workflow are durable. Who is not here keeps them where
// the program that measures does not look.
var progress = map[string]string{
	"reprise C effect":  "SELECT coalesce(max(seq), 0) FROM reprise.entries",
	"reprise Go effect": "SELECT coalesce(max(seq), 0) FROM reprise.entries",
	"dbos":              "SELECT coalesce(max(function_id), -1) + 1 FROM dbos.operation_outputs",
}

// histories reads how many steps a workflow has made when its process is killed, one argument each.
func histories(args []string) (all []int64, err error) {
	if len(args) == 0 {
		return []int64{1000, 10_000}, nil
	}
	for _, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("steps %q: want a number above 0", arg)
		}
		all = append(all, n)
	}
	return all, nil
}

// recoveryRounds is how often each is killed; the medians count.
const recoveryRounds = 3

// recovered is a line about a system that was killed in the middle of a workflow.
type recovered struct {
	System string `json:"system"`
	Steps  int64  `json:"steps_before"`
	// FirstMS is the time from the start of the new process until the next step is durable, in milliseconds, with what the
	// system takes to start at all.
	FirstMS float64 `json:"next_step_ms"`
	// ReadyMS is the time until the new process says that it is ready, whatever its workflows do.
	ReadyMS float64 `json:"ready_ms"`
}

// recovery kills each system in the middle of a long workflow, starts it again, and waits for the workflow's next step.
func (b *bench) recovery(ctx context.Context, histories []int64) error {
	var systems []prepared
	for _, s := range everything {
		if progress[s.name] == "" {
			continue
		}
		p, err := b.prepare(ctx, s)
		if err != nil {
			if err := print(remark{err.Error()}); err != nil {
				return err
			}
			continue
		}
		systems = append(systems, p)
	}
	for _, steps := range histories {
		figures := map[string][2][]float64{}
		for range recoveryRounds {
			for _, s := range systems {
				r, err := b.recover(ctx, s, steps)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					_ = print(remark{fmt.Sprintf("%s with %d steps: %v", s.name, steps, err)})
					continue
				}
				if err := print(r); err != nil {
					return err
				}
				of := figures[s.name]
				figures[s.name] = [2][]float64{append(of[0], r.FirstMS), append(of[1], r.ReadyMS)}
			}
		}
		for _, s := range systems {
			of := figures[s.name]
			if len(of[0]) == 0 {
				continue
			}
			if err := print(recovered{s.name + ", median", steps, harness.Median(of[0]), harness.Median(of[1])}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recover is one killing.
func (b *bench) recover(ctx context.Context, s prepared, steps int64) (recovered, error) {
	r := recovered{System: s.name, Steps: steps}
	o, err := b.place(ctx, s, 1)
	if err != nil {
		return r, err
	}
	conn, err := pgx.Connect(ctx, o.DSN)
	if err != nil {
		return r, fmt.Errorf("progress: %w", err)
	}
	defer conn.Close(ctx)
	w := watch{conn, progress[s.name]}
	if err := b.runUntil(ctx, s, o, w, steps); err != nil {
		return r, err
	}
	before, err := w.settled(ctx)
	if err != nil {
		return r, err
	}
	living, kill := context.WithCancel(ctx)
	defer kill()
	began, ready := time.Now(), make(chan error, 1)
	var child *harness.Child
	go func() {
		var err error
		child, _, err = harness.Start(living, nil, s.program, append(s.args, o.Args()...)...)
		r.ReadyMS = milliseconds(began)
		ready <- err
	}()
	err = w.until(ctx, before+1)
	first := milliseconds(began)
	if started := <-ready; started != nil {
		return r, errors.Join(err, started)
	}
	kill()
	child.Close()
	r.FirstMS = first
	return r, err
}

// runUntil has a system run a workflow that is longer, and kills it, with all that it started, after so many steps.
func (b *bench) runUntil(ctx context.Context, s prepared, o harness.Options, w watch, steps int64) error {
	living, kill := context.WithCancel(ctx)
	defer kill()
	child, _, err := harness.Start(living, nil, s.program, append(s.args, o.Args()...)...)
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() {
		_, err := child.Measure(living, harness.Cell{Work: harness.Work{Steps: int(steps) * 10}, InFlight: 1, Workflows: 1, Seconds: recoveryLimit.Seconds()})
		answered <- err
	}()
	err = w.until(ctx, steps)
	kill()
	if ended := <-answered; ended == nil || err != nil {
		return errors.Join(err, fmt.Errorf("the workflow was to be killed after %d steps: %v", steps, ended))
	}
	child.Close()
	return nil
}

// recoveryLimit is how long a workflow may take until it is killed, and again until it goes on.
const recoveryLimit = 2 * time.Minute

// watch reads how far a workflow is.
type watch struct {
	conn  *pgx.Conn
	query string
}

func (w watch) now(ctx context.Context) (steps int64, err error) {
	err = w.conn.QueryRow(ctx, w.query).Scan(&steps)
	return steps, err
}

// settled waits until nothing comes any more of a process that was killed: the server may still commit what it had been sent.
func (w watch) settled(ctx context.Context) (steps int64, err error) {
	const quiet = 300 * time.Millisecond
	steps, err = w.now(ctx)
	for last := int64(-1); err == nil && steps != last; {
		time.Sleep(quiet)
		last = steps
		steps, err = w.now(ctx)
	}
	return steps, err
}

// until waits for a number of steps. Tables that are not there yet are waited for, too.
func (w watch) until(ctx context.Context, steps int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, recoveryLimit, fmt.Errorf("%d steps were not made within %s", steps, recoveryLimit))
	defer cancel()
	var last error
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		n, err := w.now(ctx)
		switch {
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), last)
		case err == nil && n >= steps:
			return nil
		}
		last = err
	}
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}
