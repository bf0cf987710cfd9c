package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// identity names what instances of an image begin with, in hex. It follows from the module, but it is of what is there.
func (im *image) identity() string {
	im.once.Do(func() {
		h := sha256.New()
		word := func(v uint64) { _, _ = h.Write(binary.LittleEndian.AppendUint64(nil, v)) }
		word(im.Size)
		word(uint64(len(im.Globals)))
		for _, g := range im.Globals {
			word(g)
		}
		for _, r := range im.Runs {
			word(uint64(r.Offset))
			word(uint64(len(r.Bytes)))
			_, _ = h.Write(r.Bytes)
		}
		im.name = hex.EncodeToString(h.Sum(nil))
	})
	return im.name
}

// patchOf compares memory with what the image has there, block by block, so that the same memory gives the same patch
// wherever it is. at are the offsets of the pages that may differ, in ascending order, each of page bytes; nil is all.
func (im *image) patchOf(memory []byte, at []int, page int) []byte {
	was := make([]byte, blockBytes)
	base := im.read
	if !im.ordered() {
		whole := make([]byte, max(len(memory), int(im.Size)))
		im.fill(whole)
		base = func(into []byte, at int) { copy(into, whole[at:]) }
	}
	patch := make([]byte, 0, len(at)*page/4) // most pages have little that is new
	block := func(at int) {
		base(was, at)
		patch = appendPatch(patch, memory[at:at+blockBytes], was, at)
	}
	if at == nil {
		for i := 0; i < len(memory); i += blockBytes {
			block(i)
		}
		return patch
	}
	for _, from := range at {
		for i := from; i < from+page && i < len(memory); i += blockBytes {
			block(i)
		}
	}
	return patch
}

// patchFits says whether a patch is well formed and stays inside a memory.
func patchFits(patch []byte, size uint64) bool {
	end := uint64(0)
	for len(patch) > 0 {
		if len(patch) < patchHeader {
			return false
		}
		at, n := uint64(binary.LittleEndian.Uint32(patch)), uint64(binary.LittleEndian.Uint32(patch[4:]))
		if n == 0 || at < end || at+n > size || n > uint64(len(patch)-patchHeader) {
			return false
		}
		end, patch = at+n, patch[patchHeader+n:]
	}
	return true
}
