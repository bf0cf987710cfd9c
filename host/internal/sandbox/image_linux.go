package sandbox

import (
	"encoding/binary"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memfd is a backing whose pages are in a file without a name, which every instance maps privately: the kernel
// copies a page when an instance writes to it.
type memfd struct {
	image *image
	fd    int
	size  uintptr
	// bare is nil, or the image when memories can be folded.
	bare *image
}

// newBacking gives copies when that is asked for, and when this kernel does not have what sharing needs.
func newBacking(im *image, copies bool) (backing, error) {
	if copies {
		return copied{im}, nil
	}
	fd, err := unix.MemfdCreate("reprise-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return copied{im}, nil
	}
	s := &memfd{image: im, fd: fd, size: uintptr(im.Size)}
	if im.ordered() {
		s.bare = im
	}
	if err := s.write(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// write puts the image into the file and seals it: nothing that this process does later changes it.
func (s *memfd) write() error {
	if s.size == 0 {
		return nil
	}
	if err := unix.Ftruncate(s.fd, int64(s.size)); err != nil {
		return err
	}
	b, err := unix.Mmap(s.fd, 0, int(s.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	s.image.fill(b)
	if err := unix.Munmap(b); err != nil {
		return err
	}
	_, err = unix.FcntlInt(uintptr(s.fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	return err
}

func (s *memfd) close() { _ = unix.Close(s.fd) }

// reserve takes address space for all that the memory may grow to; pages come when they are touched. Two
// mappings: the image, and zeros behind it. When the kernel gives no more of them, the instance has a copy.
func (s *memfd) reserve(limit uint64) mapped {
	limit = max(limit, uint64(s.size))
	if limit == 0 {
		return copied{s.image}.reserve(limit)
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return copied{s.image}.reserve(limit)
	}
	m := &private{b: unsafe.Slice((*byte)(p), limit), image: s.bare}
	// Where huge pages are the rule, one byte would cost two megabytes.
	_ = unix.Madvise(m.b, unix.MADV_NOHUGEPAGE)
	if s.size > 0 {
		if _, err := unix.MmapPtr(s.fd, 0, p, s.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE); err != nil {
			m.free()
			return copied{s.image}.reserve(limit)
		}
	}
	return m
}

// private is a memory of one instance.
type private struct {
	mu    sync.Mutex // fold has a goroutine of its own
	b     []byte     // all that is reserved
	size  uint64     // of it given to the guest
	image *image     // what it began with; nil when it is not folded
}

// resize is part of mapped. Nothing that was reserved and not yet given has been written to.
func (m *private) resize(size uint64) []byte {
	m.size = size
	return m.b[:size:len(m.b)]
}

func (m *private) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.b)), uintptr(len(m.b)))
		m.b, m.size = nil, 0
	}
}

// The bits of an entry of /proc/self/pagemap.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// touched counts the pages that are there and are not those of the image.
func (m *private) touched() int64 {
	var n int64
	m.own(func(int) { n += int64(os.Getpagesize()) })
	return n
}

// differs is part of mapped.
func (m *private) differs(im *image) []byte {
	pages := []int{} // not nil, which would be all
	if !m.own(func(at int) { pages = append(pages, at) }) {
		pages = nil // the kernel does not say
	}
	return im.patchOf(m.b[:m.size], pages, os.Getpagesize())
}

// own tells the offsets of those pages, in ascending order. It returns false when the kernel does not say all.
func (m *private) own(tell func(at int)) (all bool) {
	if m.size == 0 {
		return true
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return false
	}
	defer f.Close()
	page := os.Getpagesize()
	const entry = 8
	from := int64(uintptr(unsafe.Pointer(unsafe.SliceData(m.b)))) / int64(page) * entry
	entries := make([]byte, int(m.size)/page*entry)
	got, _ := f.ReadAt(entries, from)
	for i := 0; i+entry <= got; i += entry {
		if e := binary.LittleEndian.Uint64(entries[i:]); e&pagePresent != 0 && e&pageOfFile == 0 || e&pageSwapped != 0 {
			tell(i / entry * page)
		}
	}
	return got == len(entries)
}
