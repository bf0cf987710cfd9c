package sandbox

import (
	"fmt"
	"sync"

	"reprise/modules/rewrite"
)

// image is what the memory of every new instance of a module begins with. The instances share its pages until they
// write to them. It follows from the module and rewrite.PipelineVersion alone, so that every node has the same.
type image struct {
	// Warm says that initialisation has run: an instance made from it is entered at once.
	Warm bool
	// Why says why it is not, when there is something to run.
	Why string
	// Size is how many bytes of memory there are.
	Size uint64
	// Globals are the values of the module's mutable globals, as rewrite.Info.Globals lists them, of a warm image.
	Globals []uint64
	// Runs are what is not zero.
	Runs []rewrite.Run

	backing backing

	once sync.Once
	name string // see identity
}

// pageBytes is the size of a page of guest memory.
const pageBytes = 64 << 10

// open makes the image ready for instances. close releases it; instances live on.
func (im *image) open(copies bool) error {
	var err error
	if im.backing, err = newBacking(im, copies); err != nil {
		return fmt.Errorf("image of a memory of %d bytes: %w", im.Size, err)
	}
	return nil
}

func (im *image) close() { im.backing.close() }

// backing is where the pages of an image are.
type backing interface {
	// reserve makes a memory that begins with the image and may grow to limit bytes.
	reserve(limit uint64) mapped
	close()
}

// mapped is one memory.
type mapped interface {
	// resize gives the first size bytes; what was not there before is zero.
	resize(size uint64) []byte
	// touched is how many bytes are this memory's own.
	touched() int64
	// fold gives those back and returns what unfold needs to write them again; nil when there is nothing to gain.
	// Nobody may use the memory in between.
	fold() []byte
	unfold(patch []byte)
	// differs returns what the memory has that its image has not, as a patch.
	differs(im *image) []byte
	free()
}

// copied is the backing that works everywhere: each instance has a copy.
type copied struct{ image *image }

func (c copied) close() {}

func (c copied) reserve(uint64) mapped {
	m := &copy1{b: make([]byte, c.image.Size)}
	c.image.fill(m.b)
	return m
}

// fill writes the image into zeros.
func (im *image) fill(b []byte) {
	for _, r := range im.Runs {
		copy(b[r.Offset:], r.Bytes)
	}
}

type copy1 struct{ b []byte }

func (m *copy1) resize(size uint64) []byte {
	if n := uint64(len(m.b)); size > n {
		m.b = append(m.b, make([]byte, size-n)...)
	}
	m.b = m.b[:size]
	return m.b
}

func (m *copy1) touched() int64 { return int64(len(m.b)) }

func (m *copy1) fold() []byte  { return nil }
func (m *copy1) unfold([]byte) {}

func (m *copy1) differs(im *image) []byte { return im.patchOf(m.b, nil, 0) }

func (m *copy1) free() { m.b = nil }

// blockBytes is the unit in which a memory is searched for what is not zero: a page of most processors.
const blockBytes = 4 << 10

// runsOf finds what is not zero in a memory, in whole blocks. The bytes are copies.
func runsOf(memory []byte) []rewrite.Run {
	var runs []rewrite.Run
	for at := 0; at < len(memory); at += blockBytes {
		block := memory[at : at+blockBytes]
		if zero(block) {
			continue
		}
		if n := len(runs) - 1; n >= 0 && int(runs[n].Offset)+len(runs[n].Bytes) == at {
			runs[n].Bytes = append(runs[n].Bytes, block...)
		} else {
			runs = append(runs, rewrite.Run{Offset: uint32(at), Bytes: append([]byte(nil), block...)})
		}
	}
	return runs
}

func zero(block []byte) bool {
	for _, b := range block {
		if b != 0 {
			return false
		}
	}
	return true
}
