// Package sqlite owns the embedded journal: a journal.Store in one SQLite file, or in memory, for one
// process at a time. It never decides what a run does next and starts no goroutine of its own; cmd/host
// and tests open it.
//
// One connection writes and a few read. Callers that want to write at the same time share one
// transaction (see write.go), so that they share its flush to disk. The file is in WAL mode with
// synchronous=FULL: what was acknowledged survives a power cut.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite"

	"reprise/journal"
)

// Config says where the journal is. The zero value is a private database in memory.
type Config struct {
	// Path is the database's file; it is made with mode 0600, its folder must be there. Beside it stand
	// <path>-wal, <path>-shm and <path>.lock. Default, also for ":memory:": in memory, gone at Close.
	Path string
	// Clock is the database's clock, by which leases expire and timers fire. Default time.Now.
	Clock func() time.Time
	// Logger gets what an operator should know of the opening. Default: discard.
	Logger *slog.Logger
}

// Store is the journal. Make it with Open.
type Store struct {
	clock func() time.Time
	db    *sql.DB
	lock  *fileLock // nil in memory

	conns   []*conn    // all, the one that writes first
	writer  chan *conn // holds the one connection that writes, unless somebody uses it
	readers chan *conn // holds those that read; in memory it is writer, since there the connection is the database
	queue   queue
	hints   chan struct{}

	closed    chan struct{}
	closeOnce sync.Once
	closeErr  error
}

var _ journal.Store = (*Store)(nil)

// readConns is how many reads go on at once; each holds a page cache.
const readConns = 3

var errClosed = errors.New("the journal is closed")

// Open opens the journal, makes or migrates its schema, and ends the registrations of earlier boots:
// the lock on the file proves that they are dead. Returns an error that names the other process when
// one has the file open, and wraps journal.ErrSchema when a newer program has migrated it.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{clock: c.Clock, hints: make(chan struct{}, 1), closed: make(chan struct{}), writer: make(chan *conn, 1)}
	if s.clock == nil {
		s.clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.open(context.WithoutCancel(ctx), c); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", c.name(), err), s.Close())
	}
	return s, nil
}

func (c Config) inMemory() bool { return c.Path == "" || c.Path == ":memory:" }

func (c Config) name() string {
	if c.inMemory() {
		return "in memory"
	}
	return c.Path
}

func (s *Store) open(ctx context.Context, c Config) error {
	conns, dsn := 1, memoryDSN
	if !c.inMemory() {
		path, err := prepareFile(c.Path)
		if err != nil {
			return err
		}
		if s.lock, err = lockFile(path + ".lock"); err != nil {
			return err
		}
		conns, dsn = 1+readConns, fileDSN(path)
	}
	connector, err := sqlite3.NewConnector(dsn)
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxOpenConns(conns)
	s.db.SetMaxIdleConns(conns) // in memory, a connection that is let go takes the database with it
	if err := migrate(ctx, s.db); err != nil {
		return err
	}
	if err := s.connect(ctx, conns-1); err != nil {
		return err
	}
	ended, err := s.endEarlierBoots(ctx)
	if err != nil {
		return err
	}
	c.Logger.Debug("journal is open", "path", c.name(), "earlier_boots_ended", ended)
	return nil
}

// connect takes the connections out of the pool for good, so that each keeps its prepared statements.
func (s *Store) connect(ctx context.Context, readers int) error {
	s.readers = s.writer
	if readers > 0 {
		s.readers = make(chan *conn, readers)
	}
	for i := range 1 + readers {
		c, err := newConn(ctx, s.db)
		if err != nil {
			return err
		}
		s.conns = append(s.conns, c)
		if i == 0 {
			s.writer <- c
			continue
		}
		s.readers <- c
		if _, err := c.exec(`PRAGMA query_only = 1`); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the statements that run, not for what waits to run: that gets an error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.closeErr = s.close()
	})
	return s.closeErr
}

func (s *Store) close() error {
	// Wait until each connection is back, and keep it, so that nobody gets one any more.
	for i := range s.conns {
		if i == 0 {
			<-s.writer
		} else {
			<-s.readers
		}
	}
	var errs []error
	for _, c := range s.conns {
		errs = append(errs, c.close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// Hints implements journal.Claimer. Only this process can open the file, so a hint is a channel.
func (s *Store) Hints() <-chan struct{} { return s.hints }

func (s *Store) hint() {
	select {
	case s.hints <- struct{}{}:
	default: // one that nobody has taken yet says the same
	}
}

// Now implements journal.Nodes.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	return s.now(), nil
}

// now is the database's clock in the precision in which times are stored.
func (s *Store) now() time.Time { return fromMicro(s.clock().UnixMicro()) }
