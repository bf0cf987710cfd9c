package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
)

// Bounds of the repeats inside one call, with half as much again or less at random, so that those who met do not
// meet again. A conflict is over soon: 10 to 320 ms doubling, 0.6 s in all. A database that is away gets 30 to 960 ms, 1.9 s in
// all; when it stays away, that is the caller's to wait for.
const (
	maxTries   = 7
	firstWait  = 10 * time.Millisecond
	firstPause = 30 * time.Millisecond
)

// retry runs do until its error is an answer, or else returns ErrUnavailable. repeatable says that do recognises its own earlier
// success, so that it may run again when an answer was lost. Each try has cfg.Timeout, and after as much none begins, so
// that a network that swallows everything holds a caller for twice that at most. It ends early when
// the store is closed.
func (s *Store) retry(ctx context.Context, repeatable bool, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	began := time.Now()
	for n := 0; ; n++ {
		tctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		err := do(tctx)
		cancel()
		if err == nil {
			return nil
		}
		if why := stale(err); why != "" {
			s.evict(why)
		}
		f := fateOf(err)
		switch {
		case f == refused, ctx.Err() != nil:
			return err
		case f == unknown && !repeatable, n+1 == maxTries, time.Since(began) > s.cfg.Timeout:
			return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
		}
		first := firstWait
		if f == away {
			first = firstPause
		}
		wait := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(first<<n)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// inTx runs do in one transaction. Its statements see what was committed before each of them, also on
// a server whose default is another isolation level. The server ends it when this program falls silent in it,
// so that its locks do not outlive its author.
func (s *Store) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if s.pooled { // its sessions are not ours
			_, err := tx.Exec(ctx, `SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS s(name, value)`,
				timeoutNames, []string{s.cfg.millis(), s.cfg.millis()})
			if err != nil {
				return fmt.Errorf("timeouts: %w", err)
			}
		}
		return do(tx)
	})
}
