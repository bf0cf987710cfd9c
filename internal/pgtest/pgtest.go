// Package pgtest owns the Postgres servers that tests run against: servers of pgserver, one shared by the tests of a
// process and others for tests that stop them, and databases on them. Only tests call it.
//
// With REPRISE_TEST_POSTGRES set to a DSN, Database uses that server instead of starting one.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Env names the variable that holds the DSN of an outside server.
const Env = "REPRISE_TEST_POSTGRES"

// commandTimeout bounds one run of a Postgres program; initdb takes 1 to 3 seconds on a slow disk.
const commandTimeout = time.Minute

var (
	sharedOnce sync.Once
	shared     *Cluster
	errShared  error
)

// Database makes an empty database on the process's shared server and returns its DSN. The database
// is dropped when the test ends. The shared server does not fsync; a test of durability uses Start.
func Database(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(Env); dsn != "" {
		return createDatabase(t, dsn)
	}
	sharedOnce.Do(func() { shared, errShared = start(Options{}) })
	if errShared != nil {
		t.Fatal(errShared)
	}
	return shared.Database(t)
}

// Database makes an empty database on the cluster and returns its DSN. It is dropped when the test ends.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	return createDatabase(t, c.DSN("postgres"))
}

func createDatabase(t testing.TB, admin string) string {
	t.Helper()
	var b [6]byte
	_, _ = rand.Read(b[:])
	name := "test_" + hex.EncodeToString(b[:])
	if err := runSQL(admin, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A test may leave its cluster stopped; then there is nothing to drop.
		if err := runSQL(admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Log(err)
		}
	})
	return withDatabase(admin, name)
}

// withDatabase puts another database's name into a DSN of either form.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name // the last of two settings of one keyword counts
}

// Exec runs statements on a database, for tests that change what a host finds there.
func Exec(t testing.TB, dsn, sql string) {
	t.Helper()
	if err := runSQL(dsn, sql); err != nil {
		t.Fatal(err)
	}
}

func runSQL(dsn, sql string) error {
	psql, err := findPsql()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", sql).CombinedOutput()
	if err != nil {
		return fmt.Errorf("psql %q: %w\n%s", sql, err, out)
	}
	return nil
}
