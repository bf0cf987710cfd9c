// Package failpoint owns the named places at which a host can be made to die, so that tests can
// crash it at every durable step and a new step cannot be forgotten. A point costs one atomic load
// unless the process was started with REPRISE_CRASH_AT=name or name:n, which kills the process with
// SIGKILL the n-th time the point is passed (n from 1).
package failpoint

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Env is the environment variable that arms one point.
const Env = "REPRISE_CRASH_AT"

// Point is one place.
type Point struct {
	name  string
	armed bool
	left  atomic.Int64
}

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
	if want, n := parse(os.Getenv(Env)); want == name {
		p.armed = true
		p.left.Store(n)
	}
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

// Hit kills the process when the point is armed and its turn has come.
func (p *Point) Hit() {
	if p.armed && p.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way; do nothing more
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
