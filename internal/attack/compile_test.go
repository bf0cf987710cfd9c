package attack

import (
	"sync"
	"time"
)

// compileAttacks are small files that keep a compiler busy for minutes.
func compileAttacks() []attack {
	refuse := func(number int, what string, m []byte, codes ...string) attack {
		return counted(number, what, map[string][]byte{"module": m}, codes...)
	}
	return []attack{
		refuse(12, "100,000 blocks in one another, 300 KB, more than a minute to compile: refused",
			command(0, times(100_000, 0x02, 0x40), times(100_000, 0x0b)), "too_many"),
		refuse(13, "2,000 locals and 10,000 ifs in one function, 109 KB, more than a minute and 2 GB to compile: refused",
			command(1, leb(2_000), 0x7f, ifs(2_000, 10_000)), "too_many"),
		{number: 14, what: "br_tables of a million labels and of 400,000, more than a minute to compile: refused", bounds: decoding, run: func(v *victim) {
			v.refused("a million", brTable(1_000_000), "too_large")
			v.refused("400,000", brTable(400_000), "too_many")
			v.refused("many of 8,000", command(0, times(60, brTableCode(8_000))), "too_many")
		}},
		{number: 16, what: "20,000 memory.fill in a line, a minute to compile: refused, and meanwhile another tenant's upload is taken",
			bounds: bounds{cpu: 5 * time.Second}, run: fillsWhileOthersUpload},
	}
}

// ifs is code that writes one of its locals in each of n ifs.
func ifs(locals, n int) []byte {
	var b []byte
	for i := range n {
		b = cat(b, 0x20, leb(i%locals), 0x04, 0x40, 0x20, leb(i*7%locals), 0x21, leb(i*13%locals), 0x0b)
	}
	return b
}

func brTableCode(labels int) []byte {
	return cat(0x02, 0x40, 0x41, 0, 0x0e, leb(labels), times(labels+1, 0), 0x0b)
}

func brTable(labels int) []byte { return command(0, brTableCode(labels)) }

func fillsWhileOthersUpload(v *victim) {
	bomb := withMemory(0, times(20_000, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0b, 0))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				v.refusal("20,000 fills", v.push(ann, "bad", bomb), "too_many")
			}
		})
	}
	v.pushed(bob, "echo", fixture("echo"))
	all.Wait()
	if n := v.modules(ann); n != 0 {
		v.errorf("ann has %d modules, want none", n)
	}
}
