//go:build wasip1

package reprise

import (
	"math/rand/v2"
	"unsafe"
)

// A host keeps one picture of a program after its initialisation, and every run begins with it. The generator behind
// math/rand and hash/maphash was seeded before, by the runtime; each run gives it a seed of its own.

// generator is the state of the runtime's generator, as package internal/chacha8rand lays it out.
type generator struct {
	buf  [32]uint64
	seed [4]uint64
	i    uint32 // next of buf
	n    uint32 // end of buf
	c    uint32 // blocks made of seed
}

// runtimeGenerator is where the state is; nil when this toolchain's runtime has another one.
var runtimeGenerator = findGenerator()

// firstGlobal is below every global variable of a program.
const firstGlobal = 4096

// findGenerator looks for what it draws: two numbers of 64 bits, one behind the other, with the counter in its place.
func findGenerator() *generator {
	const word = unsafe.Sizeof(uint64(0))
	heap := uintptr(unsafe.Pointer(&[]byte{firstGlobal - 1: 0}[0])) // the runtime's variables are below it
	for range 2 {                                                   // the two numbers may lie on both sides of the buffer's end
		first, second := rand.Uint64(), rand.Uint64()
		for at := uintptr(firstGlobal); at+unsafe.Sizeof(generator{}) < heap; at += word {
			if *(*uint64)(unsafe.Add(nil, at)) != first || *(*uint64)(unsafe.Add(nil, at+word)) != second {
				continue
			}
			for k := uintptr(0); k+1 < 32 && at >= firstGlobal+k*word; k++ {
				g := (*generator)(unsafe.Add(nil, at-k*word))
				if g.i == uint32(k+2) && g.n <= 32 && g.i <= g.n && g.c <= 16 && g.c%4 == 0 {
					return g
				}
			}
		}
	}
	return nil
}

// exportReseed is called by the host before the entry. It returns 1 when it cannot do what it should.
//
//go:wasmexport reprise_reseed
func exportReseed() int32 {
	g := runtimeGenerator
	if g == nil {
		return 1
	}
	callRandom(unsafe.Slice((*byte)(unsafe.Pointer(&g.seed)), unsafe.Sizeof(g.seed)))
	g.i, g.c = g.n, 0 // nothing is left of the old numbers
	return 0
}
