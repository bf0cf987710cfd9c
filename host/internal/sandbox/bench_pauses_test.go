//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"reprise/abi"
	"reprise/modules"
)

const (
	spinners = 4
	gcReps   = 40
	ticks    = 2000
	stopReps = 10
	// stopAfter is a guest's budget, and stopWithin when it must have stopped.
	stopAfter  = 300 * time.Millisecond
	stopWithin = 400 * time.Millisecond
)

// spinning lets guests compute without end meanwhile.
func (b *engineBench) spinning(m *Module, n int, meanwhile func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if end := m.Run(ctx, &adder{}, "spin"); !errors.Is(end.Cause, context.Canceled) {
				b.Errorf("spinner: got %+v, want it stopped by its context", end)
			}
		})
	}
	for m.engine.places.taken() < min(n, m.engine.places.size) {
		runtime.Gosched()
	}
	meanwhile()
	cancel()
	all.Wait()
}

func (b *engineBench) spinner() (*Module, func()) {
	e, done := b.engine(Config{})
	p, err := modules.Prepare(context.Background(), b.files["work"])
	b.must(err)
	m, err := e.Load(context.Background(), p)
	b.must(err)
	return m, done
}

// pauses measures what guests that compute do to the rest of the process.
func (b *engineBench) pauses() {
	const section = "The process beside guests that spin"
	m, done := b.spinner()
	defer done()
	for _, n := range []int{0, spinners} {
		row := fmt.Sprintf("%d guests spin", n)
		b.spinning(m, n, func() {
			cycles, pauses := collections()
			b.add(section, row, "collection, median", quantile(cycles, 0.5), "ms", gcReps)
			b.add(section, row, "its pauses, median", quantile(pauses, 0.5), "ms", gcReps)
			b.add(section, row, "its pauses, most", quantile(pauses, 1), "ms", gcReps)
			late := lateness()
			for _, q := range []struct {
				name string
				at   float64
			}{{"timer late, median", 0.5}, {"timer late, p99", 0.99}, {"timer late, most", 1}} {
				b.add(section, row, q.name, quantile(late, q.at), "ms", ticks)
			}
		})
	}
}

// collections are milliseconds: of a whole garbage collection, and of its stops of the world together.
func collections() (cycles, pauses []float64) {
	for range gcReps {
		began := time.Now()
		runtime.GC()
		cycles = append(cycles, milliseconds(time.Since(began)))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		pauses = append(pauses, float64(m.PauseNs[(m.NumGC+255)%256])/1e6)
		time.Sleep(5 * time.Millisecond)
	}
	return cycles, pauses
}

// lateness is by how many milliseconds a goroutine wakes up too late that wants to every millisecond.
func lateness() []float64 {
	late := make([]float64, 0, ticks)
	due := time.Now()
	for range ticks {
		due = due.Add(time.Millisecond)
		time.Sleep(time.Until(due))
		late = append(late, milliseconds(time.Since(due)))
		due = due.Add(time.Since(due).Truncate(time.Millisecond)) // what was missed is missed
	}
	return late
}

// stops measures how long a guest that spins goes on after its budget.
func (b *engineBench) stops() {
	const section = "A guest that spins, stopped after 300 ms"
	m, done := b.spinner()
	defer done()
	for _, others := range []int{0, spinners - 1} {
		row := fmt.Sprintf("by the host, beside %d others", others)
		b.spinning(m, others, func() {
			took := make([]float64, 0, stopReps)
			for range stopReps {
				took = append(took, b.stopByHost(m))
			}
			b.add(section, row, "median", quantile(took, 0.5), "ms", stopReps)
			b.add(section, row, "most", quantile(took, 1), "ms", stopReps)
			b.aim(milliseconds(stopWithin))
		})
	}
	const calibration = 100_000_000
	rate := calibration / b.stopByGas(m, calibration) // a millisecond
	took := make([]float64, 0, stopReps)
	for range stopReps {
		took = append(took, b.stopByGas(m, int64(rate*milliseconds(stopAfter))))
	}
	b.add(section, "by gas, beside 0 others", "median", quantile(took, 0.5), "ms", stopReps)
	b.add(section, "by gas, beside 0 others", "most", quantile(took, 1), "ms", stopReps)
	b.aim(milliseconds(stopWithin))
	b.add(section, "by gas, beside 0 others", "gas", rate*milliseconds(stopAfter)/1e6, "million", stopReps)
}

func (b *engineBench) stopByHost(m *Module) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), stopAfter)
	defer cancel()
	began := time.Now()
	if end := m.Run(ctx, &adder{}, "spin"); !errors.Is(end.Cause, context.DeadlineExceeded) {
		b.Errorf("got %+v, want it stopped by its context", end)
	}
	return milliseconds(time.Since(began))
}

func (b *engineBench) stopByGas(m *Module, gas int64) float64 {
	began := time.Now()
	end := m.Run(context.Background(), &adder{entry: Entry{Limits: abi.Limits{Gas: gas}}}, "spin")
	if end.Failure == nil || end.Failure.Code != abi.CodeOutOfGas {
		b.Errorf("got %+v, want %s", end, abi.CodeOutOfGas)
	}
	return milliseconds(time.Since(began))
}
