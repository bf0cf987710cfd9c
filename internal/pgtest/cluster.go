package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Options say how a cluster runs. The zero value is fast and not durable.
type Options struct {
	// Durable keeps fsync and full_page_writes on. Default off.
	Durable bool
	// Settings are further lines for postgresql.conf, for example "max_connections = 20".
	Settings []string
}

// Mode is how a cluster stops.
type Mode string

// The modes of pg_ctl stop.
const (
	Fast      Mode = "fast"      // transactions are rolled back, a checkpoint is written
	Immediate Mode = "immediate" // no checkpoint: the next start recovers as after a crash
)

// Cluster is one Postgres server with its data.
type Cluster struct {
	bin   binaries
	dir   string // data/, log
	port  int
	owner *syscall.Credential // who runs the server; nil for this process's user
	watch *watcher
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
			t.Logf("the Postgres log ends with:\n%s", c.logTail())
		}
		c.watch.end()
	})
	return c
}

func start(o Options) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	if bin.pgCtl == "" {
		return nil, errNoPostgres
	}
	c := &Cluster{bin: bin}
	if c.owner, err = serverUser(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp(tempDir(c.owner), "reprise-pg-"); err != nil {
		return nil, fmt.Errorf("cluster folder: %w", err)
	}
	// The watcher comes first: from here on the folder is removed whatever happens.
	if c.watch, err = startWatcher(c.dir); err != nil {
		return nil, err
	}
	if err := c.create(o); err != nil {
		c.watch.end()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) create(o Options) error {
	if c.owner != nil {
		if err := os.Chown(c.dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return fmt.Errorf("cluster folder: %w", err)
		}
	}
	data := c.data()
	if err := c.run(c.bin.initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return err
	}
	// A free port may be taken by somebody else before the server binds it; then another is tried.
	var err error
	for range 5 {
		if err = c.configure(o); err != nil {
			return err
		}
		if err = c.startServer(); err == nil || !strings.Contains(c.logTail(), "could not bind") {
			break
		}
	}
	return err
}

func (c *Cluster) configure(o Options) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	c.port = port
	lines := []string{
		"listen_addresses = '127.0.0.1'",
		"unix_socket_directories = ''",
		"port = " + strconv.Itoa(port),
		"max_connections = 200",
		"shared_buffers = 64MB",
		"log_line_prefix = '%m [%p] '",
	}
	if !o.Durable {
		lines = append(lines, "fsync = off", "full_page_writes = off")
	}
	lines = append(lines, o.Settings...)
	// initdb's file keeps its defaults; what is said later in it counts.
	conf := filepath.Join(c.data(), "postgresql.conf")
	f, err := os.OpenFile(conf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cluster settings: %w", err)
	}
	_, err = f.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("cluster settings: %w", err)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// DSN names a database of the cluster.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Stop stops the server; the data stay.
func (c *Cluster) Stop(t testing.TB, m Mode) {
	t.Helper()
	if err := c.run(c.bin.pgCtl, "stop", "-w", "-D", c.data(), "-m", string(m)); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server that Stop stopped, on the same port.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	if err := c.startServer(); err != nil {
		t.Fatal(err)
	}
}

// Restart is Stop and Start.
func (c *Cluster) Restart(t testing.TB, m Mode) {
	t.Helper()
	c.Stop(t, m)
	c.Start(t)
}

func (c *Cluster) startServer() error {
	err := c.run(c.bin.pgCtl, "start", "-w", "-s", "-D", c.data(), "-l", c.log())
	if err != nil {
		return fmt.Errorf("%w\nthe Postgres log ends with:\n%s", err, c.logTail())
	}
	return nil
}

// run runs a Postgres program as the server's user. Its output goes to a file, not to a pipe: the
// server inherits it, and a pipe would keep the caller waiting for as long as the server lives.
func (c *Cluster) run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	out, err := os.CreateTemp(c.dir, "out-")
	if err != nil {
		return fmt.Errorf("output of %s: %w", name, err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setsid: true}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, text)
	}
	return nil
}

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// logTail is the last 4 KiB of the server's log.
func (c *Cluster) logTail() string {
	b, err := os.ReadFile(c.log())
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b[max(0, len(b)-4096):]))
}
