package e2e

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise/host/client"
	"reprise/internal/failpoint"
)

// patience bounds every wait of these tests: far longer than anything takes, so that only a hang meets it.
const patience = 2 * time.Minute

// node is a host process that may be killed and started again.
type node struct {
	t       testing.TB
	dir     string
	journal string // flag value: a path or a DSN
	name    string
	flags   []string
	env     []string
	program string

	cmd    *exec.Cmd
	exited chan struct{}
	err    error
	log    *lockedBuffer
	client *client.Client
	deaths int    // of processes that died by themselves and were started again
	next   string // failpoint that the next of these is started with
	other  *node  // who is started and called when the process has stopped
}

func newNode(t testing.TB, journal, name string, flags ...string) *node {
	n := &node{t: t, dir: t.TempDir(), journal: journal, name: name, flags: flags, program: watched, log: &lockedBuffer{}}
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("log of node %s:\n%s", n.name, n.log.tail(8<<10))
		}
	})
	return n
}

// start starts the process; crashAt arms a failpoint. It returns false when the process died, or stopped, before it served.
func (n *node) start(crashAt string) bool {
	n.t.Helper()
	addrFile := filepath.Join(n.dir, "addr")
	_ = os.Remove(addrFile)
	args := append([]string{"serve", "--journal", n.journal, "--node", n.name, "--http", "127.0.0.1:0", "--addr-file", addrFile,
		"--cache-dir", cacheDir, "--poll", "100ms", "--log-level", "debug"}, n.flags...)
	cmd := exec.Command(n.program, args...)
	cmd.Env = append(append(os.Environ(), failpoint.Env+"="+crashAt), n.env...)
	cmd.Stdout, cmd.Stderr = n.log, n.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	exited := make(chan struct{})
	n.cmd, n.exited = cmd, exited
	go func() { n.err = cmd.Wait(); close(exited) }()
	addr, ok := n.address(addrFile)
	if !ok {
		return false
	}
	c, err := client.New(client.Config{Addr: addr, Attempts: 1})
	if err != nil {
		n.t.Fatal(err)
	}
	n.client = c
	return true
}

func (n *node) address(file string) (string, bool) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if b, err := os.ReadFile(file); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			return strings.TrimSpace(string(b)), true
		}
		select {
		case <-n.exited:
			if !n.crashed() {
				n.t.Fatalf("node %s ended: %v\n%s", n.name, n.err, n.log.tail(4<<10))
			}
			return "", false
		case <-time.After(10 * time.Millisecond):
			if n.stopped() {
				return "", false
			}
		}
	}
	n.t.Fatalf("node %s does not serve\n%s", n.name, n.log.tail(4<<10))
	return "", false
}

// crashed says whether the process was ended by SIGKILL.
func (n *node) crashed() bool {
	select {
	case <-n.exited:
	default:
		return false
	}
	var exit *exec.ExitError
	if !errors.As(n.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// kill ends the process with SIGKILL and waits for it.
func (n *node) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	<-n.exited
	if n.client != nil {
		n.client.Close()
	}
}

// terminate asks the process to drain and waits for its end.
func (n *node) terminate() {
	n.t.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	n.awaitExit()
}

func (n *node) awaitExit() {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("node %s does not end\n%s", n.name, n.log.tail(8<<10))
	}
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// call repeats a request until it is answered: a dead process is started again, unarmed. A request that is
// repeated carries the same idempotency key, as a careful client's would.
func (n *node) call(what string, do func(ctx context.Context, c *client.Client) error) {
	n.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if n.other != nil && n.stopped() {
			n.takeOver()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if n.other != nil {
			go n.cancelWhenStopped(ctx, cancel)
		}
		err := do(ctx, n.client)
		cancel()
		var unreachable *client.UnreachableError
		var refused *net.OpError
		switch {
		case err == nil:
			return
		case time.Now().After(deadline):
			n.t.Fatalf("%s: %v", what, err)
		case n.other != nil && n.stopped(): // it takes over above
		case errors.As(err, &unreachable), errors.As(err, &refused):
			n.revive()
		default:
			n.t.Fatalf("%s: %v", what, err)
		}
	}
}

// revive starts the process again if it has died.
func (n *node) revive() {
	select {
	case <-n.exited:
		n.client.Close()
		n.startAgain()
	case <-time.After(20 * time.Millisecond):
	}
}

// eventually polls until a condition holds.
func (n *node) eventually(what string, ok func(ctx context.Context, c *client.Client) (bool, error)) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		var done bool
		n.call(what, func(ctx context.Context, c *client.Client) (err error) {
			done, err = ok(ctx, c)
			return err
		})
		if done {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: not within %s", what, patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// startAgain starts a process after one that died by itself: with the failpoint that is next, then without.
func (n *node) startAgain() {
	n.t.Helper()
	n.deaths++
	point := n.next
	n.next = ""
	if !n.start(point) {
		n.startAgain()
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *lockedBuffer) tail(n int) string {
	s := b.String()
	return s[max(0, len(s)-n):]
}
