// Package harness measures systems that run workflows, all in the same way: a fixed number of workflows is in flight, and
// when one has its result the next is started. Each system is a program of its own that calls Main; whoever measures starts
// it with Start and sends it cells. It knows no system, and has a module of its own so that a peer's program depends on
// nothing of Reprise.
package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Payload is what every step and every workflow returns: 100 bytes.
var Payload = []byte("....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|....5....|")

// Work is what a workflow does.
type Work struct {
	// Steps do nothing and return Payload. The result of each is durable before the next one begins.
	Steps int `json:"steps"`
	// Parallel says that all steps are begun before the first is waited for.
	Parallel bool `json:"parallel,omitempty"`
}

// System runs workflows.
type System interface {
	// Run starts a workflow and returns when it has its result, which is durable, or when ctx is done.
	Run(ctx context.Context, w Work) error
	// Close stops the system and removes what it left, workflows that are under way included.
	Close() error
}

// Cell is what is measured at a time.
type Cell struct {
	Work
	InFlight int `json:"in_flight"` // workflows at a time
	// Seconds is how long workflows count whose ends fall into that time.
	Seconds float64 `json:"seconds,omitempty"`
	// Warm is how many seconds pass before, up to mostWarm while some of the first workflows are under way. They are begun little
	// by little, for each that ends one more: a system that is cold may take long when it gets all at once. The first ones have
	// fewer steps, each another number: a system that serves all in turn would otherwise keep all at the same step, and end them
	// together, within a window or outside.
	Warm float64 `json:"warm,omitempty"`
	// Workflows, when not 0, is how many are run in all, instead of for a time.
	Workflows int `json:"workflows,omitempty"`
}

const mostWarm = 8 * time.Second

// Result is what a cell came to.
type Result struct {
	Workflows int     `json:"workflows"` // that ended while it was measured
	Seconds   float64 `json:"seconds"`
	// WorkflowsS is Workflows a second.
	WorkflowsS float64 `json:"workflows_per_s"`
	// P50 and P99 are of the time from the start of a workflow to its result, in milliseconds.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// StepsS is the rate of the steps of workflows that ended.
func (r Result) StepsS(w Work) float64 { return r.WorkflowsS * float64(w.Steps) }

// Measure runs a cell. The first workflow that fails ends it.
func Measure(ctx context.Context, s System, c Cell) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := newLoop(c)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range c.InFlight {
		wg.Go(func() {
			work := c.Work
			if !l.bounded {
				work.Steps = 1 + i*c.Steps/c.InFlight
			}
			if !l.begin(ctx) {
				return
			}
			for ; l.more(); work = c.Work {
				start := time.Now()
				err := s.Run(ctx, work)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					cancel(err)
					return
				}
				l.ended(time.Since(start))
			}
		})
	}
	if !l.bounded {
		warm := time.Duration(c.Warm * float64(time.Second))
		wait(ctx, time.After(warm), nil)
		wait(ctx, time.After(mostWarm-warm), l.turned)
		l.count(true)
		begun = time.Now()
		wait(ctx, time.After(time.Duration(c.Seconds*float64(time.Second))), nil)
		l.count(false)
	} else {
		wg.Wait()
	}
	took := time.Since(begun)
	cancel(errOver)
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errOver) {
		return Result{}, err
	}
	return l.result(took, c)
}

// errOver says that workflows are under way that nobody waits for any longer.
var errOver = errors.New("the measurement is over")

func wait(ctx context.Context, enough <-chan time.Time, early <-chan struct{}) {
	select {
	case <-enough:
	case <-early:
	case <-ctx.Done():
	}
}

// loop is what the goroutines of a measurement share.
type loop struct {
	mu      sync.Mutex
	bounded bool
	left    int           // to start, when bounded
	room    chan struct{} // to begin one more at a time
	turn    int           // ends until turned is closed
	turned  chan struct{}
	open    bool // ends count
	times   []time.Duration
}

// slowStart is how many workflows are in flight at first.
const slowStart = 16

func newLoop(c Cell) *loop {
	// That many ends make room for all, and then one turn more.
	l := &loop{left: c.Workflows, bounded: c.Workflows > 0, turn: 2 * c.InFlight, turned: make(chan struct{}), room: make(chan struct{}, c.InFlight)}
	l.open = l.bounded
	first := min(slowStart, c.InFlight)
	if l.bounded {
		first = c.InFlight
	}
	for range first {
		l.room <- struct{}{}
	}
	return l
}

// begin waits until there is room for one more at a time.
func (l *loop) begin(ctx context.Context) bool {
	select {
	case <-l.room:
		return true
	case <-ctx.Done():
		return false
	}
}

// more says whether another workflow is to be started.
func (l *loop) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.bounded {
		return true
	}
	l.left--
	return l.left >= 0
}

func (l *loop) ended(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn--; l.turn == 0 {
		close(l.turned)
	}
	select {
	case l.room <- struct{}{}:
	default: // all have begun
	}
	if l.open {
		l.times = append(l.times, took)
	}
}

func (l *loop) count(open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
}

func (l *loop) result(took time.Duration, c Cell) (Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.times) == 0 {
		return Result{}, fmt.Errorf("no workflow of %d steps ended within %s", c.Steps, took)
	}
	slices.Sort(l.times)
	n := len(l.times)
	return Result{Workflows: n, Seconds: took.Seconds(), WorkflowsS: float64(n) / took.Seconds(), P50: at(l.times, 50), P99: at(l.times, 99)}, nil
}

func at(sorted []time.Duration, percent int) float64 {
	return float64(sorted[(len(sorted)-1)*percent/100].Microseconds()) / 1000
}

// Median is the middle of some figures, 0 of none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}
