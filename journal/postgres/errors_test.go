package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise/journal"
)

func TestFateOf(t *testing.T) {
	state := func(code string) error { return fmt.Errorf("commit: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		name string
		err  error
		want fate
	}{
		{"serialization failure", state("40001"), undone},
		{"deadlock", state("40P01"), undone},
		{"lock timeout", state("55P03"), undone},
		{"statement timeout", state("57014"), undone},
		{"plan of an older schema", state("0A000"), undone},
		{"prepared statement that is gone", state("26000"), undone},
		{"idle in transaction", state("25P03"), undone},
		{"read-only", state("25006"), away},
		{"disk full", state("53100"), away},
		{"out of memory", state("53200"), away},
		{"too many connections", state("53300"), away},
		{"starting up", state("57P03"), away},
		{"administrator's command", state("57P01"), unknown},
		{"crash of another session", state("57P02"), unknown},
		{"database dropped", state("57P04"), unknown},
		{"idle session", state("57P05"), unknown},
		{"completion unknown", state("40003"), unknown},
		{"connection failure", state("08006"), unknown},
		{"protocol violation", state("08P01"), unknown},
		{"unique violation", state("23505"), refused},
		{"check violation", state("23514"), refused},
		{"no such table", state("42P01"), refused},
		{"no right", state("42501"), refused},
		{"value too long", state("54000"), refused},
		{"failed transaction", state("25P02"), refused},
		{"internal error", state("XX000"), refused},

		{"end of the connection", io.EOF, unknown},
		{"end of the connection of a statement without parameters", fmt.Errorf("exec: %w", pgconn.ErrConnClosed), unknown},
		{"end within a message", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), unknown},
		{"closed connection", net.ErrClosed, unknown},
		{"reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, unknown},
		{"broken pipe", &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, unknown},
		{"timeout of the network", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, unknown},
		{"deadline", context.DeadlineExceeded, unknown},
		{"cancellation", context.Canceled, unknown},

		{"no rows", pgx.ErrNoRows, refused},
		{"a decision", journal.ErrFenced, refused},
		{"of this program", errors.New("scan"), refused},
	} {
		if got := fateOf(c.err); got != c.want {
			t.Errorf("%s: got fate %d, want %d", c.name, got, c.want)
		}
		all := slices.Contains([]string{"read-only", "administrator's command", "crash of another session", "end of the connection",
			"end within a message", "reset", "broken pipe"}, c.name)
		if got := stale(c.err); (got != "") != all {
			t.Errorf("%s: got %q, want a reason to replace all connections: %v", c.name, got, all)
		}
	}
}

// TestFateOfConnecting is about connections that do not come about: then nothing was asked.
func TestFateOfConnecting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	for _, c := range []struct {
		name, dsn string
		want      fate
	}{
		{"nobody there", "postgres://postgres@" + addr + "/x?sslmode=disable", away},
		{"no such host", "postgres://postgres@host.invalid/x?sslmode=disable&connect_timeout=5", away},
		{"no such database", newTestbed(t).cfg.DSN + "&dbname=nobody_made_it", refused},
	} {
		_, err := pgx.Connect(t.Context(), c.dsn)
		if got := fateOf(err); got != c.want {
			t.Errorf("%s: got fate %d of %v, want %d", c.name, got, err, c.want)
		}
	}
}

// TestRetry says how often a call is repeated.
func TestRetry(t *testing.T) {
	s := &Store{cfg: Config{Timeout: time.Minute}, ctx: t.Context(), evictions: make(chan string, 1)}
	state := func(code string) error { return &pgconn.PgError{Code: code} }
	for _, c := range []struct {
		name       string
		err        error
		repeatable bool
		tries      int
	}{
		{"conflict", state("40001"), false, maxTries},
		{"disk full", state("53100"), false, maxTries},
		{"lost answer", io.EOF, true, maxTries},
		{"lost answer of what must not be repeated", io.EOF, false, 1},
		{"answer", state("23505"), true, 1},
	} {
		tries := 0
		err := s.retry(t.Context(), c.repeatable, func(context.Context) error { tries++; return c.err })
		if tries != c.tries || !errors.Is(err, c.err) || errors.Is(err, journal.ErrUnavailable) != (fateOf(c.err) != refused) {
			t.Errorf("%s: got %d tries and %v, want %d and its error, as unavailable unless it is an answer", c.name, tries, err, c.tries)
		}
	}
	tries := 0
	err := s.retry(t.Context(), false, func(context.Context) error {
		if tries++; tries < 3 {
			return state("40P01")
		}
		return nil
	})
	if tries != 3 || err != nil {
		t.Errorf("a conflict that is over: got %d tries and %v, want 3 and no error", tries, err)
	}
}

// TestRetryEnds: nothing holds a call for longer than twice the timeout.
func TestRetryEnds(t *testing.T) {
	s := &Store{cfg: Config{Timeout: 10 * time.Millisecond}, ctx: t.Context()}
	tries := 0
	err := s.retry(t.Context(), true, func(ctx context.Context) error {
		tries++
		<-ctx.Done()
		return ctx.Err()
	})
	if tries > 2 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %d tries and %v, want at most 2 and that their time was over", tries, err)
	}
}
