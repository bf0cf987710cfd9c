package sandbox

import (
	"context"
	"testing"

	"reprise/abi"
	"reprise/host/internal/checkpoint"
)

// pausing is an adder that asks for its guest at every wait from one on.
type pausing struct {
	*adder
	from, waits int
	answers     bool // the guest was thawed in this wait
}

func (p *pausing) Poll(q Poll) (completion, timedOut bool, err error) {
	if p.waits++; p.waits >= p.from && !p.answers {
		p.answers = true
		return false, false, ErrFreeze
	}
	p.answers = false
	return p.adder.Poll(q)
}

// BenchmarkFrozen freezes a Go program in the middle of its run, packs it, and carries it on to its next wait.
func BenchmarkFrozen(b *testing.B) {
	ctx := context.Background()
	e, err := New(ctx, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(ctx)
	file, err := guestFile("go")
	if err != nil {
		b.Fatal(err)
	}
	m, err := begin(ctx, e, file, fromShared)
	if err != nil {
		b.Fatal(err)
	}
	world := &pausing{adder: steps(1<<40, 1), from: 500}
	world.entry.Limits = abi.DefaultLimits()
	end := m.Run(ctx, world, "")
	p := checkpoint.NewPacker()
	seal := func(f *Frozen) []byte {
		var w checkpoint.Writer
		f.AppendTo(&w)
		sealed, err := p.Seal(w.Fields())
		if err != nil {
			b.Fatal(err)
		}
		return sealed
	}
	b.Run("thawed and frozen", func(b *testing.B) {
		for b.Loop() {
			if end = m.Thaw(ctx, world, end.Frozen); end.Frozen == nil {
				b.Fatalf("got %+v", end)
			}
		}
	})
	b.Run("packed", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(len(seal(end.Frozen))), "bytes")
		}
		b.ReportMetric(float64(len(end.Frozen.Patch)), "before")
	})
	sealed := seal(end.Frozen)
	b.Run("unpacked", func(b *testing.B) {
		for b.Loop() {
			fields, err := p.Open(sealed)
			if err != nil {
				b.Fatal(err)
			}
			ReadFrozen(checkpoint.NewReader(fields))
		}
	})
}
