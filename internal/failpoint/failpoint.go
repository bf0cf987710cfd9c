// Package failpoint owns the named places at which a host can be made to die, so that tests can
// crash it at every durable step and a new step cannot be forgotten. A point costs one atomic load
// unless the process was started with REPRISE_CRASH_AT=name or name:n, which kills the process with
// SIGKILL the n-th time the point is passed (n from 1), or with REPRISE_FREEZE_AT, which stops it with SIGSTOP there
// until somebody sends SIGCONT.
package failpoint

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Env and FreezeEnv are the environment variables that arm one point each.
const (
	Env       = "REPRISE_CRASH_AT"
	FreezeEnv = "REPRISE_FREEZE_AT"
)

// Point is one place.
type Point struct {
	name   string
	crash  countdown
	freeze countdown
}

// countdown is an armed point's, until it has been passed often enough.
type countdown struct {
	armed bool
	left  atomic.Int64
}

func (c *countdown) arm(env, point string) {
	if want, n := parse(os.Getenv(env)); want == point {
		c.armed = true
		c.left.Store(n)
	}
}

func (c *countdown) due() bool { return c.armed && c.left.Add(-1) == 0 }

var (
	mu     sync.Mutex
	points []*Point
)

// New makes a point; call it for a package-level variable. Names are unique.
func New(name string) *Point {
	mu.Lock()
	defer mu.Unlock()
	for _, p := range points {
		if p.name == name {
			panic("failpoint: two points are named " + name)
		}
	}
	p := &Point{name: name}
	p.crash.arm(Env, name)
	p.freeze.arm(FreezeEnv, name)
	points = append(points, p)
	return p
}

func parse(spec string) (name string, n int64) {
	name, count, ok := strings.Cut(spec, ":")
	if !ok {
		return name, 1
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		return name, 1
	}
	return name, n
}

// Hit kills or stops the process when the point is armed and its turn has come.
func (p *Point) Hit() {
	if p.crash.due() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; do nothing more
	}
	if p.freeze.due() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Millisecond) // another thread may take the signal: be still until it has
	}
}

// Names lists every point of this program, sorted.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = p.name
	}
	slices.Sort(names)
	return names
}
