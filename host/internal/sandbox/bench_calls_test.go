//go:build linux

package sandbox

import (
	"context"
	"time"

	"reprise/modules"
)

const (
	callReps      = 7
	callCount     = 1_000_000
	replayedWaits = 10_000
)

// calls measures the ways between guest and host.
func (b *engineBench) calls() {
	e, done := b.engine(Config{})
	defer done()
	load := func(name string) *Module {
		p, err := modules.Prepare(context.Background(), b.files[name])
		b.must(err)
		m, err := e.Load(context.Background(), p)
		b.must(err)
		return m
	}
	m, clock := load("work"), work{export: "clock", n: callCount}
	b.add("Between guest and host", "now, from C", "a call", median(callReps, func() float64 {
		return b.once(m, clock) * 1e6 / callCount
	}), "ns", callReps)
	for _, language := range stepGuests {
		m := load(language)
		b.add("Between guest and host", "replay, "+language, "effects a second", median(callReps, func() float64 {
			w := steps(replayedWaits, 1)
			w.replay = true
			began := time.Now()
			b.run(m, w, "", w.sum(replayedWaits))
			return replayedWaits / time.Since(began).Seconds()
		}), "", callReps)
	}
}
