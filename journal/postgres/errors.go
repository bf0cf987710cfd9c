package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that mean something to more than fateOf.
const (
	uniqueViolation      = "23505"
	readOnlyTransaction  = "25006"
	unsupportedParameter = "08P01" // what PgBouncer says of a startup parameter that it cannot pass on
)

// fate says what is known of a statement that returned an error. It is the only judgement of errors in this
// package; a whole call, or transaction, is what is repeated, never a part of one.
type fate int

const (
	// refused: the error is an answer; asking again would give the same.
	refused fate = iota
	// undone: the database did nothing, because of others that worked at the same moment.
	undone
	// away: the database did nothing and cannot now: it is full, starts, stops, or is not there.
	away
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
		return away
	case errors.As(err, &pg):
		return fateOfState(pg.Code)
	case pgconn.SafeToRetry(err):
		return undone
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, context.Canceled),     // a deadline is a net.Error
		errors.Is(err, pgconn.ErrConnClosed): // while the answer was awaited; before that it was safe to retry
		return unknown
	}
	return refused
}

func fateOfState(code string) fate {
	switch code {
	case "40001", "40P01", // serialization failure, deadlock
		"55P03", "57014", // lock timeout, statement timeout
		"0A000", "26000", // a cached plan or prepared statement that a migration or a pooler took away
		"25P03": // the server ended a transaction that this program left idle
		return undone
	case "57P03", // starting up or shutting down
		readOnlyTransaction:
		return away
	case "57P01", "57P02", "57P04", "57P05", // the connection was ended from outside
		"40003": // statement completion unknown
		return unknown
	}
	switch {
	case strings.HasPrefix(code, "53"): // too many connections, disk full, out of memory
		return away
	case strings.HasPrefix(code, "08"):
		return unknown
	}
	return refused
}

// stale says why the other connections are likely of as little use as the one that the error came from, "" for no
// reason. After a failover those to the old primary answer for ever, but take no writes; after a restart
// all are dead, and a call that met them one by one would use up its tries.
func stale(err error) string {
	var pg *pgconn.PgError
	var network *net.OpError
	switch {
	case isState(err, readOnlyTransaction):
		return "the server has become read-only"
	case errors.As(err, &pg):
		if pg.Code == "57P01" || pg.Code == "57P02" {
			return "the server ends connections"
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network) && !network.Timeout() && network.Op != "dial":
		return "a connection was lost"
	}
	return ""
}

func isState(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}
