//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

const (
	instanceReps = 7
	// crowdPlain and crowdShared are how many instances live at once.
	crowdPlain  = 1_000
	crowdShared = 10_000
)

// instances measures one instance after another: made, entered and closed.
func (b *engineBench) instances() {
	const section = "One instance after another"
	for _, language := range stepGuests {
		for _, way := range []way{fromData, fromCopy, fromShared} {
			e, done := b.engine(way.config())
			m, err := begin(context.Background(), e, b.files[language], way)
			b.must(err)
			count := 200
			if way == fromData && language == "go" {
				count = 25 // some milliseconds each
			}
			row := fmt.Sprintf("%s, %s", language, way)
			took, bytes := b.each(m, "nop", "", count)
			b.add(section, row, "made, entered, closed", took, "µs", instanceReps)
			if language == "go" && way == fromShared {
				b.aim(250)
			}
			b.add(section, row, "heap taken", bytes/1000, "KB", instanceReps)
			if language == "go" && way == fromShared {
				b.aim(200)
			}
			took, _ = b.each(m, "", steps(crowdSteps, 1).sum(crowdSteps), count)
			b.add(section, row, fmt.Sprintf("with a run of %d effects", crowdSteps), took, "µs", instanceReps)
			done()
		}
	}
}

// each runs an export in count instances and says what one takes: microseconds, and bytes of Go's heap.
func (b *engineBench) each(m *Module, export, want string, count int) (took, bytes float64) {
	for range 2 * measured { // until memory is measured rarely, as in a host that has run for a while
		b.run(m, steps(crowdSteps, 1), export, want)
	}
	heap := make([]float64, 0, instanceReps)
	took = median(instanceReps, func() float64 {
		runtime.GC()
		before, began := allocated(), time.Now()
		for range count {
			b.run(m, steps(crowdSteps, 1), export, want)
		}
		elapsed := time.Since(began)
		heap = append(heap, (allocated()-before)/float64(count))
		return microseconds(elapsed) / float64(count)
	})
	return took, quantile(heap, 0.5)
}

// crowds measures many instances at once, each blocked in its first wait.
func (b *engineBench) crowds() {
	const section = "Many instances at once"
	for _, language := range stepGuests {
		for _, way := range []way{fromData, fromShared} {
			n := crowdShared
			if way == fromData {
				n = crowdPlain
			}
			seen, err := gather(context.Background(), crowd{Language: language, File: b.path(language), Way: way, N: n})
			b.must(err)
			for _, wrong := range seen.Wrong {
				b.Errorf("%s: %s", language, wrong)
			}
			row := fmt.Sprintf("%s, %s, %d waiting", language, way, n)
			b.add(section, row, "in all", float64(seen.Private+seen.Tables)/1e6, "MB", 1)
			if language == "go" && way == fromShared {
				b.aim(2000)
			}
			b.add(section, row, "each", seen.perInstance(n)/1000, "KB", 1)
			b.add(section, row, "of it Go's heap", float64(seen.Heap)/float64(n)/1000, "KB", 1)
			b.add(section, row, "of it page tables", float64(seen.Tables)/float64(n)/1000, "KB", 1)
			b.add(section, row, "to its wait, each", microseconds(seen.Begin)/float64(n), "µs", 1)
			b.add(section, row, "from there to its end, each", microseconds(seen.End)/float64(n), "µs", 1)
		}
	}
}
