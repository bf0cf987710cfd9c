package sandbox

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"reprise/modules/rewrite"
)

// foldAfter is how long a guest waits before its memory is folded. Folding and unfolding take about a tenth of a
// millisecond each, and pages that are written to must be copied again.
const foldAfter = 100 * time.Millisecond

// rest lets the memory of a guest that waits be folded: a guest writes a few bytes here and there, and each makes a
// whole page its own. wake must be called before the memory is used again.
func (in *instance) rest() (wake func()) {
	if in.linear == nil {
		return func() {}
	}
	var mu sync.Mutex
	var patch []byte
	awake, e, memory := false, in.mod.engine, in.linear.mapped
	timer := time.AfterFunc(foldAfter, func() {
		e.folding.Lock() // one at a time: guests need the processors more
		defer e.folding.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if awake {
			return
		}
		if patch = memory.fold(); patch != nil {
			e.folded.Add(1)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		awake = true
		if patch != nil {
			memory.unfold(patch)
			e.folded.Add(-1)
		}
	}
}

// A patch is what a memory has that its image has not: stretches of a header, the offset and the length as 32 bits each, and
// as many bytes.
const patchHeader = 8

// patchWord is the unit in which memory is compared.
const patchWord = 8

// appendPatch adds what differs between a stretch of memory at an offset and what it was; both are whole words.
func appendPatch(patch, memory, was []byte, at int) []byte {
	begin := -1 // of the stretch that is open, in memory
	for i := 0; i <= len(memory); i += patchWord {
		differs := i < len(memory) && binary.NativeEndian.Uint64(memory[i:]) != binary.NativeEndian.Uint64(was[i:])
		switch {
		case differs && begin < 0:
			begin = i
		case !differs && begin >= 0:
			patch = binary.LittleEndian.AppendUint32(patch, uint32(at+begin))
			patch = binary.LittleEndian.AppendUint32(patch, uint32(i-begin))
			patch = append(patch, memory[begin:i]...)
			begin = -1
		}
	}
	return patch
}

// applyPatch writes a patch into a memory that is as it was.
func applyPatch(memory, patch []byte) {
	for len(patch) > 0 {
		at, n := binary.LittleEndian.Uint32(patch), binary.LittleEndian.Uint32(patch[4:])
		copy(memory[at:], patch[patchHeader:patchHeader+n])
		patch = patch[patchHeader+n:]
	}
}

// ordered says whether the runs come one behind the other, as read wants them.
func (im *image) ordered() bool {
	end := uint64(0)
	for _, r := range im.Runs {
		if uint64(r.Offset) < end {
			return false
		}
		end = uint64(r.Offset) + uint64(len(r.Bytes))
	}
	return true
}

// read fills a buffer with what the image has from an offset on, and zeros behind its end.
func (im *image) read(into []byte, at int) {
	clear(into)
	i, _ := slices.BinarySearchFunc(im.Runs, at, func(r rewrite.Run, at int) int { return int(r.Offset) + len(r.Bytes) - 1 - at })
	for ; i < len(im.Runs) && int(im.Runs[i].Offset) < at+len(into); i++ {
		r := im.Runs[i]
		copy(into[max(int(r.Offset)-at, 0):], r.Bytes[max(at-int(r.Offset), 0):])
	}
}
