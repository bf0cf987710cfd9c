package sandbox

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"reprise/modules/rewrite"
)

// TestFold: folding takes all pages that are a memory's own, and unfolding brings them back.
func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	im := &image{Size: 4 * pageBytes, Runs: []rewrite.Run{{Offset: 100, Bytes: noise(rng, 2*pageBytes)}}}
	if err := im.open(false); err != nil {
		t.Fatal(err)
	}
	defer im.close()
	memory, ok := im.backing.reserve(16 * pageBytes).(*private)
	if !ok {
		t.Fatal("got a copy, want pages that are shared")
	}
	defer memory.free()
	b := memory.resize(8 * pageBytes)
	if got := memory.fold(); got != nil {
		t.Errorf("got a patch of %d bytes of a memory that nobody has written to", len(got))
	}
	for range 40 {
		copy(b[rng.IntN(len(b)-16):], noise(rng, 16))
	}
	want := bytes.Clone(b)
	before := memory.touched()
	patch := memory.fold()
	if n := memory.touched(); n != 0 || before == 0 || len(patch) == 0 {
		t.Errorf("got %d bytes of its own, %d before, and a patch of %d, want none", n, before, len(patch))
	}
	bare := make([]byte, len(b))
	im.fill(bare)
	if !bytes.Equal(b, bare) {
		t.Error("got something else than the image while it is folded")
	}
	memory.unfold(patch)
	if !bytes.Equal(b, want) {
		t.Error("got another memory after it was unfolded")
	}
	// A memory that is written to all over is left as it is.
	copy(b, noise(rng, len(b)))
	want = bytes.Clone(b)
	if patch := memory.fold(); patch != nil || !bytes.Equal(b, want) {
		t.Errorf("got a patch of %d bytes, want none", len(patch))
	}
	memory.free()
	memory.unfold(patch) // of a memory that is gone
}
