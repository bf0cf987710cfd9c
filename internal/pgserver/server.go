// Package pgserver owns throw-away Postgres servers: each on a free loopback port, with data in a temporary folder,
// gone when the process that started it is gone, however it ended. It speaks to them only with Postgres' own programs
// and knows nothing of the product's schema. Tests call it through pgtest, the soak command by itself.
package pgserver

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
	"time"
)

// commandTimeout bounds one run of a Postgres program; initdb takes 1 to 3 seconds on a slow disk.
const commandTimeout = time.Minute

// Options say how a server runs. The zero value is fast and not durable.
type Options struct {
	// Durable keeps fsync and full_page_writes on. Default off.
	Durable bool
	// Settings are further lines for postgresql.conf, for example "max_connections = 20".
	Settings []string
}

// Mode is how a server stops.
type Mode string

// The modes of pg_ctl stop.
const (
	Fast      Mode = "fast"      // transactions are rolled back, a checkpoint is written
	Immediate Mode = "immediate" // no checkpoint: the next start recovers as after a crash
)

// Server is one Postgres server with its data. Its methods are not for several goroutines at once.
type Server struct {
	bin   binaries
	dir   string // data/, log
	port  int
	owner *syscall.Credential // who runs the server; nil for this process's user
	watch *watcher
}

// New makes a server and starts it. Close ends it.
func New(o Options) (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if s.owner, err = serverUser(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(tempDir(s.owner), "reprise-pg-"); err != nil {
		return nil, fmt.Errorf("server folder: %w", err)
	}
	// The watcher comes first: from here on the folder is removed whatever happens.
	if s.watch, err = startWatcher(s.dir); err != nil {
		return nil, err
	}
	if err := s.create(o); err != nil {
		s.watch.end()
		return nil, err
	}
	return s, nil
}

func (s *Server) create(o Options) error {
	if err := s.giveFolder(); err != nil {
		return err
	}
	data := s.data()
	if err := s.run(s.bin.initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return err
	}
	// A free port may be taken by somebody else before the server binds it; then another is tried.
	var err error
	for range 5 {
		if err = s.configure(o); err != nil {
			return err
		}
		if err = s.Start(); err == nil || !strings.Contains(s.LogTail(), "could not bind") {
			break
		}
	}
	return err
}

func (s *Server) configure(o Options) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s.port = port
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
	return s.set(append(lines, o.Settings...)...)
}

// giveFolder makes the server's folder its user's.
func (s *Server) giveFolder() error {
	if s.owner == nil {
		return nil
	}
	if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
		return fmt.Errorf("server folder: %w", err)
	}
	return nil
}

// set appends to the settings' file, in which the last line of one name counts.
func (s *Server) set(lines ...string) error {
	conf := filepath.Join(s.data(), "postgresql.conf")
	f, err := os.OpenFile(conf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("server settings: %w", err)
	}
	_, err = f.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("server settings: %w", err)
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

// Close ends the server at once and removes what it left.
func (s *Server) Close() { s.watch.end() }

// Dir is the server's folder.
func (s *Server) Dir() string { return s.dir }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// DSN names a database of the server.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Stop stops the server; the data stay.
func (s *Server) Stop(m Mode) error {
	return s.run(s.bin.pgCtl, "stop", "-w", "-D", s.data(), "-m", string(m))
}

// Start starts a server that Stop stopped, on the same port.
func (s *Server) Start() error {
	err := s.run(s.bin.pgCtl, "start", "-w", "-s", "-D", s.data(), "-l", s.log())
	if err != nil {
		return fmt.Errorf("%w\nthe Postgres log ends with:\n%s", err, s.LogTail())
	}
	return nil
}

// run runs a Postgres program as the server's user. Its output goes to a file, not to a pipe: the
// server inherits it, and a pipe would keep the caller waiting for as long as the server lives.
func (s *Server) run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	out, err := os.CreateTemp(s.dir, "out-")
	if err != nil {
		return fmt.Errorf("output of %s: %w", name, err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setsid: true}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, text)
	}
	return nil
}

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// LogTail is the last 4 KiB of the server's log.
func (s *Server) LogTail() string {
	b, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b[max(0, len(b)-4096):]))
}
