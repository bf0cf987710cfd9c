package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"reprise/host/client"
	"reprise/internal/failpoint"
)

// hostProcess is one host that is killed and started again for as long as the soak lasts.
type hostProcess struct {
	name    string
	program string
	args    []string
	dir     string // the address file
	log     *os.File
	busy    sync.Mutex // held by who kills, freezes or starts it

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd is gone
	client *client.Client
	ended  bool // no process may be started any more
	asked  bool // the process was asked to end
	kills  int  // processes that SIGKILL ended, a failpoint's included
	odd    []string
}

// newHost makes a host without a process.
func newHost(cfg Config, dir, journal, name, ledger string) (*hostProcess, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("log of a host: %w", err)
	}
	h := &hostProcess{name: name, program: cfg.Program, dir: dir, log: log}
	h.args = []string{"serve", "--journal", journal, "--node", name, "--http", "127.0.0.1:0", "--addr-file", h.addrFile(),
		"--allow-host", ledger, "--cache-dir", filepath.Join(dir, "cache"), "--lease-ttl", cfg.LeaseTTL.String(), "--poll", "100ms",
		"--hold-for", "50ms", "--drain-timeout", "2s", "--checkpoint-every", "3", "--checkpoint-verify", "4",
		// Runs of a soak see many hosts die: none of them is the reason.
		"--max-attempts", "1000000"}
	return h, nil
}

func (h *hostProcess) addrFile() string { return filepath.Join(h.dir, h.name+".addr") }

// errGone says that a process ended before it served.
var errGone = errors.New("the host ended before it served")

// start starts a process and waits until it serves. crashAt arms a failpoint. The caller holds busy.
func (h *hostProcess) start(ctx context.Context, crashAt string) error {
	_ = os.Remove(h.addrFile())
	cmd := exec.Command(h.program, h.args...)
	cmd.Env = append(os.Environ(), failpoint.Env+"="+crashAt, "TMPDIR="+h.dir) // what a killed host leaves goes with the rest
	cmd.Stdout, cmd.Stderr = h.log, h.log
	dieWithUs(cmd)
	exited := make(chan struct{})
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return context.Canceled
	}
	err := cmd.Start()
	if err == nil {
		h.cmd, h.exited, h.asked, h.client = cmd, exited, false, nil
	}
	h.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	go func() { // ends with the process, which close kills and waits for
		h.buried(cmd.Wait())
		close(exited)
	}()
	return h.awaitAddress(ctx, exited)
}

// buried notes how a process ended.
func (h *hostProcess) buried(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	served := h.client != nil
	if served {
		h.client.Close()
		h.client = nil
	}
	var exit *exec.ExitError
	var status syscall.WaitStatus
	if errors.As(err, &exit) {
		status, _ = exit.Sys().(syscall.WaitStatus)
	}
	switch killed := status.Signaled() && status.Signal() == syscall.SIGKILL; {
	case h.ended:
	case killed:
		h.kills++
	case served && !h.asked:
		h.odd = append(h.odd, fmt.Sprintf("host %s ended by itself: %v", h.name, err))
	}
}

func (h *hostProcess) awaitAddress(ctx context.Context, exited chan struct{}) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if b, err := os.ReadFile(h.addrFile()); err == nil {
			c, err := client.New(client.Config{Addr: strings.TrimSpace(string(b)), Attempts: 1})
			if err != nil {
				return err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			select {
			case <-exited:
				return errGone
			default:
				h.client = c
				return nil
			}
		}
		select {
		case <-exited:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// now returns the process, if it lives, and the channel that is closed at its end.
func (h *hostProcess) now() (p *os.Process, exited chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return nil, nil
	}
	select {
	case <-h.exited:
		return nil, h.exited
	default:
		return h.cmd.Process, h.exited
	}
}

// kill ends the process with SIGKILL; it returns whether there was one.
func (h *hostProcess) kill() bool {
	p, exited := h.now()
	if p == nil {
		return false
	}
	_ = p.Kill()
	<-exited
	return true
}

// terminate asks the process to end; it returns nil when there is none.
func (h *hostProcess) terminate() (exited chan struct{}) {
	p, exited := h.now()
	if p == nil {
		return nil
	}
	h.mu.Lock()
	h.asked = true
	h.mu.Unlock()
	_ = p.Signal(syscall.SIGTERM)
	return exited
}

// deaths are how many processes SIGKILL ended, and what was odd about others.
func (h *hostProcess) deaths() (kills int, odd []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kills, h.odd
}

// close ends the host for good.
func (h *hostProcess) close() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.kill()
	_ = h.log.Close()
}

// takeovers counts what the hosts' logs tell of runs that were taken from a host that died or froze.
func takeovers(hosts []*hostProcess) int {
	n := 0
	for _, h := range hosts {
		n += countInFile(h.log.Name(), `"took over a run"`)
	}
	return n
}

// differences counts what the hosts' logs tell of checkpoints that were not what a replay gave.
func differences(hosts []*hostProcess) int {
	n := 0
	for _, h := range hosts {
		n += countInFile(h.log.Name(), `"A CHECKPOINT IS NOT WHAT REPLAY GIVES"`)
	}
	return n
}

func countInFile(path, text string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, rest := 0, []byte(nil)
	buf := make([]byte, 1<<16)
	for {
		k, err := f.Read(buf)
		chunk := append(rest, buf[:k]...)
		n += bytes.Count(chunk, []byte(text))
		rest = bytes.Clone(chunk[max(0, len(chunk)-len(text)+1):])
		if err != nil {
			return n
		}
	}
}

// fleet is the hosts as a client sees them.
type fleet []*hostProcess

// pick returns a client of a host that has an address; the host may be frozen.
func (f fleet) pick() *client.Client {
	for _, i := range rand.Perm(len(f)) {
		f[i].mu.Lock()
		c := f[i].client
		f[i].mu.Unlock()
		if c != nil {
			return c
		}
	}
	return nil
}

// How a careful client calls: an answer that does not come in time is as good as none, and the next attempt goes to
// any host.
const (
	callTimeout = 4 * time.Second
	callPause   = 50 * time.Millisecond
)

// call sends a request until it is answered by somebody, or the context is done. extra is the time that the request
// asks the host to wait. An answer that is a refusal is returned.
func (f fleet) call(ctx context.Context, extra time.Duration, do func(ctx context.Context, c *client.Client) error) error {
	for {
		var err error = errNoHost
		if c := f.pick(); c != nil {
			attempt, cancel := context.WithTimeout(ctx, callTimeout+extra)
			err = do(attempt, c)
			cancel()
		}
		if err == nil || !unanswered(err) {
			return err
		}
		if wait(ctx, callPause); ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

var errNoHost = errors.New("no host has an address")

// unanswered says whether another attempt may bring an answer.
func unanswered(err error) bool {
	var told *client.Error
	if errors.As(err, &told) {
		return told.Status >= 500 && told.State == "" || told.Status == 429
	}
	return true
}
