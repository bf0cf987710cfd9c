package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Times of connections.
const (
	connectTimeout = 5 * time.Second // for one address to take a connection and answer
	pingTimeout    = 5 * time.Second // for a connection that was idle
)

// timeoutNames are settings by which the server itself ends what this program cannot end any more: a statement
// whose author is cut off, a transaction whose author has fallen silent. They are set to Config.Timeout.
var timeoutNames = []string{"statement_timeout", "idle_in_transaction_session_timeout"}

// planSettings make the server plan a statement once a connection, and by its indexes: what is looked up are lists of a few keys,
// in tables of any size, and a plan that was made while a table was small must be right when it is large. Without them a
// statement of one run was planned anew each time, for longer than it took, and read all of runs until the first ANALYZE.
var planSettings = map[string]string{"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}

func (c Config) millis() string { return strconv.FormatInt(c.Timeout.Milliseconds(), 10) }

// connect fills in how the store connects: the pool, the connection for heartbeats, and what listens.
func (s *Store) connect(ctx context.Context) error {
	pc, err := pgxpool.ParseConfig(s.cfg.DSN)
	if err != nil {
		return fmt.Errorf("postgres DSN: %w", err)
	}
	if s.listenConfig, err = pgx.ParseConfig(s.cfg.ListenDSN); err != nil {
		return fmt.Errorf("postgres listen DSN: %w", err)
	}
	for _, cc := range []*pgx.ConnConfig{pc.ConnConfig, s.listenConfig} {
		cc.ValidateConnect = s.primary
		if cc.ConnectTimeout == 0 {
			cc.ConnectTimeout = connectTimeout
		}
	}
	pc.ConnConfig.Tracer = s.cfg.tracer
	if s.cfg.dial != nil {
		pc.ConnConfig.DialFunc = s.cfg.dial
	}
	refused, err := prepare(ctx, pc.ConnConfig, s.cfg)
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	s.deaf = refused && s.cfg.ListenDSN == s.cfg.DSN
	s.tune(pc, refused)
	// The pools outlive ctx, which is only about opening.
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), pc); err != nil {
		return fmt.Errorf("postgres pool: %w", err)
	}
	if s.beats = s.pool; s.cfg.MaxConns == 1 {
		return nil
	}
	bc := pc.Copy()
	bc.MaxConns, bc.MinConns = 1, 0
	bc.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // a heartbeat is one itself
	if s.beats, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), bc); err != nil {
		s.pool.Close()
		return fmt.Errorf("postgres pool: %w", err)
	}
	return nil
}

// tune sets what the DSN leaves open. refused says that a pooler lets no settings through.
func (s *Store) tune(pc *pgxpool.Config, refused bool) {
	pc.MaxConns = int32(max(s.cfg.MaxConns-1, 1)) // one is for heartbeats
	pc.MinConns = min(pc.MinConns, pc.MaxConns)
	pc.PrepareConn = usable
	pc.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { takeArrays(conn.TypeMap()); return nil }
	if pc.PingTimeout == 0 {
		pc.PingTimeout = pingTimeout
	}
	if pc.MaxConnLifetimeJitter == 0 {
		pc.MaxConnLifetimeJitter = pc.MaxConnLifetime / 10 // else the nodes that began together connect anew together
	}
	if !refused {
		for _, name := range timeoutNames {
			setDefault(pc.ConnConfig, name, s.cfg.millis())
		}
		for name, value := range planSettings {
			setDefault(pc.ConnConfig, name, value)
		}
	} else {
		forPooler(pc.ConnConfig, s.cfg)
	}
	s.pooled = pc.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement
}

// forPooler keeps statements from being prepared in a session that the next one does not get.
func forPooler(cc *pgx.ConnConfig, c Config) {
	if !strings.Contains(c.DSN, "default_query_exec_mode") {
		cc.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
}

// setDefault sets a parameter of the session unless the DSN does.
func setDefault(cc *pgx.ConnConfig, name, value string) {
	if _, there := cc.RuntimeParams[name]; !there && !strings.Contains(cc.RuntimeParams["options"], name) {
		cc.RuntimeParams[name] = value
	}
}

// usable keeps back a connection whose server has said that it takes no writes. It costs no round trip: a server
// tells of these settings by itself.
func usable(_ context.Context, conn *pgx.Conn) (bool, error) {
	pg := conn.PgConn()
	return pg.ParameterStatus("in_hot_standby") != "on" && pg.ParameterStatus("default_transaction_read_only") != "on", nil
}

// evict has every connection replaced: those that are in use when they come back, the listening one at once.
func (s *Store) evict(why string) {
	select {
	case s.evictions <- why:
	default: // it is about to be done
	}
}

// evictGap keeps the calls that fail together from ending the connections that were made for the first of them.
const evictGap = 200 * time.Millisecond

func (s *Store) evictLoop() {
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-gap.C:
		case <-s.ctx.Done():
			return
		}
		select {
		case why := <-s.evictions:
			s.log.Info("all connections are replaced", "reason", why)
			s.pool.Reset()
			s.beats.Reset()
			if stop := s.listening.Load(); stop != nil {
				(*stop)()
			}
		case <-s.ctx.Done():
			return
		}
		gap.Reset(evictGap)
	}
}

// timelineSQL asks a server what it is. A standby has no timeline of its own.
const timelineSQL = `SELECT current_setting('transaction_read_only'), (SELECT system_identifier FROM pg_control_system()),
  CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END`

// primary refuses a connection to a server that takes no writes, so that the store goes to the primary of a DSN that
// names several hosts, and to one that was the primary before another was promoted, if this store has seen
// the new one.
func (s *Store) primary(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, timelineSQL).ReadAll()
	var pg *pgconn.PgError
	if errors.As(err, &pg) { // not every server that speaks the protocol has these functions
		return pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn)
	}
	if err != nil {
		return err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return fmt.Errorf("a server said nothing of itself: %w", errors.ErrUnsupported)
	}
	row := results[0].Rows[0]
	if string(row[0]) != "off" {
		return errors.New("the server takes no writes; the DSN must name the primary")
	}
	return s.seeTimeline(string(row[1]), string(row[2]))
}

// timelines are the newest that were seen, by the identifier that a server and its standbys share. Their names
// are of one length and grow.
type timelines struct {
	mu     sync.Mutex
	newest map[string]string
}

func (s *Store) seeTimeline(system, timeline string) error {
	t := &s.timelines
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.newest[system]
	switch {
	case known == "":
		t.newest[system] = timeline
	case timeline < known:
		return fmt.Errorf("the server was the primary until another was promoted (timeline %s, now %s): what is written to it is lost; stop it", timeline, known)
	case timeline > known:
		t.newest[system] = timeline
		s.evict(fmt.Sprintf("another server was promoted (timeline %s after %s)", timeline, known))
	}
	return nil
}
