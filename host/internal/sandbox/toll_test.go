package sandbox

import (
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
)

// fakeGas is the gas of a guest that is not there.
type fakeGas struct {
	api.MutableGlobal
	left int64
}

func (g *fakeGas) Get() uint64  { return uint64(g.left) }
func (g *fakeGas) Set(v uint64) { g.left = int64(v) }

// TestTolls: a guest pays for what the host does for it, the same each time.
func TestTolls(t *testing.T) {
	for name, tt := range map[string]struct {
		call func(r *rig)
		want int64
	}{
		"status":           {func(r *rig) { _, _ = r.call(paid(contract["status"]), 1) }, tollCall},
		"input":            {func(r *rig) { _, _ = r.call(paid(contract["input"]), 0, 100) }, tollCall + 5},
		"input, asked":     {func(r *rig) { _, _ = r.call(paid(contract["input"]), 0, 0) }, tollCall},
		"effect":           {func(r *rig) { _, _ = r.call(paid(contract["effect"]), 0, 9, 0, 1000, 0, 0) }, tollCall + 1009},
		"effect, too much": {func(r *rig) { _, _ = r.call(paid(contract["effect"]), 0, 9, 0, 1<<31, 0, 0) }, tollCall + 9},
		"publish":          {func(r *rig) { _, _ = r.call(paid(contract["publish"]), 0, 9, 0, 1000) }, tollCall + 1009},
		"random":           {func(r *rig) { _, _ = r.call(paid(contract["random"]), 0, 500) }, tollCall + 500},
		"log":              {func(r *rig) { _, _ = r.call(paid(contract["log"]), 1, 0, 700) }, tollCall + 700 + tollLine},
		"random_get":       {func(r *rig) { r.wasi("random_get", 0, 500) }, 500},
		"fd_write, 10 lines": {func(r *rig) {
			r.put(0, []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n"))
			r.put(100, binary.LittleEndian.AppendUint64(nil, 20<<32))
			r.wasi("fd_write", 1, 100, 1, 200)
		}, 20 + 10*tollLine},
		"fd_read": {func(r *rig) {
			r.put(100, binary.LittleEndian.AppendUint64(nil, 64<<32))
			r.wasi("fd_read", 0, 100, 1, 200)
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := &fakeGas{left: 100}
			r.in.meter.left = g
			r.in.entry.Input = []byte("hello")
			r.put(0, []byte("test.step"))
			tt.call(r)
			if got := 100 - g.left; got != tt.want {
				t.Errorf("got a toll of %d, want %d", got, tt.want)
			}
		})
	}
}

// TestRandomIsAllOrNothing: what does not fit in memory is not filled in part.
func TestRandomIsAllOrNothing(t *testing.T) {
	r := newRig(t)
	if errno := r.wasi("random_get", 0, 1<<20); errno != errnoFault {
		t.Errorf("got errno %d, want %d", errno, errnoFault)
	}
	for i, b := range r.mem.b {
		if b != 0 {
			t.Fatalf("got byte %d at %d, want nothing written", b, i)
		}
	}
}

// TestOneCallIsBounded: what a single call does has an end, however often it names the same bytes.
func TestOneCallIsBounded(t *testing.T) {
	r := newRig(t)
	r.mem.b = make([]byte, 16<<20)
	const list, count = 8 << 20, 1024
	for i := range count + 1 {
		r.put(list+8*i, binary.LittleEndian.AppendUint64(nil, 1<<20<<32)) // the first MiB
	}
	if errno := r.wasi("fd_write", 1, list, count+1, 12<<20); errno != errnoInval {
		t.Errorf("fd_write of %d buffers: got errno %d, want %d", count+1, errno, errnoInval)
	}
	if errno := r.wasi("fd_read", 0, list, count+1, 12<<20); errno != errnoInval {
		t.Errorf("fd_read of %d buffers: got errno %d, want %d", count+1, errno, errnoInval)
	}
	if errno, n := r.wasi("fd_write", 1, list, count, 12<<20), r.u32(12<<20); errno != errnoSuccess || n != abi.MaxPayload {
		t.Errorf("fd_write of a GiB: got errno %d and %d bytes, want %d of them", errno, n, abi.MaxPayload)
	}
}
