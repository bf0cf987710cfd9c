package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/bench/harness"
	"reprise/bench/usage"
)

// costWorkflows is how many workflows are run to see what one costs.
const costWorkflows = 320

// cost is what a workflow's step takes.
type cost struct {
	CPU       float64 `json:"cpu_ms"`        // of the system, in milliseconds
	ServerCPU float64 `json:"server_cpu_ms"` // of Postgres
	// Rows are inserted, updated and deleted.
	Rows         float64 `json:"rows"`
	Transactions float64 `json:"transactions"`
	WALBytes     float64 `json:"wal_bytes"`
	Fsyncs       float64 `json:"fsyncs"` // of the write-ahead log
}

// warmWorkflows are run before time and the log count, so that pools are filled and guests are compiled.
const warmWorkflows = 64

// counters are the server's. Rows, transactions and fsyncs are reported by the server's processes when they have been idle for
// long or end, so they are read before the system starts and after it has ended; what starting took is in them.
type counters struct{ rows, transactions, fsyncs int64 }

// moment is what is exact at any time.
type moment struct {
	cpu, serverCPU float64 // seconds
	wal            int64   // bytes
}

// cost runs a number of workflows and compares what is counted before and after. It closes the child.
func (b *bench) cost(ctx context.Context, s prepared, child opened, c harness.Cell) (harness.Result, *cost, error) {
	start, err := b.counters(ctx, child.dsn)
	if err != nil {
		return harness.Result{}, nil, err
	}
	warm := c
	warm.Workflows = warmWorkflows
	if _, err := child.Measure(ctx, warm); err != nil {
		return harness.Result{}, nil, err
	}
	before, err := b.moment(ctx, child.PID())
	if err != nil {
		return harness.Result{}, nil, err
	}
	r, err := child.Measure(ctx, c)
	if err != nil {
		return r, nil, err
	}
	after, err := b.moment(ctx, child.PID())
	if err != nil {
		return r, nil, err
	}
	child.Close()
	steps, allSteps := float64(r.Workflows*c.Steps), float64((r.Workflows+warmWorkflows)*c.Steps)
	made := &cost{CPU: (after.cpu - before.cpu) * 1000 / steps}
	if s.store != postgres {
		return r, made, nil
	}
	end, err := b.counters(ctx, child.dsn)
	made.ServerCPU = (after.serverCPU - before.serverCPU) * 1000 / steps
	made.WALBytes = float64(after.wal-before.wal) / steps
	made.Rows = float64(end.rows-start.rows) / allSteps
	made.Transactions = float64(end.transactions-start.transactions) / allSteps
	made.Fsyncs = float64(end.fsyncs-start.fsyncs) / allSteps
	return r, made, err
}

func (b *bench) moment(ctx context.Context, pid int) (m moment, err error) {
	postmaster, err := b.server.PID()
	if err != nil {
		return m, err
	}
	m.cpu, m.serverCPU = usage.CPU(pid), usage.CPU(postmaster)
	err = query(ctx, b.server.DSN("postgres"), "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn", &m.wal)
	return m, err
}

// settle is how long the server's processes take to end after their clients.
const settle = 300 * time.Millisecond

// counters reads those of one database; fsyncs are the whole server's.
func (b *bench) counters(ctx context.Context, dsn string) (c counters, err error) {
	if dsn == "" {
		return c, nil
	}
	time.Sleep(settle)
	err = query(ctx, dsn, `
		SELECT (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables),
		       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
		       (SELECT wal_sync FROM pg_stat_wal)`, &c.rows, &c.transactions, &c.fsyncs)
	return c, err
}

func query(ctx context.Context, dsn, sql string, to ...any) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(to...); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	return nil
}
