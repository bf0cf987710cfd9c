//go:build linux

package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// suspends measures what it costs that guests can save their frames, and what freezing and thawing take.
func (b *engineBench) suspends() {
	const cost, freeze = "What saving frames costs", "Frozen at a wait and carried on"
	ctx := context.Background()
	e, done := b.engine(Config{})
	defer done()
	paths, err := filepath.Glob(filepath.Join(guestRoot, "suspend", "*.wasm"))
	b.must(err)
	for _, path := range paths {
		file, err := os.ReadFile(path)
		b.must(err)
		row := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "torture-"), ".wasm")
		// The passes of modules.Prepare but this one.
		plain, err := rewritten(ctx, file, rewrite.Options{Gas: true, Depth: abi.MaxDepth, MemoryPages: modules.MaxMemoryPages, TableEntries: modules.MaxTableEntries, CanonicalNaN: true,
			LazyTable: 256, ExportGlobals: true, Apart: true})
		b.must(err)
		began := time.Now()
		saves, err := modules.Prepare(ctx, file)
		b.must(err)
		b.add(cost, row, "check and rewrite", milliseconds(time.Since(began)), "ms", 1)
		b.add(cost, row, "functions", float64(saves.Rewritten.SavingFunctions), "", 1)
		b.add(cost, row, "calls", float64(saves.Rewritten.SavingSites), "", 1)
		b.add(cost, row, "size without", float64(len(plain.Code))/1000, "KB", 1)
		b.add(cost, row, "size", float64(len(saves.Code))/float64(len(plain.Code)), "×", 1)
		saving, err := e.Load(ctx, saves)
		b.must(err)
		if strings.HasPrefix(row, "c-") {
			without, err := e.Load(ctx, plain)
			b.must(err)
			b.hot(cost, row, without, saving)
		}
		b.freezing(freeze, row, saving)
	}
	file, err := builtGo("torture", "-buildmode=c-shared", "-ldflags=-s -w")
	b.must(err)
	m, err := begin(ctx, e, file, fromShared)
	b.must(err)
	b.freezing(freeze, "go", m)
}

// hot compares calls of a function that could wait and does not.
func (b *engineBench) hot(section, row string, without, saving *Module) {
	w := work{export: "fibonacci", n: 32}
	var took [2][]float64
	for range passReps {
		for i, m := range []*Module{without, saving} {
			took[i] = append(took[i], b.once(m, w))
		}
	}
	plain := quantile(took[0], 0.5)
	b.add(section, row, "recursion without", plain, "ms", passReps)
	b.add(section, row, "recursion", quantile(took[1], 0.5)/plain, "×", passReps)
}

// freezing runs a guest that is frozen at each of its waits, and one that is not.
func (b *engineBench) freezing(section, row string, m *Module) {
	run := func(freezes func(int) bool) (w *hourglass, took time.Duration, frozen []*Frozen) {
		w = newHourglass(torturedEntry("2"), freezes)
		began := time.Now()
		end := m.Run(context.Background(), w, "")
		for end.Frozen != nil {
			frozen = append(frozen, end.Frozen)
			end = m.Thaw(context.Background(), w, end.Frozen)
		}
		if end.Cause != nil || end.Failure != nil {
			b.Fatalf("%s: got %+v", row, end)
		}
		return w, time.Since(began), frozen
	}
	words, patch, n := 0, 0, 0
	each := median(passReps, func() float64 {
		_, alone, _ := run(neverFreeze)
		w, took, frozen := run(alwaysFreeze)
		n = len(frozen)
		words, patch = 0, 0
		for _, f := range frozen {
			words, patch = words+len(f.Frames), patch+len(f.Patch)
		}
		return microseconds(took-alone) / float64(w.waits)
	})
	b.add(section, row, "waits", float64(n), "", 1)
	b.add(section, row, "freeze and thaw", each, "µs", passReps)
	b.add(section, row, "words of frames", float64(words)/float64(n), "", 1)
	b.add(section, row, "bytes of memory", float64(patch)/float64(n), "", 1)
}
