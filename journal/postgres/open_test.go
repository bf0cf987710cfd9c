package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"reprise/internal/pgtest"
	"reprise/journal"
)

func TestTwoNodesMigrateAnEmptyDatabaseAtOnce(t *testing.T) {
	b := newTestbed(t)
	for round := range 20 {
		c := b.cfg
		c.Schema = fmt.Sprintf("round_%d", round)
		var wg sync.WaitGroup
		stores, errs := make([]*Store, 2), make([]error, 2)
		for i := range stores {
			wg.Go(func() { stores[i], errs[i] = Open(t.Context(), c) })
		}
		wg.Wait()
		for i, s := range stores {
			if errs[i] != nil {
				t.Errorf("round %d, node %d: got %v, want no error", round, i, errs[i])
				continue
			}
			if _, err := s.Register(t.Context(), fmt.Sprint("n", i), ttl); err != nil {
				t.Errorf("round %d, node %d: %v", round, i, err)
			}
			_ = s.Close()
		}
	}
}

func TestSchemasAreSeparate(t *testing.T) {
	b := newTestbed(t)
	b.open(t)
	theirs := &testbed{cfg: b.cfg}
	theirs.cfg.Schema = "other_one"
	f := newFixtureOn(t, theirs)
	f.owned()
	var n int
	f.queryRow(`SELECT count(*) FROM reprise.runs`, &n)
	if n != 0 {
		t.Errorf("runs in the default schema: got %d, want 0", n)
	}
	f.queryRow(`SELECT count(*) FROM other_one.runs`, &n)
	if n != 1 {
		t.Errorf("runs in the schema: got %d, want 1", n)
	}
}

func TestOpenTwiceFindsTheSchemaUpToDate(t *testing.T) {
	b := newTestbed(t)
	b.open(t)
	var before, after int
	f := newFixtureOn(t, b)
	f.queryRow(`SELECT count(*) FROM reprise.schema_version`, &before)
	b.open(t)
	f.queryRow(`SELECT count(*) FROM reprise.schema_version`, &after)
	if before != after || before == 0 {
		t.Errorf("rows of the version table: got %d, then %d, want the same", before, after)
	}
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	b := newTestbed(t)
	b.open(t)
	b.exec(t, `INSERT INTO reprise.schema_version (version_id, is_applied) VALUES (999, true)`)
	_, err := Open(t.Context(), b.cfg)
	if !errors.Is(err, journal.ErrSchema) {
		t.Fatalf("open: got %v, want %v", err, journal.ErrSchema)
	}
	if !strings.Contains(err.Error(), "version 999") {
		t.Errorf("open: got %q, want the version in the text", err)
	}
}

func TestOpenChecksTheServer(t *testing.T) {
	dsn := pgtest.Database(t)
	for _, c := range []struct {
		name, want string
		cfg        Config
	}{
		{"fsync is off", "fsync = off", Config{DSN: dsn}},
		{"read-only", "takes no writes", Config{DSN: dsn + "&options=-cdefault_transaction_read_only%3Don", AllowNoFsync: true}},
		{"schema name", "schema", Config{DSN: dsn, AllowNoFsync: true, Schema: `x"; DROP`}},
		{"connections", "MaxConns", Config{DSN: dsn, AllowNoFsync: true, MaxConns: -1}},
		{"no such database", "does not exist", Config{DSN: strings.Replace(dsn, "/test_", "/no_test_", 1)}},
		{"DSN", "DSN", Config{DSN: "postgres://%%"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(t.Context(), c.cfg)
			if err == nil {
				_ = s.Close()
				t.Fatal("open: got no error, want one")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("open: got %q, want it to say %q", err, c.want)
			}
		})
	}
}

func TestOpenWarnsOfAsynchronousCommit(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(t.Context(), Config{
		DSN:          pgtest.Database(t) + "&options=-csynchronous_commit%3Doff",
		AllowNoFsync: true,
		Logger:       slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if !strings.Contains(log.String(), "synchronous_commit = off") {
		t.Errorf("log: got %q, want a warning", log.String())
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	locked := f.lockRun(l.Run)
	done := make(chan error, 1)
	go func() {
		_, err := f.s.Commit(context.Background(), l, journal.Batch{Entries: entries(0, 1)})
		done <- err
	}()
	f.waitBlocked(1)
	if err := f.s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("commit under way: got no error, want one")
	}
	locked.rollback()
}
