//go:build linux

package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// benchDocEnv names the page whose generated part BenchmarkEngine rewrites.
const benchDocEnv = "REPRISE_BENCH_ENGINE_DOC"

// BenchmarkEngine measures what docs/PERFORMANCE.md says about guests and instances, all in one run: its figures are
// of use only beside each other. It prints each as a line of JSON, whose keys are those of figure.
func BenchmarkEngine(b *testing.B) {
	for range b.N {
		bench := &engineBench{B: b, files: map[string][]byte{}, dir: b.TempDir()}
		bench.guests()
		bench.machine()
		for _, part := range []func(){bench.instances, bench.crowds, bench.passes, bench.suspends, bench.pipeline, bench.pauses, bench.stops, bench.calls} {
			part()
		}
		bench.loadAtEnd()
		if err := bench.report(os.Stdout, os.Getenv(benchDocEnv)); err != nil {
			b.Fatal(err)
		}
	}
}

// engineBench gathers the figures of one run.
type engineBench struct {
	*testing.B
	dir     string
	files   map[string][]byte // modules by language, and "work"
	facts   []fact
	figures []figure
}

// guests builds or reads the modules.
func (b *engineBench) guests() {
	for _, language := range stepGuests {
		file, err := guestFile(language)
		b.must(err)
		b.files[language] = file
		b.must(os.WriteFile(b.path(language), file, 0o600))
	}
	file, err := os.ReadFile("../../../testdata/guests/c/work.wasm")
	b.must(err)
	b.files["work"] = file
}

func (b *engineBench) path(language string) string { return filepath.Join(b.dir, language+".wasm") }

func (b *engineBench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// engine makes one that lives until the benchmark ends or close is called.
func (b *engineBench) engine(cfg Config) (e *Engine, close func()) {
	b.Helper()
	cfg.Memory = 1 << 40
	e, err := New(context.Background(), cfg)
	b.must(err)
	return e, func() { b.must(e.Close(context.Background())) }
}

// run runs a guest to its end, which must be this output.
func (b *engineBench) run(m *Module, w World, export, want string) {
	b.Helper()
	if end := m.Run(context.Background(), w, export); end.Failure != nil || end.Cause != nil || want != "" && string(end.Output) != want {
		b.Fatalf("%s: got %+v, want %q", export, end, want)
	}
}

// quantile is the value below which so much of the samples is; 0.5 is the median. It sorts them.
func quantile[T time.Duration | float64](samples []T, q float64) T {
	slices.Sort(samples)
	return samples[min(int(q*float64(len(samples))), len(samples)-1)]
}

// median of several measurements.
func median(reps int, measure func() float64) float64 {
	samples := make([]float64, reps)
	for i := range samples {
		samples[i] = measure()
	}
	return quantile(samples, 0.5)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// allocated is how many bytes this process has ever taken from Go's heap.
func allocated() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.TotalAlloc)
}
