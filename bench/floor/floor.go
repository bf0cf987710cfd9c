// Package floor is what is left when a workflow engine does nothing but write: the bare database, by hand. No system that
// keeps every step can be faster than the grouped one, except by writing less.
package floor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise/bench/harness"
)

const schema = `
CREATE TABLE floor_runs (id uuid PRIMARY KEY, done boolean NOT NULL DEFAULT false, input bytea NOT NULL, output bytea);
CREATE TABLE floor_entries (run uuid NOT NULL, seq int NOT NULL, payload bytea NOT NULL, PRIMARY KEY (run, seq));`

// Floor writes a row when a workflow starts, a row a step, and the result; each is durable before the next.
type Floor struct {
	pool  *pgxpool.Pool
	jobs  chan write // nil when each write is a transaction of its own
	wg    sync.WaitGroup
	close func()
}

// write is one of: a start, a step, a result.
type write struct {
	kind int
	run  uuid.UUID
	seq  int32
	done chan error
}

const (
	start = iota
	step
	finish
)

// Writers is how many statements are under way at once in the grouped floor: two were measured to be best.
const Writers = 2

// most bounds the writes of one group.
const most = 1024

// The variants of the floor.
const (
	Grouped = "grouped"
	Indexed = "indexed" // grouped
	Naive   = "naive"   // each write is a transaction
)

// Open is a harness.Open.
func Open(ctx context.Context, o harness.Options) (harness.System, harness.Hello, error) {
	f, err := New(ctx, o.DSN, o.Variant != Naive, o.Variant == Indexed)
	return f, harness.Hello{System: "floor", Settings: o.Variant}, err
}

// New makes the tables. grouped says that writes of many workflows share a transaction; indexed that the server is kept from
// reading tables whole, which it does by itself for results: of tables that are seconds old it has no statistics.
func New(ctx context.Context, dsn string, grouped, indexed bool) (*Floor, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	if indexed {
		config.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		pool.Close()
		return nil, fmt.Errorf("floor: %w", err)
	}
	f := &Floor{pool: pool, close: pool.Close}
	if grouped {
		f.jobs = make(chan write, 4096)
		for range Writers {
			f.wg.Go(f.writer)
		}
	}
	return f, nil
}

// Run is part of harness.System.
func (f *Floor) Run(ctx context.Context, w harness.Work) error {
	run := uuid.New()
	if err := f.write(ctx, write{kind: start, run: run}); err != nil {
		return err
	}
	if err := f.steps(ctx, run, w); err != nil {
		return err
	}
	return f.write(ctx, write{kind: finish, run: run})
}

func (f *Floor) steps(ctx context.Context, run uuid.UUID, w harness.Work) error {
	if !w.Parallel {
		for i := range w.Steps {
			if err := f.write(ctx, write{kind: step, run: run, seq: int32(i)}); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make(chan error, w.Steps)
	for i := range w.Steps {
		go func() { errs <- f.write(ctx, write{kind: step, run: run, seq: int32(i)}) }()
	}
	var err error
	for range w.Steps {
		err = errors.Join(err, <-errs)
	}
	return err
}

// Close is part of harness.System.
func (f *Floor) Close() error {
	if f.jobs != nil {
		close(f.jobs)
	}
	f.wg.Wait()
	f.close()
	return nil
}

func (f *Floor) write(ctx context.Context, w write) error {
	if f.jobs == nil {
		return f.group(ctx, []write{w})
	}
	w.done = make(chan error, 1)
	f.jobs <- w
	return <-w.done // within milliseconds, whatever ctx says
}

func (f *Floor) writer() {
	for first := range f.jobs {
		group := []write{first}
	fill:
		for len(group) < most {
			select {
			case w, ok := <-f.jobs:
				if !ok {
					break fill
				}
				group = append(group, w)
			default:
				break fill
			}
		}
		err := f.group(context.Background(), group)
		for _, w := range group {
			w.done <- err
		}
	}
}

// statement inserts starts and steps and updates results, one round trip and one transaction.
const statement = `
WITH starts AS (INSERT INTO floor_runs (id, input) SELECT unnest($1::uuid[]), $5::bytea),
     finishes AS (UPDATE floor_runs SET done = true, output = $5::bytea WHERE id = ANY ($2::uuid[]))
INSERT INTO floor_entries (run, seq, payload) SELECT run, seq, $5::bytea FROM unnest($3::uuid[], $4::int[]) AS s (run, seq)`

func (f *Floor) group(ctx context.Context, group []write) error {
	starts, finishes, runs, seqs := []uuid.UUID{}, []uuid.UUID{}, []uuid.UUID{}, []int32{}
	for _, w := range group {
		switch w.kind {
		case start:
			starts = append(starts, w.run)
		case finish:
			finishes = append(finishes, w.run)
		default:
			runs, seqs = append(runs, w.run), append(seqs, w.seq)
		}
	}
	if _, err := f.pool.Exec(ctx, statement, starts, finishes, runs, seqs, harness.Payload); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	return nil
}
