package pgserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrNoPooler says that this machine has no PgBouncer.
var ErrNoPooler = errors.New("no pgbouncer found; install it with: apt-get install pgbouncer")

// Pooler is a PgBouncer in transaction mode before one server.
type Pooler struct {
	addr string
	dir  string
	cmd  *exec.Cmd
}

// NewPooler starts a pooler before the server at host:port, for every database of it and the user postgres. It ends with this
// process, or by Close.
func NewPooler(server string) (*Pooler, error) {
	program, err := findPooler()
	if err != nil {
		return nil, err
	}
	owner, err := serverUser()
	if err != nil {
		return nil, err
	}
	p := &Pooler{}
	if p.dir, err = os.MkdirTemp(tempDir(owner), "reprise-pooler-"); err != nil {
		return nil, fmt.Errorf("pooler's folder: %w", err)
	}
	if err := p.start(program, server, owner); err != nil {
		_ = os.RemoveAll(p.dir)
		return nil, err
	}
	return p, nil
}

func findPooler() (string, error) {
	for _, dir := range append([]string{"/usr/sbin"}, Dirs()...) {
		if path := filepath.Join(dir, "pgbouncer"); executable(path) {
			return path, nil
		}
	}
	return "", ErrNoPooler
}

func (p *Pooler) start(program, server string, owner *syscall.Credential) error {
	host, serverPort, err := net.SplitHostPort(server)
	if err != nil {
		return fmt.Errorf("pooler's server: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	p.addr = fmt.Sprintf("127.0.0.1:%d", port)
	users, conf, log := filepath.Join(p.dir, "users"), filepath.Join(p.dir, "conf"), filepath.Join(p.dir, "log")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"pool_mode = transaction\ndefault_pool_size = 20\nmax_client_conn = 500\nauth_type = trust\nauth_file = %s\n", host, serverPort, port, users)
	if err := errors.Join(os.WriteFile(users, []byte(`"postgres" ""`+"\n"), 0o644), os.WriteFile(conf, []byte(text), 0o644)); err != nil {
		return fmt.Errorf("pooler's settings: %w", err)
	}
	if err := os.Chmod(p.dir, 0o755); err != nil { // it may run as another user
		return fmt.Errorf("pooler's folder: %w", err)
	}
	out, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("pooler's log: %w", err)
	}
	defer out.Close()
	p.cmd = exec.Command(program, "-q", conf)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("pooler: %w", err)
	}
	for deadline := time.Now().Add(commandTimeout); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			p.Close()
			return fmt.Errorf("pooler: %w\n%s", err, strings.TrimSpace(string(said)))
		}
	}
}

// Addr is where it listens, host:port.
func (p *Pooler) Addr() string { return p.addr }

// Close ends it and removes its folder.
func (p *Pooler) Close() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.dir)
}
