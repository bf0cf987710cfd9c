//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

const passReps = 7

// work is a guest's work that is measured with and without a pass.
type work struct {
	module, export, name string // of the module; an entry by export, or a workflow by name
	n                    int
	target               float64
}

// works are about a tenth of a second each.
var works = []work{
	{module: "work", export: "loop", n: 40_000_000, target: 1.5},
	{module: "work", export: "count", n: 100_000_000, target: 1.5},
	{module: "work", export: "calls", n: 34},
	{module: "work", export: "sieve", n: 5},
	{module: "work", export: "floats", n: 10_000_000},
	{module: "go", name: "loop", n: 20_000_000, target: 1.5},
	{module: "go", name: "calls", n: 30},
	{module: "go", name: "dispatch", n: 10_000_000},
	{module: "go", name: "sieve", n: 3},
}

func (w work) world() *adder {
	return &adder{replay: true, entry: Entry{Name: w.name, Input: strconv.AppendInt(nil, int64(w.n), 10)}}
}

// passes compares code that went through a pass with the same code that did not. The variants of one work take turns,
// so that a slow moment of the machine meets all of them.
func (b *engineBench) passes() {
	e, done := b.engine(Config{})
	defer done()
	base := rewrite.Options{Apart: true, ExportGlobals: true}
	variants := []struct {
		name string
		set  func(o *rewrite.Options)
	}{
		{"none", func(*rewrite.Options) {}},
		{"gas", func(o *rewrite.Options) { o.Gas = true }},
		{"depth", func(o *rewrite.Options) { o.Depth = abi.MaxDepth }},
		{"NaN", func(o *rewrite.Options) { o.CanonicalNaN = true }},
		{"table", func(o *rewrite.Options) { o.LazyTable = 1 }},
		{"all", func(o *rewrite.Options) { o.Gas, o.Depth, o.CanonicalNaN, o.LazyTable = true, abi.MaxDepth, true, 256 }},
	}
	loaded := map[string][]*Module{}
	for _, name := range []string{"work", "go"} {
		for _, v := range variants {
			o := base
			v.set(&o)
			p, err := rewritten(context.Background(), b.files[name], o)
			b.must(err)
			m, err := e.Load(context.Background(), p)
			b.must(err)
			loaded[name] = append(loaded[name], m)
			b.add("Size of the code", name, v.name, float64(len(p.Code))/1000, "KB", 1)
		}
	}
	for _, w := range works {
		took := make([][]float64, len(variants))
		for range passReps {
			for i := range variants {
				took[i] = append(took[i], b.once(loaded[w.module][i], w))
			}
		}
		row := fmt.Sprintf("%s: %s", w.module, w.export+w.name)
		plain := quantile(took[0], 0.5)
		b.add("What the passes cost", row, "none", plain, "ms", passReps)
		for i := 1; i < len(variants); i++ {
			b.add("What the passes cost", row, variants[i].name, quantile(took[i], 0.5)/plain, "×", passReps)
			if variants[i].name == "gas" && w.target > 0 {
				b.aim(w.target)
			}
		}
	}
}

// once is the processor time of one run in milliseconds, which other processes do not add to. It is the time of all
// threads: were the run bound to one, each slice of gas would pay for two changes of threads that no host pays for.
func (b *engineBench) once(m *Module, w work) float64 {
	runtime.GC()
	began := b.processTime()
	b.run(m, w.world(), w.export, "")
	return milliseconds(b.processTime() - began)
}

func (b *engineBench) processTime() time.Duration {
	var now unix.Timespec
	b.must(unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

const pipelineReps = 3

// pipeline measures the way of a module's bytes to its first instance.
func (b *engineBench) pipeline() {
	const section = "From bytes to instances"
	exe, err := os.Executable()
	b.must(err)
	for _, language := range stepGuests {
		file := b.files[language]
		b.add(section, language, "module", float64(len(file))/1000, "KB", 1)
		var p *modules.Prepared
		b.add(section, language, "check and rewrite", median(pipelineReps, func() float64 {
			began := time.Now()
			p, err = modules.Prepare(context.Background(), file)
			b.must(err)
			return milliseconds(time.Since(began))
		}), "ms", pipelineReps)
		cfg := Config{Compiler: []string{exe}, CompilerEnv: []string{compilerEnv}}
		load := func() float64 {
			e, done := b.engine(cfg)
			defer done()
			began := time.Now()
			_, err := e.Load(context.Background(), p)
			b.must(err)
			return milliseconds(time.Since(began))
		}
		b.add(section, language, "compile and warm up in a child", median(pipelineReps, func() float64 {
			cfg.CacheDir, err = os.MkdirTemp(b.dir, "cache-")
			b.must(err)
			return load()
		}), "ms", pipelineReps)
		b.add(section, language, "again, from the cache on disk", median(pipelineReps, load), "ms", pipelineReps)
		e, done := b.engine(cfg)
		m, err := e.Load(context.Background(), p)
		b.must(err)
		b.add(section, language, "of it warming up", median(pipelineReps, func() float64 {
			began := time.Now()
			_, err := m.warm(context.Background())
			b.must(err)
			return milliseconds(time.Since(began))
		}), "ms", pipelineReps)
		b.add(section, language, "image", float64(m.image.Size)/1000, "KB", 1)
		done()
	}
}
