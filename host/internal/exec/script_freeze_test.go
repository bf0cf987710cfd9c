package exec

import (
	"context"
	"maps"
	"slices"

	"reprise/abi"
	"reprise/host/internal/checkpoint"
	"reprise/host/internal/sandbox"
)

// A script is frozen between two instructions: the one that waits is carried out again, and has done nothing before it
// waits. What the guest knows stands for its memory.

func (s script) Freezable(string) error { return nil }

func (s script) Thaw(_ context.Context, w sandbox.World, f *sandbox.Frozen) sandbox.Ending {
	return s.play(thawScripted(w, f))
}

func (g *guest) freeze() *sandbox.Frozen {
	var w checkpoint.Writer
	w.Int(int64(g.at))
	w.Uint(g.hash)
	w.Bool(g.aware)
	w.Uint(uint64(len(g.handles)))
	for _, h := range g.handles {
		w.Int(int64(h))
		w.Int(int64(g.seen[h]))
	}
	w.Uint(uint64(len(g.shown)))
	for _, key := range slices.Sorted(maps.Keys(g.shown)) {
		w.String(key)
		w.String(g.shown[key])
	}
	return &sandbox.Frozen{Kind: "script", Patch: w.Fields()}
}

func thawScripted(world sandbox.World, f *sandbox.Frozen) *guest {
	g := newScripted(world)
	r := checkpoint.NewReader(f.Patch)
	g.at, g.hash, g.aware = int(r.Int()), r.Uint(), r.Bool()
	for range r.Count(2) {
		h := int32(r.Int())
		g.handles = append(g.handles, h)
		g.seen[h] = abi.Status(r.Int())
	}
	for range r.Count(2) {
		key := r.String()
		g.shown[key] = r.String()
	}
	if err := r.Done(); err != nil {
		panic(err)
	}
	return g
}
