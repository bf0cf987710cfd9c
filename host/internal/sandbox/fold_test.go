package sandbox

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"reprise/modules/rewrite"
)

// TestPatch: what is read of an image and a patch make the memory again, whatever was written to it.
func TestPatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		im := &image{Size: 4 * blockBytes}
		for at := 0; at < int(im.Size); at += 1 + rng.IntN(blockBytes) {
			run := rewrite.Run{Offset: uint32(at), Bytes: noise(rng, min(1+rng.IntN(2*blockBytes), int(im.Size)-at))}
			at += len(run.Bytes)
			im.Runs = append(im.Runs, run)
		}
		if !im.ordered() {
			t.Fatal("got runs out of order")
		}
		was := make([]byte, 6*blockBytes) // two blocks more than the image
		im.fill(was)
		memory := bytes.Clone(was)
		for range rng.IntN(20) {
			copy(memory[rng.IntN(len(memory)):], noise(rng, 1+rng.IntN(300)))
		}
		var patch []byte
		for at := 0; at < len(memory); at += blockBytes {
			block := noise(rng, blockBytes)
			im.read(block, at)
			if !bytes.Equal(block, was[at:at+blockBytes]) {
				t.Fatalf("block at %d: got something else than the image has", at)
			}
			patch = appendPatch(patch, memory[at:at+blockBytes], block, at)
		}
		applyPatch(was, patch)
		if !bytes.Equal(was, memory) {
			t.Fatal("got another memory after the patch")
		}
	}
	if (&image{Runs: []rewrite.Run{{Offset: 5, Bytes: []byte{1}}, {Offset: 5, Bytes: []byte{2}}}}).ordered() {
		t.Error("runs that overlap are called ordered")
	}
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestFoldedGuest: a guest whose memory was folded while it waited goes on as if nothing had been, also when it was more
// than once.
func TestFoldedGuest(t *testing.T) {
	for _, language := range stepGuests {
		if language == "go" && raceDetector {
			continue // compiled for a minute there, and folded in TestLiveInstances
		}
		t.Run(language, func(t *testing.T) {
			file, err := guestFile(language)
			if err != nil {
				t.Fatal(err)
			}
			e := newEngine(t, Config{})
			m, err := begin(t.Context(), e, file, fromShared)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					w, waits := steps(crowdSteps, int64(i)), 0
					w.held = func() {
						if waits++; waits < 3 {
							waitFor(t, func() bool { e.folder.look(); return e.folder.folded.Load() > 0 })
						}
					}
					if end := m.Run(t.Context(), w, ""); string(end.Output) != w.sum(crowdSteps) {
						t.Errorf("got %+v, want %s", end, w.sum(crowdSteps))
					}
				})
			}
			wg.Wait()
			if n := e.folder.folded.Load(); n != 0 {
				t.Errorf("got %d folded memories after the last guest ended, want none", n)
			}
		})
	}
}

func waitFor(t *testing.T, so func() bool) {
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("waited for a minute")
			return
		}
	}
}
