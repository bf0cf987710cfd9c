package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testbed is one empty database, with a clock that the test moves.
type testbed struct {
	cfg    Config
	direct string // a DSN for the test itself, where cfg's leads through something else; "" for cfg's
	mu     sync.Mutex
	offset time.Duration
}

func newTestbed(t testing.TB) *testbed {
	t.Helper()
	return &testbed{cfg: Config{DSN: pgtest.Database(t), AllowNoFsync: true, slowClaim: time.Hour}}
}

// open opens a store that is closed when the test ends.
func (b *testbed) open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// own is the DSN for the test itself.
func (b *testbed) own() string {
	if b.direct != "" {
		return b.direct
	}
	return b.cfg.DSN
}

// exec runs a statement on a connection of its own.
func (b *testbed) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, b.own())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// advance moves the database's clock.
func (b *testbed) advance(t testing.TB, d time.Duration) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offset += d
	schema := b.cfg.Schema
	if schema == "" {
		schema = defaultSchema
	}
	b.exec(t, fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.reprise_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() + interval '%d microseconds' $$`, schema, b.offset.Microseconds()))
}

func (b *testbed) harness(t *testing.T) journaltest.Harness {
	s := b.open(t)
	return journaltest.Harness{
		Store: s,
		Reopen: func() journal.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = b.open(t)
			return s
		},
		Advance: func(d time.Duration) { b.advance(t, d) },
	}
}

func TestStore(t *testing.T) {
	dsn := pgtest.Database(t)
	journaltest.Run(t, func(t *testing.T) journaltest.Harness { return newSchema(dsn).harness(t) })
}

// newSchema is a testbed in a schema of its own, which is made sooner than a database.
func newSchema(dsn string) *testbed {
	return &testbed{cfg: Config{DSN: dsn, AllowNoFsync: true, Schema: fmt.Sprintf("s%016x", rand.Uint64()), slowClaim: time.Hour}}
}
