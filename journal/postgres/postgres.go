// Package postgres keeps a journal in Postgres, for any number of nodes. It owns the schema, the
// statements and the connections; it decides nothing about execution and reads no guest. cmd/host
// opens it, the host calls it as a journal.Store.
//
// Four habits run through it. What a write depends on is a condition of the write's own statement.
// Time is reprise_now() of the database, never this process's clock. No statement needs a session: a
// pooler in transaction mode may sit between, and every table is named with its schema. An error
// during a write means that nothing is known, so a write is only repeated when a repeat is recognised.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise/journal"
	"reprise/modules"
)

// Config says where the database is. DSN is required; every other zero value is a documented default.
type Config struct {
	// DSN is a URL or a keyword string as libpq takes it. It may name several hosts, of which the primary is found. A
	// pooler in transaction mode is recognised by the settings that it refuses; when it was told to ignore them
	// (ignore_startup_parameters), add default_query_exec_mode=exec.
	DSN string
	// ListenDSN is a way to the same database for LISTEN, which a pooler in transaction mode cannot
	// carry. Without notifications nothing is lost, but work of other nodes is found only by polling.
	// Default: DSN.
	ListenDSN string
	// Schema holds the tables: lower-case letters, digits and '_'. It is made when it is missing.
	// Default "reprise".
	Schema string
	// MaxConns bounds the connections, LISTEN left aside. One of them is for heartbeats only. Default 16.
	MaxConns int
	// Timeout bounds one try of a call, here and on the server. A call ends within twice that, whatever the network and
	// the server do. Default 15s.
	Timeout time.Duration
	// OldTransaction is how long anybody's transaction may keep dead rows from being removed before the log warns of it. Default 10m.
	OldTransaction time.Duration
	// AllowNoFsync opens a server that has fsync off and so may lose what it acknowledged. For tests.
	AllowNoFsync bool
	// Logger gets what an operator should know. Default: discard.
	Logger *slog.Logger

	tracer    pgx.QueryTracer // counts statements in tests
	dial      pgconn.DialFunc // loses answers in tests
	slowClaim time.Duration   // after which claims do not look at everything each time
	deadRows  int64           // of a table, before the log warns; fewer in tests
}

var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

func (c Config) withDefaults() (Config, error) {
	if c.ListenDSN == "" {
		c.ListenDSN = c.DSN
	}
	if c.Schema == "" {
		c.Schema = defaultSchema
	}
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.OldTransaction == 0 {
		c.OldTransaction = 10 * time.Minute
	}
	if c.slowClaim == 0 {
		c.slowClaim = slowClaim
	}
	if c.deadRows == 0 {
		c.deadRows = deadRows
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if !schemaForm.MatchString(c.Schema) {
		return c, fmt.Errorf("schema %.80q is not 1 to 63 of a-z, 0-9 and '_', starting with a letter or '_'", c.Schema)
	}
	if c.MaxConns < 1 {
		return c, fmt.Errorf("MaxConns is %d, less than 1", c.MaxConns)
	}
	if c.Timeout < time.Millisecond { // 0 is none for a server
		return c, fmt.Errorf("Timeout is %s, less than a millisecond", c.Timeout)
	}
	return c, nil
}

// Store is a journal in Postgres.
type Store struct {
	cfg    Config
	log    *slog.Logger
	pool   *pgxpool.Pool
	beats  *pgxpool.Pool // one connection for heartbeats, which must not queue behind what callers ask
	pooled bool          // a pooler may stand between, so that a session is nobody's
	deaf   bool          // it carries no notifications

	listenConfig *pgx.ConnConfig
	listening    atomic.Pointer[context.CancelFunc] // ends the connection that listens
	evictions    chan string                        // reasons
	timelines    timelines

	ctx    context.Context // done when the store is closed; ends every call and goroutine
	cancel context.CancelFunc
	wg     sync.WaitGroup

	commits chan *commit  // to the writers
	hints   chan struct{} // to whoever looks for work
	notify  chan struct{} // to the notifier
	self    string        // marks this store's notifications, so that it ignores them

	lostClaims lostClaims
	snapshots  snapshots
	outlook    outlook

	begins     *combiner[*begin, begun]
	runReads   *combiner[runKey, heldRun]
	aliasReads *combiner[aliasKey, modules.Alias]
}

var _ journal.Store = (*Store)(nil)

// writers is the number of connections that write commits. Two overlap one's fsync with the other's
// execution; more make the groups smaller.
const writers = 2

// Open connects, brings the schema up to date and starts the store's goroutines, which Close ends.
// Returns journal.ErrSchema when the database's schema is newer than this program. It refuses a
// server that is read-only, too old, or runs with fsync off.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("postgres config: %w", err)
	}
	s := &Store{
		cfg: c, log: c.Logger,
		evictions: make(chan string, 1),
		commits:   make(chan *commit),
		hints:     make(chan struct{}, 1),
		notify:    make(chan struct{}, 1),
		self:      fmt.Sprintf("%016x", rand.Uint64()),
	}
	s.outlook.slow = c.slowClaim
	s.timelines.newest = make(map[string]string)
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.begins = newCombiner(s.ctx, 3*c.Timeout, s.beginMany) // a call of retry takes twice as long at most
	s.runReads = newCombiner(s.ctx, c.Timeout, s.manyRuns)
	s.aliasReads = newCombiner(s.ctx, c.Timeout, s.manyAliases)
	for range writers {
		s.wg.Go(s.writeLoop)
	}
	s.wg.Go(s.evictLoop)
	s.wg.Go(s.notifyLoop)
	if s.deaf {
		s.log.Info("the pooler carries no notifications: work of other nodes is found by polling")
	} else {
		s.wg.Go(s.listenLoop)
	}
	return s, nil
}

