package reprise

import (
	"runtime"
	"runtime/metrics"
)

// garbage decides when the program collects. Go itself would let its heap grow to 4 MiB first, and what the memory of a
// run holds while it waits is what its checkpoint has, dead or alive. Nothing but what the program has done goes
// into the decision, so that it falls the same in a replay.
type garbage struct {
	allocated [1]metrics.Sample
	live      [1]metrics.Sample
	at        uint64 // it collects when so many bytes have been allocated
	waits     int
}

const (
	// tidyEvery is how many bytes a program allocates between two collections, or as many as it has alive when these are
	// more: some 100 pages that a checkpoint has, and some 200 steps of a workflow, against which a collection is cheap.
	tidyEvery = 256 << 10
	// tidyLook is at how many waits one looks at the heap, which takes a few microseconds.
	tidyLook = 16
)

// heap is made when the program is initialised, so that what looking takes is in the image of every instance.
var heap = newGarbage()

func newGarbage() *garbage {
	g := &garbage{}
	g.allocated[0].Name, g.live[0].Name = "/gc/heap/allocs:bytes", "/gc/heap/live:bytes"
	g.next()
	return g
}

func (g *garbage) next() {
	metrics.Read(g.live[:])
	metrics.Read(g.allocated[:])
	g.at = g.allocated[0].Value.Uint64() + max(tidyEvery, g.live[0].Value.Uint64())
}

// tidy is called before the program waits.
func (g *garbage) tidy() {
	if g.waits++; g.waits%tidyLook != 0 {
		return
	}
	metrics.Read(g.allocated[:])
	if g.allocated[0].Value.Uint64() >= g.at {
		runtime.GC()
		g.next()
	}
}
