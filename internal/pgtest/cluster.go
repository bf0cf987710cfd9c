package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"reprise/internal/pgserver"
)

// Options say how a cluster runs. The zero value is fast and not durable.
type Options = pgserver.Options

// Mode is how a cluster stops.
type Mode = pgserver.Mode

// The modes of pg_ctl stop.
const (
	Fast      = pgserver.Fast
	Immediate = pgserver.Immediate
)

// Cluster is one Postgres server with its data. Its methods end the test when they fail.
type Cluster struct {
	server *pgserver.Server
}

// Start starts a cluster of the test's own; it is gone when the test ends.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the Postgres log ends with:\n%s", c.server.LogTail())
		}
		c.server.Close()
	})
	return c
}

func start(o Options) (*Cluster, error) {
	s, err := pgserver.New(o)
	if errors.Is(err, pgserver.ErrNoPostgres) {
		err = fmt.Errorf("%w\nor point %s at a server that may be filled with test databases", err, Env)
	}
	return &Cluster{s}, err
}

// DSN names a database of the cluster.
func (c *Cluster) DSN(database string) string { return c.server.DSN(database) }

// Stop stops the server; the data stay.
func (c *Cluster) Stop(t testing.TB, m Mode) {
	t.Helper()
	if err := c.server.Stop(m); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server that Stop stopped, on the same port.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
}

// Restart is Stop and Start.
func (c *Cluster) Restart(t testing.TB, m Mode) {
	t.Helper()
	c.Stop(t, m)
	c.Start(t)
}

// Pause stops every process of the server where it stands, as a machine that hangs. The returned
// function lets them go on; the end of the test does so too.
func (c *Cluster) Pause(t testing.TB) (resume func()) {
	t.Helper()
	again, err := c.server.Pause()
	if err != nil {
		t.Fatal(err)
	}
	resume = func() {
		t.Helper()
		if err := again(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(resume)
	return resume
}

// findPsql finds psql beside the server's programs, or in PATH.
func findPsql() (string, error) {
	for _, dir := range pgserver.Dirs() {
		path := filepath.Join(dir, "psql")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath("psql")
	if err != nil {
		return "", fmt.Errorf("tests on Postgres need psql: %w", err)
	}
	return path, nil
}
