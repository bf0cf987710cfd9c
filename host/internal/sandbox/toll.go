package sandbox

import (
	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
)

// What the host does for a guest is paid in gas like what the guest does itself: otherwise one that hands over the
// largest payload again and again would hold its place to compute for minutes between two slices. The price
// follows from the call alone, so it is the same in every replay. It is about a nanosecond a unit, for hashing
// and copying together.
const (
	// tollCall is paid for each call.
	tollCall = 100
	// tollByte is paid for each byte that goes into the guest or out of it.
	tollByte = 1
	// tollLine is paid for each log line, which has a time and a place of its own.
	tollLine = 100
)

// Bounds of one call that reads or writes a list of buffers. A guest may name the same bytes a million times, and
// nothing stops a call in its middle.
const (
	// maxBuffers is the most buffers of one call, as Linux has it.
	maxBuffers = 1024
	// maxTransfer is the most bytes that one call takes; it says how many it took, and the guest calls again.
	maxTransfer = abi.MaxPayload
)

// paid makes a function of the host one that costs gas.
func paid(fn hostFunc) hostFunc {
	return func(in *instance, m api.Module, st []uint64) {
		in.gas(m) // so that the rest of the call finds it
		in.toll(tollCall)
		fn(in, m, st)
	}
}

// toll takes gas. It may leave less than none: the guest asks for more at the next place where it pays itself, and
// is stopped there when it has had all.
func (in *instance) toll(units int) {
	if left := in.meter.left; left != nil {
		left.Set(uint64(int64(left.Get()) - int64(units)))
	}
}

// tollBytes takes gas for bytes that are moved.
func (in *instance) tollBytes(n int) { in.toll(n * tollByte) }
