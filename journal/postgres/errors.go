package postgres

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that mean something to this package.
const (
	uniqueViolation     = "23505"
	readOnlyTransaction = "25006"
)

// fate says what is known of a statement that returned an error.
type fate int

const (
	// refused: the error is an answer; asking again would give the same.
	refused fate = iota
	// undone: the database did nothing, for a reason that passes.
	undone
	// unknown: the answer was lost; the statement may have been carried out.
	unknown
)

// fateOf classifies an error of the driver or the server. Errors of this program are refused.
func fateOf(err error) fate {
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	var network net.Error
	switch {
	case errors.As(err, &connect):
		if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "28") || pg.Code == "3D000") {
			return refused // wrong password, no such role, no such database
		}
		return undone
	case errors.As(err, &pg):
		return fateOfState(pg.Code)
	case pgconn.SafeToRetry(err):
		return undone
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return unknown
	}
	return refused
}

func fateOfState(code string) fate {
	switch code {
	case "40001", "40P01", // serialization failure, deadlock
		"55P03", "57014", // lock timeout, statement timeout
		"53300", "57P03", // too many connections, starting up or shutting down
		"0A000", "26000", // a cached plan or prepared statement that a migration or a pooler took away
		readOnlyTransaction:
		return undone
	case "57P01", "57P02", "57P04", "57P05", // the connection was ended from outside
		"40003": // statement completion unknown
		return unknown
	}
	if strings.HasPrefix(code, "08") {
		return unknown
	}
	return refused
}

func isState(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// Bounds of the repeats inside one call: 10 to 320 ms doubling, 0.6 s in all on average. They bridge a
// deadlock and a lost connection; a database that stays away is the caller's to wait for.
const (
	maxTries  = 7
	firstWait = 10 * time.Millisecond
)

// retry runs do until its error is an answer. repeatable says that do recognises its own earlier
// success, so that it may run again when an answer was lost. It ends early when the store is closed.
func (s *Store) retry(ctx context.Context, repeatable bool, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for n := 0; ; n++ {
		err := do(ctx)
		if err == nil {
			return nil
		}
		f := fateOf(err)
		if f == refused || f == unknown && !repeatable || n+1 == maxTries || ctx.Err() != nil {
			return err
		}
		if isState(err, readOnlyTransaction) {
			s.pool.Reset() // after a failover the old primary's connections answer for ever, but take no writes
		}
		wait := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(firstWait<<n)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// inTx runs do in one transaction. Its statements see what was committed before each of them, also on
// a server whose default is another isolation level.
func (s *Store) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, do)
}
