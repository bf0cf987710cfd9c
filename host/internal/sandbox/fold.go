package sandbox

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reprise/modules/rewrite"
)

// foldEvery is how often memories are looked through for those of guests that wait. One that waits since the look before
// the last is folded, which is a second or two: folding and unfolding take about a tenth of a millisecond each, and pages
// that are written to must be copied again.
const foldEvery = time.Second

// folder folds the memories of guests that wait: a guest writes a few bytes here and there, and each makes a whole page
// its own. It has one goroutine, because guests need the processors more.
type folder struct {
	mu     sync.Mutex
	guests map[*instance]bool // that live
	looks  atomic.Int64
	rests  atomic.Int64 // waits that have begun
	folded atomic.Int64 // memories that are
	stop   chan struct{}
	done   sync.WaitGroup
}

// fold is what the folder knows of one guest.
type fold struct {
	mu      sync.Mutex
	resting bool
	since   int64        // the look after which it began to wait
	asked   bool         // to be frozen, in this wait
	began   atomic.Int64 // when it began to wait, as a time that only grows
	patch   []byte
}

func newFolder(budgets ...*budget) *folder {
	f := &folder{guests: map[*instance]bool{}, stop: make(chan struct{})}
	f.done.Go(func() {
		tick := time.NewTicker(foldEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f.look()
				f.serve(budgets...)
			case <-f.stop:
				return
			}
		}
	})
	return f
}

// close ends the folder; what is folded stays so until its guest wakes.
func (f *folder) close() {
	close(f.stop)
	f.done.Wait()
}

// add takes in a guest that has a memory; remove must be called before that is freed.
func (f *folder) add(in *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.guests[in] = true
}

func (f *folder) remove(in *instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.guests, in)
}

// look folds the memory of each guest that waits for long enough.
func (f *folder) look() {
	now := f.looks.Add(1)
	f.mu.Lock()
	waiting := make([]*instance, 0, len(f.guests))
	for in := range f.guests {
		waiting = append(waiting, in)
	}
	f.mu.Unlock()
	for _, in := range waiting {
		in.fold.mu.Lock()
		if in.fold.resting && in.fold.patch == nil && now-in.fold.since >= 2 {
			if in.fold.patch = in.linear.mapped.fold(); in.fold.patch != nil {
				f.folded.Add(1)
			}
		}
		in.fold.mu.Unlock()
	}
}

// rest lets the guest's memory be folded, until wake is called. Nothing reads or writes it meanwhile.
func (in *instance) rest() {
	if in.linear == nil {
		return
	}
	in.fold.mu.Lock()
	defer in.fold.mu.Unlock()
	folder := in.mod.engine.folder
	in.fold.resting, in.fold.since = true, folder.looks.Load()
	in.fold.began.Store(folder.rests.Add(1))
}

// wake brings back the memory as it was.
func (in *instance) wake() {
	if in.linear == nil {
		return
	}
	in.fold.mu.Lock()
	defer in.fold.mu.Unlock()
	in.fold.resting, in.fold.asked = false, false
	if in.fold.patch != nil {
		in.linear.mapped.unfold(in.fold.patch)
		in.fold.patch = nil
		in.mod.engine.folder.folded.Add(-1)
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
