package attack

import (
	"sync"
	"time"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// computing is for attacks that use up gas.
var computing = bounds{cpu: 30 * time.Second}

// littleGas is a limit that takes a tenth of a second. Attack 50 has the host's own.
func littleGas(c *config) { c.host.Limits.Gas = 100_000_000 }

// computeAttacks compute for ever.
func computeAttacks() []attack {
	return []attack{
		{number: 50, what: "an empty loop: fails out of gas, and so does its replay", bounds: bounds{cpu: 2 * time.Minute, wall: 2 * time.Minute}, run: func(v *victim) {
			v.exhausts(abi.CodeOutOfGas, map[string][]byte{"loop": command(0, 0x03, 0x40, 0x0c, 0, 0x0b)})
		}},
		{number: 51, what: "functions that call the next one twice, 2^100 calls from 350 bytes: fails out of gas, and so does its replay", bounds: computing, setup: littleGas, run: func(v *victim) {
			v.exhausts(abi.CodeOutOfGas, map[string][]byte{"doubling": doubling(100)})
		}},
		{number: 52, what: "recursion without end, eight at once: fails at the bound of the call depth, and the memory comes back", bounds: bounds{memory: 512}, run: func(v *victim) {
			// f(x) = f(x) + 1, which is no tail call.
			v.deepens(mod(sec(secType, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f), sec(secFunction, 2, 0, 1), startFunc,
				sec(secCode, 2, fn(0, 0x41, 0, 0x10, 1, 0x1a), fn(0, 0x20, 0, 0x10, 1, 0x41, 1, 0x6a))))
		}},
		{number: 53, what: "two functions that call each other through a table: fails at the bound of the call depth, and the memory comes back", bounds: bounds{memory: 512}, run: func(v *victim) {
			v.deepens(mod(voidType, sec(secFunction, 2, 0, 0), sec(secTable, 1, 0x70, 0, 2), startFunc, sec(secElement, 1, 0, 0x41, 0, 0x0b, 2, 0, 1),
				sec(secCode, 2, fn(0, 0x41, 1, 0x11, 0, 0, 0x01), fn(0, 0x41, 0, 0x11, 0, 0, 0x01))))
		}},
		{number: 56, what: "memory.fill and memory.copy of 16 MiB without end, and calls that make the host move as much: paid by their size, fails out of gas, and one call has an end",
			bounds: computing, setup: littleGas, run: bulk},
	}
}

// doubling is a chain of functions, each of which calls the next one twice.
func doubling(n int) []byte {
	code := make([]any, 0, n+2)
	code = append(code, leb(n+1))
	for i := range n {
		code = append(code, fn(0, 0x10, leb(i+1), 0x10, leb(i+1)))
	}
	code = append(code, fn(0))
	return mod(voidType, sec(secFunction, leb(n+1), times(n+1, 0)), startFunc, sec(secCode, code...))
}

// exhausts runs modules that must fail with a code, now and in a replay, with bob served meanwhile.
func (v *victim) exhausts(code string, modules map[string][]byte) {
	for what, m := range modules {
		v.pushed(ann, "exhaust", m)
		id := v.begin(ann, "exhaust", nil)
		v.alive("while ann computes")
		run := v.end(ann, id)
		v.fails(what, run, code)
		v.replays(what, run)
	}
}

// deepens runs a module that recurses for ever, several at once, and looks at the memory of the host.
func (v *victim) deepens(m []byte) {
	const guests, rounds = 8, 5
	v.pushed(ann, "deep", m)
	round := func() {
		var all sync.WaitGroup
		for range guests {
			all.Go(func() {
				run := v.run("deep", nil)
				v.fails("recursion", run, abi.CodeCallDepth)
			})
		}
		all.Wait()
	}
	round()
	v.replays("recursion", v.run("deep", nil))
	before := resident()
	for range rounds {
		round()
	}
	// A stack is some MiB: rounds that kept theirs would be far above.
	if after := resident(); after > before+40*raceMemory {
		v.errorf("the host has %d MiB after %d more guests, %d before", after, guests*rounds, before)
	}
}

func bulk(v *victim) {
	const size = 16 << 20
	memory := sec(secMemory, 1, 0, leb(2*size>>16))
	endless := func(operation ...any) []byte {
		return mod(voidType, oneVoid, memory, startFunc, sec(secCode, 1, fn(0, 0x03, 0x40, cat(operation...), 0x0c, 0, 0x0b)))
	}
	n := sleb(size)
	v.exhausts(abi.CodeOutOfGas, map[string][]byte{
		"fill": endless(0x41, 0, 0x41, 1, 0x41, n, 0xfc, 0x0b, 0),
		"copy": endless(0x41, 0, 0x41, n, 0x41, n, 0xfc, 0x0a, 0, 0),
	})
	v.hostWork()
}

// hostWork makes the host work, again and again, by calls that cost the guest some instructions each.
func (v *victim) hostWork() {
	const at, largest = scratch, abi.MaxPayload
	for what, call := range map[string]func(p *program){
		"output":          func(p *program) { p.do("output", at, largest) },
		"fail":            func(p *program) { p.do("fail", at, largest) },
		"publish":         func(p *program) { p.do("publish", at, 4, at, largest) },
		"random_get":      func(p *program) { p.do("random_get", at, memoryEnd-at) },
		"log":             func(p *program) { p.do("log", 1, at, largest) },
		"fd_write, lines": func(p *program) { p.do("fd_write", 1, at-16, 1, at-32) },
		"input":           func(p *program) { p.do("input", at, largest) },
		"poll_oneoff":     func(p *program) { p.do("poll_oneoff", at, at+48<<10, 1024, at-32) },
	} {
		var p program
		p.do("fill", at, '\n', memoryEnd-at)
		if what == "publish" {
			p.do("fill", at, 'k', 4)
		}
		p.do("store", at-16, uint64(at)|largest<<32)
		p.do("store", at-8, uint64(1)<<62)
		from := p.next()
		call(&p)
		p.do("again", at-8, from)
		id := v.begins(ann, &p)
		v.alive("while the host works for ann")
		run := v.end(ann, id)
		v.fails(what, run, abi.CodeOutOfGas)
		v.replays(what, run)
	}
	// A million buffers that are the same 64 MiB, in one call.
	const list, buffers = scratch, 1 << 20
	var p program
	p.do("grow", modules.MaxMemoryPages-memoryEnd>>16)
	p.do("store", list, uint64(modules.MaxMemoryPages-1)<<(16+32))
	for have := 8; have < 8*buffers; have *= 2 {
		p.do("copy", list+have, list, have)
	}
	many := p.do("fd_write", 1, list, buffers, list-8)
	read := p.do("fd_read", 0, list, buffers, list-8)
	some := p.do("fd_write", 1, list, 1024, list-8)
	p.report()
	const success, invalid = 0, 28
	out := v.plays("a million buffers", &p)
	if a, b, c := many.value(out), read.value(out), some.value(out); a != invalid || b != invalid || c != success {
		v.errorf("got errno %d, %d of a million buffers and %d of 1,024, want %d, %d, %d", a, b, c, invalid, invalid, success)
	}
}

// sleb is a positive number as signed LEB128.
func sleb(n int) []byte {
	var b []byte
	for ; n >= 0x40; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// ended counts the runs that have ended.
func (v *victim) ended(ids []journal.RunID) int {
	n := 0
	for _, id := range ids {
		if v.view(ann, id).State.Terminal() {
			n++
		}
	}
	return n
}