// Close ends the calls that are under way and releases the connections.
func (s *Store) Close() error {
	s.cancel()
	s.wg.Wait()
	s.pool.Close()
	if s.beats != s.pool {
		s.beats.Close()
	}
	return nil
}

// minVersion is the oldest server that the statements were written for.
const minVersion = 140000

// prepare checks the server and brings its schema up to date. refused says that a pooler lets no settings through.
func prepare(ctx context.Context, cc *pgx.ConnConfig, c Config) (refused bool, err error) {
	cc = cc.Copy()
	cc.Tracer = nil
	for _, name := range timeoutNames {
		cc.RuntimeParams[name] = "0" // a migration may take its time
	}
	conn, err := pgx.ConnectConfig(ctx, cc)
	if refused = isState(err, unsupportedParameter); refused {
		for _, name := range timeoutNames {
			delete(cc.RuntimeParams, name)
		}
		forPooler(cc, c)
		conn, err = pgx.ConnectConfig(ctx, cc)
	}
	if err != nil {
		return refused, err // names host and database
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkServer(ctx, conn, c); err != nil {
		return refused, err
	}
	return refused, migrate(ctx, conn, cc, c.Schema)
}

func checkServer(ctx context.Context, conn *pgx.Conn, c Config) error {
	var version int
	var fsync, pages, sync string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('full_page_writes'), current_setting('synchronous_commit')`).Scan(&version, &fsync, &pages, &sync)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if version < minVersion {
		return fmt.Errorf("server version %d is older than %d", version/10000, minVersion/10000)
	}
	if fsync == "off" && !c.AllowNoFsync {
		return errors.New("the server runs with fsync = off: a crash of its machine loses what it acknowledged; turn fsync on")
	}
	if pages == "off" && !c.AllowNoFsync {
		c.Logger.Warn("the server runs with full_page_writes = off: a crash of its machine may damage its data")
	}
	if sync == "off" {
		c.Logger.Warn("the server runs with synchronous_commit = off: a crash loses the last acknowledged commits")
	}
	return nil
}

// defaultSchema is the schema under which the statements in this package are written.
const defaultSchema = "reprise"

// in gives a statement for the configured schema. Statements name their tables reprise.x, and nothing
// else in them has that form.
func (s *Store) in(sql string) string {
	if s.cfg.Schema == defaultSchema {
		return sql
	}
	return strings.ReplaceAll(sql, defaultSchema+".", s.cfg.Schema+".")
}
