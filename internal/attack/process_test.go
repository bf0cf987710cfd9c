package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The environment by which a test binary knows that it is the process under attack.
const (
	attackEnv = "REPRISE_TEST_ATTACK" // the attack's name
	folderEnv = "REPRISE_TEST_FOLDER" // where it may write
)

// Exit statuses of the process under attack. Any other is a crash.
const (
	exitSurvived = 0
	exitFailed   = 1 // an expectation was not met; standard error says which
)

// survived is what the process says last on standard output. One that ends without it has ended early.
const survived = "survived "

// bounds limit the process under attack. A zero field is the default.
type bounds struct {
	// wall is when the process counts as hanging. Default a minute. It is no measure of speed: cpu is.
	wall time.Duration
	// cpu bounds the processor time of the process and its compilers, the good runs included. Default 10s.
	cpu time.Duration
	// memory bounds the resident bytes of the process, and of each of its compilers, in MiB. Default 512.
	memory int64
	// address bounds the address space in MiB, of which an instance may reserve 64 that it does not use. Default 8192.
	address int64
}

func (b bounds) withDefaults() bounds {
	if b.wall == 0 {
		b.wall = time.Minute
	}
	if b.cpu == 0 {
		b.cpu = 10 * time.Second
	}
	if b.memory == 0 {
		b.memory = 512
	}
	if b.address == 0 {
		b.address = 8192
	}
	b.wall, b.cpu, b.memory = b.wall*raceTime, b.cpu*raceTime, b.memory*raceMemory
	return b
}

// limitSelf bounds the address space of this process. The race detector reserves terabytes.
func (b bounds) limitSelf() error {
	if raceDetector {
		return nil
	}
	n := uint64(b.address) << 20
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: n, Max: n})
}

// process is one process under attack, seen from outside.
type process struct {
	name   string
	bounds bounds
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr tail
	why    string // why it was killed
}

// usage is what the process took.
type usage struct {
	cpu    time.Duration
	memory int64 // peak of resident MiB
}

func (u usage) String() string {
	return fmt.Sprintf("%.1f s of processor, %d MiB", u.cpu.Seconds(), u.memory)
}

// attackProcess runs an attack in a process of its own and judges how that ended.
func attackProcess(name, dir string, b bounds) (usage, error) {
	exe, err := os.Executable()
	if err != nil {
		return usage{}, err
	}
	p := &process{name: name, bounds: b.withDefaults()}
	ctx, cancel := context.WithTimeout(context.Background(), p.bounds.wall)
	defer cancel()
	p.cmd = exec.Command(exe)
	p.cmd.Env = append(os.Environ(), attackEnv+"="+name, folderEnv+"="+dir, "TMPDIR="+dir, "GOTRACEBACK=single")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 10 * time.Second // a grandchild may hold the pipes
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return usage{}, err
	}
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { p.watch(ctx, ended) })
	err = p.cmd.Wait()
	close(ended)
	watch.Wait()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // compilers that it left
	return p.judge(err)
}

// watch kills the process and its compilers when it takes too much memory or too long.
func (p *process) watch(ctx context.Context, ended <-chan struct{}) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for p.why == "" {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			p.why = fmt.Sprintf("it hangs: not done within %s", p.bounds.wall)
		case <-look.C:
			if peak := peakOf(p.cmd.Process.Pid); peak > p.bounds.memory {
				p.why = fmt.Sprintf("it takes %d MiB of memory, more than %d", peak, p.bounds.memory)
			}
		}
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

// judge says what is wrong with how the process ended: nil when it has survived within its bounds.
func (p *process) judge(err error) (usage, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return usage{}, err
	}
	state := p.cmd.ProcessState
	u := usage{cpu: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.memory = r.Maxrss >> 10
	}
	said := strings.HasSuffix(p.stdout.String(), survived+p.name+"\n")
	switch code := state.ExitCode(); {
	case p.why != "":
		return u, errors.New(p.why + p.words())
	case code == exitFailed:
		return u, fmt.Errorf("not as expected%s", p.words())
	case code != exitSurvived:
		return u, fmt.Errorf("crashed: %s%s", state, p.words())
	case !said:
		return u, fmt.Errorf("ended early, with status 0%s", p.words())
	case u.memory > p.bounds.memory:
		return u, fmt.Errorf("it took %d MiB of memory, more than %d", u.memory, p.bounds.memory)
	case u.cpu > p.bounds.cpu:
		return u, fmt.Errorf("it took %s of processor time, more than %s", u.cpu, p.bounds.cpu)
	}
	return u, nil
}

func (p *process) words() string {
	s := strings.TrimSpace(p.stderr.String())
	if s == "" {
		return ""
	}
	return ":\n" + s
}

// peakOf is the most MiB that a process had resident at once so far; 0 when it cannot be read any more.
func peakOf(pid int) int64 { return statusOf(strconv.Itoa(pid), "VmHWM:") >> 10 }

// statusOf reads a figure in KiB of /proc/PID/status.
func statusOf(pid, field string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// tail keeps the first and the last of what is written to it.
type tail struct {
	first, last []byte
	cut         bool
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	room := min(n, tailSize-len(t.first))
	t.first, p = append(t.first, p[:room]...), p[room:]
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last, t.cut = append([]byte(nil), t.last[over:]...), true
	}
	return n, nil
}

func (t *tail) String() string {
	if t.cut {
		return string(t.first) + "\n[...]\n" + string(t.last)
	}
	return string(t.first) + string(t.last)
}
