package parked

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/host"
)

// patience bounds every wait: far longer than anything takes, so that only a hang meets it.
const patience = 5 * time.Minute

// TestMain also makes this test's program the host that is measured, and its compiler.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(nodeMain(role))
	}
	if len(os.Args) > 2 && os.Args[1] == compileWord {
		os.Exit(host.CompileModule(context.Background(), os.Stdin, os.Args[2:], os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// process is a host in a process of its own.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
	log   bytes.Buffer
}

// start runs nodeMain in a role. ahead moves the clock of a journal in a file.
func start(t testing.TB, role, journal string, ahead time.Duration) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(exe), lines: make(chan string, 10)}
	p.cmd.Env = append(os.Environ(), roleEnv+"="+role, journalEnv+"="+journal, aheadEnv+"="+ahead.String())
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

// hears waits for a line that begins with a word and returns the rest.
func (p *process) hears(word string) string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		rest, found := strings.CutPrefix(line, word+" ")
		if !ok || !found {
			p.kill()
			p.t.Fatalf("got %q from the host, want %s\n%s", line, word, p.log.String())
		}
		return rest
	case <-time.After(patience):
		p.kill()
		p.t.Fatalf("the host does not say %s\n%s", word, p.log.String())
		return ""
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.lines {
	}
	_ = p.cmd.Wait()
}

// resident is what the process takes now and took at most, in MiB.
func (p *process) resident() (now, peak int) {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		kb, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		switch name {
		case "VmRSS":
			now = kb >> 10
		case "VmHWM":
			peak = kb >> 10
		}
	}
	if now == 0 || peak == 0 {
		p.t.Fatalf("cannot read the memory of the host in %s", b)
	}
	return now, peak
}
