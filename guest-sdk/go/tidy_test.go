package reprise

import (
	"runtime"
	"testing"
)

var kept []byte // so that what is allocated is on the heap

// TestTidyCollects says that garbage is collected by what was allocated, and not at each wait.
func TestTidyCollects(t *testing.T) {
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	g := newGarbage()
	before := collections()
	for range 10 * tidyLook {
		g.tidy()
	}
	if n := collections() - before; n != 0 {
		t.Errorf("got %d collections of a program that allocates nothing, want none", n)
	}
	for range 16 * tidyLook {
		kept = make([]byte, g.at/tidyLook/8)
		g.tidy()
	}
	if n := collections() - before; n == 0 {
		t.Error("got no collection of a program that has allocated what it may")
	}
}
