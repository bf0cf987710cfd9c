//go:build !race

package sandbox

import (
	"runtime"
	"testing"

	"reprise/modules"
)

// TestAllocations bounds what making, entering and closing an instance takes from Go's heap. The bounds are a third above
// what was measured, without the race detector, which allocates, too; who goes over one has made every run more expensive.
func TestAllocations(t *testing.T) {
	guests := map[string]*Module{"warm": load(t, newEngine(t, Config{}), prepared(t, "warm")), "go": load(t, newEngine(t, Config{}), preparedGo(t))}
	tests := []struct {
		guest, export string
		allocs, bytes float64
		touched       int64 // bytes of its memory that the instance makes its own
	}{
		{"warm", "", 75, 36_000, 200 << 10},
		{"go", "nop", 95, 114_000, 16 << 10},
		{"go", "", 260, 150_000, 300 << 10},
	}
	for _, tt := range tests {
		t.Run(tt.guest+" "+tt.export, func(t *testing.T) {
			m := guests[tt.guest]
			if !m.Warm() {
				t.Fatalf("got no warm image: %s", m.image.Why)
			}
			run := func() {
				w := steps(crowdSteps, 1)
				if end := m.Run(t.Context(), w, tt.export); end.Failure != nil || end.Cause != nil {
					t.Errorf("got %+v", end)
				}
			}
			for range 2 * measured { // until memory is measured rarely
				run()
			}
			const runs = 100
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			allocs := testing.AllocsPerRun(runs, run)
			runtime.ReadMemStats(&after)
			bytes := float64(after.TotalAlloc-before.TotalAlloc) / (runs + 1)
			touched := m.needs.Load() - overhead
			t.Logf("%.0f allocations of %.0f bytes in all, and %d bytes of memory", allocs, bytes, touched)
			if allocs > tt.allocs || bytes > tt.bytes || touched > tt.touched {
				t.Errorf("got %.0f allocations of %.0f bytes and %d bytes of memory, want at most %.0f, %.0f and %d", allocs, bytes, touched, tt.allocs, tt.bytes, tt.touched)
			}
		})
	}
}

func preparedGo(t *testing.T) *modules.Prepared {
	t.Helper()
	file, err := guestFile("go")
	if err != nil {
		t.Fatal(err)
	}
	p, err := modules.Prepare(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
