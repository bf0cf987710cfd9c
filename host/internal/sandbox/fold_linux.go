package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// fold is part of mapped. The kernel takes the pages that are this memory's own; what is seen then is the image again,
// and zeros behind it.
func (m *private) fold() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.image == nil || m.size == 0 {
		return nil
	}
	was := make([]byte, os.Getpagesize())
	var patch []byte
	pages := 0
	m.own(func(at int) {
		pages += len(was)
		m.image.read(was, at)
		patch = appendPatch(patch, m.b[at:at+len(was)], was, at)
	})
	if pages == 0 || len(patch) > pages/2 {
		return nil
	}
	if err := unix.Madvise(m.b[:m.size], unix.MADV_DONTNEED); err != nil {
		return nil
	}
	return append(make([]byte, 0, max(len(patch), 1)), patch...) // without the room to grow
}

// unfold is part of mapped.
func (m *private) unfold(patch []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size > 0 { // the engine was not closed meanwhile
		applyPatch(m.b, patch)
	}
}
