package pgserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serverUser says as whom the server runs: Postgres refuses to run as root, so root becomes the user
// postgres, or nobody where there is none. nil stands for this process's own user.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root may not run Postgres and there is neither a user postgres nor nobody")
}

// tempDir is where a server's folder is made: the usual place, unless the server runs as another user
// who may not enter it, as with a TMPDIR below a home.
func tempDir(owner *syscall.Credential) string {
	usual := os.TempDir()
	if owner == nil {
		return usual
	}
	for dir := filepath.Clean(usual); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			return "/tmp"
		}
		if dir == filepath.Dir(dir) {
			return usual
		}
	}
}

// watchScript waits until its standard input closes, which the kernel does when the process that started it ends
// in whatever way, then ends the server and removes its folder. SIGQUIT is an immediate shutdown and
// SIGCONT wakes a paused server so that it can obey; the server ends its own children, the paused
// ones with SIGKILL after 5 seconds. A server that nobody reaps counts as gone.
const watchScript = `
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid" 2>/dev/null
	kill -CONT "$pid" 2>/dev/null
	while kill -0 "$pid" 2>/dev/null && [ -e "$1/data/postmaster.pid" ]; do
		grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && break
		sleep 0.02
	done
fi
rm -rf "$1"
`

// watcher is the process that outlives the process that started it by the moment that cleaning up takes.
type watcher struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startWatcher(dir string) (*watcher, error) {
	cmd := exec.Command("/bin/sh", "-c", watchScript, "sh", dir)
	cmd.Dir = "/"
	// A session of its own: an interrupt from the terminal must end the process and not the cleaning up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watcher: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("watcher: %w", err), os.Remove(dir))
	}
	return &watcher{cmd, stdin}, nil
}

// end makes the watcher do its work now, and waits until it has.
func (w *watcher) end() {
	_ = w.stdin.Close()
	_ = w.cmd.Wait()
}

// Pause stops every process of the server where it stands, as a machine that hangs. The returned
// function lets them go on; it may be called again.
func (s *Server) Pause() (resume func() error, err error) {
	postmaster, err := s.PID()
	if err != nil {
		return nil, err
	}
	if err := signal(postmaster, syscall.SIGSTOP); err != nil { // first, so that it starts no further children
		return nil, err
	}
	children, err := Children(postmaster)
	for _, pid := range children {
		err = errors.Join(err, signal(pid, syscall.SIGSTOP))
	}
	resumed := false
	resume = func() error {
		if resumed {
			return nil
		}
		resumed = true
		var err error
		for _, pid := range append(children, postmaster) {
			err = errors.Join(err, signal(pid, syscall.SIGCONT))
		}
		return err
	}
	if err != nil {
		return nil, errors.Join(err, resume())
	}
	return resume, nil
}

// signal sends a signal to a process that may have gone.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to %d: %w", s, pid, err)
	}
	return nil
}

// PID is the process id of the postmaster.
func (s *Server) PID() (int, error) {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, fmt.Errorf("server's pid: %w", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		return 0, fmt.Errorf("server's pid: %w", err)
	}
	return pid, nil
}

// Children reads the processes whose parent is pid from /proc.
func Children(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return nil, fmt.Errorf("pausing a server needs /proc: %w", errors.Join(err, os.ErrNotExist))
	}
	var children []int
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone since the listing
		}
		// pid (name) state ppid ...; the name may hold spaces and parentheses.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			children = append(children, child)
		}
	}
	return children, nil
}
