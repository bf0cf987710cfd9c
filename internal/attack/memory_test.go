package attack

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/modules"
)

// memoryAttacks take memory.
func memoryAttacks() []attack {
	return []attack{
		{number: 23, what: "a module that begins with more memory than one may have: refused", bounds: decoding, run: func(v *victim) {
			for _, pages := range []int{modules.MaxMemoryPages + 1, 65_536} {
				v.refused("large memory", mod(voidType, oneVoid, sec(secMemory, 1, 0, leb(pages)), startFunc, sec(secCode, 1, fn(0))), "too_much_memory")
			}
			v.refused("beyond 4 GiB", mod(sec(secMemory, 1, 0, leb(65_537))), "malformed")
			v.refused("minimum above maximum", mod(sec(secMemory, 1, 1, 2, 1)), "malformed")
		}},
		{number: 24, what: "a module that announces 4 GiB as its maximum: taken, and memory.grow beyond the limit answers -1", run: growth},
		{number: 54, what: "memory.grow in a loop, memory used: -1 at the limit, for each of several at once", bounds: bounds{memory: 900}, run: growLoop},
		{number: 55, what: "table.grow in a loop, and by billions: -1 at the limit", run: tableGrowth},
		{number: 57, what: "1,000 runs that each use all the memory that one may have, and sit on it: they wait for their turn, all complete, and the host stays within what all guests may take",
			bounds: bounds{cpu: time.Minute, wall: 2 * time.Minute, memory: heldTotal + 300}, setup: heldMemory, run: holdMemory},
		{number: 58, what: "10,000 runs that take memory and trap (1,000 under the race detector): the host's memory and goroutines are what they were",
			bounds: bounds{cpu: 2 * time.Minute, wall: 3 * time.Minute, memory: 700}, run: allocateAndTrap},
	}
}

func growth(v *victim) {
	const least = memoryEnd >> 16 // of testdata/calls.wat, whose maximum is 65,536
	var p program
	size := p.do("size")
	tooMuch := p.do("grow", modules.MaxMemoryPages-least+1)
	huge := p.do("grow", 65_536)
	wraps := p.do("grow", uint32(1<<32-1))
	all := p.do("grow", modules.MaxMemoryPages-least)
	one := p.do("grow", 1)
	end := p.do("size")
	p.do("fill", modules.MaxMemoryPages<<16-16, 0xff, 16) // the last bytes are there
	p.report()
	out := v.plays("growth", &p)
	for what, tt := range map[string]struct {
		got  result
		want int64
	}{
		"size at the start": {size, least}, "grow beyond the limit": {tooMuch, -1}, "grow by 4 GiB": {huge, -1}, "grow by 2^32-1": {wraps, -1},
		"grow to the limit": {all, least}, "grow by one more": {one, -1}, "size at the end": {end, modules.MaxMemoryPages},
	} {
		if got := tt.got.value(out); got != tt.want {
			v.errorf("%s: got %d, want %d", what, got, tt.want)
		}
	}
}

func growLoop(v *victim) {
	var p program
	counter := scratch
	p.do("store", counter, 5000)
	from := p.next()
	p.do("grow", 1)
	p.do("again", counter, from)
	p.do("fill", scratch, 1, modules.MaxMemoryPages<<16-scratch) // all of it is used
	p.report()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			run := v.play(&p)
			v.completes("grow in a loop", run)
		})
	}
	all.Wait()
}

// What attack 57 gives: a run 8 MiB, all of them 128.
const (
	heldPages = 128
	heldTotal = 128
)

func heldMemory(c *config) {
	c.host.Memory, c.host.Limits.MemoryPages = heldTotal<<20, heldPages
	c.effects["test.hold"] = effect.Effect{Handler: effect.HandlerFunc(func(ctx context.Context, _ effect.Request) ([]byte, error) {
		select { // an answer takes its time, and the guest keeps its memory meanwhile
		case <-time.After(20 * time.Millisecond):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})}
}

func holdMemory(v *victim) {
	const runs = 1000
	var p program
	grown := p.do("grow", heldPages-memoryEnd>>16)
	more := p.do("grow", 1)
	p.do("fill", scratch, 1, heldPages<<16-scratch)
	p.await(p.effect("test.hold", "", ""))
	p.report()
	v.pushed(ann, "calls", own("calls"))
	var ids []journal.RunID
	for range runs {
		ids = append(ids, v.begin(ann, "calls", p.input()))
	}
	v.alive("while ann has all memory")
	for _, id := range ids {
		run := v.end(ann, id)
		if v.completes("memory at its limit", run); run.State == journal.Completed && (grown.value(run.Output) < 0 || more.value(run.Output) != -1) {
			v.errorf("memory.grow answers %d to the limit and %d beyond", grown.value(run.Output), more.value(run.Output))
		}
	}
}

func tableGrowth(v *victim) {
	var p program
	counter := scratch
	billions := p.do("table_grow", 200_000_000)
	wraps := p.do("table_grow", uint32(1<<32-1))
	p.do("store", counter, 300)
	from := p.next()
	last := p.do("table_grow", 1000)
	p.do("again", counter, from)
	p.report()
	out := v.plays("table.grow", &p)
	for what, r := range map[string]result{"by 200 million": billions, "by 2^32-1": wraps, "the last of 300 times 1,000": last} {
		if got := r.value(out); got != -1 {
			v.errorf("%s: got %d, want -1", what, got)
		}
	}
}

func allocateAndTrap(v *victim) {
	const warm = 400
	runs := 10_000
	if raceDetector {
		runs = 1_000
	}
	var p program
	p.do("grow", 64)
	p.do("fill", scratch, 1, 1<<18)
	p.do("trap")
	v.pushed(ann, "calls", own("calls"))
	batch := func(n int) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range n / 8 {
					v.fails("trap", v.run("calls", p.input()), abi.CodeTrap)
				}
			})
		}
		all.Wait()
	}
	batch(warm)
	memory, file, goroutines := resident(), v.journalSize(), runtime.NumGoroutine()
	batch(runs)
	// SQLite keeps pages of the journal, up to 64 MiB a connection, beside the Go heap; two connections are in use. A page
	// that each run leaves would be 40 MiB.
	cached := 2 * (v.journalSize() - file)
	if after := resident(); after > memory+memory/10+cached+5*raceMemory {
		v.errorf("the host has %d MiB after %d runs, %d before, and at most %d more of the journal", after, runs, memory, cached)
	}
	if after := runtime.NumGoroutine(); after > goroutines+8 {
		v.errorf("the host has %d goroutines after %d runs, %d before", after, runs, goroutines)
	}
}

// journalSize is the MiB of the journal's file.
func (v *victim) journalSize() int64 {
	fi, err := os.Stat(filepath.Join(v.dir, "journal.db"))
	v.check("look at the journal", err)
	return fi.Size() >> 20
}

// resident is the MiB that this process has in memory when it has given back what it does not use. What the database
// has mapped of its file is not counted: it is the kernel's to take back.
func resident() int64 {
	debug.FreeOSMemory()
	return statusOf("self", "RssAnon:") >> 10
}
