package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Standby starts a cluster that follows this one asynchronously; it is gone when the test ends.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.server.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the standby's log ends with:\n%s", s.LogTail())
		}
		s.Close()
	})
	return &Cluster{s}
}

// Backup takes a backup of the cluster. It is restored by Start, and gone when the test ends.
func (c *Cluster) Backup(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.server.Backup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the restored server's log ends with:\n%s", s.LogTail())
		}
		s.Close()
	})
	return &Cluster{s}
}

// Promote makes a standby a primary of its own.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	if err := c.server.Promote(); err != nil {
		t.Fatal(err)
	}
}

// Exec runs statements as the superuser in the database postgres.
func (c *Cluster) Exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := runSQL(c.DSN("postgres"), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// CutOff waits until a standby of this cluster has everything, and keeps from it all that comes from now on.
func (c *Cluster) CutOff(t testing.TB, standby *Cluster) {
	t.Helper()
	c.await(t, "the standby to have everything", `SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()`, "1")
	standby.Exec(t, `ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`)
	c.await(t, "the standby to be cut off", `SELECT count(*) FROM pg_stat_replication`, "0")
}

// await asks until the answer is the wanted one: no server announces these things.
func (c *Cluster) await(t testing.TB, what, sql, want string) {
	t.Helper()
	psql, err := findPsql()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, psql, "-X", "-A", "-t", "-d", c.DSN("postgres"), "-c", sql).CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) == want {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("gave up waiting for %s: %v\n%s", what, err, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// DSNOfBoth names a database of a cluster and of its standby, whichever takes writes.
func DSNOfBoth(t testing.TB, database string, first, second *Cluster) string {
	t.Helper()
	a, err := url.Parse(first.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	b, err := url.Parse(second.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("postgres://postgres@%s,%s/%s?%s", a.Host, b.Host, database, a.RawQuery)
}
