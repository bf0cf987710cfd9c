package sandbox

import (
	"reprise/host/internal/checkpoint"
	"reprise/modules"
)

// AppendTo writes the frozen instance as fields of a checkpoint. The same instance always gives the same bytes.
func (f *Frozen) AppendTo(w *checkpoint.Writer) {
	w.String(string(f.Kind))
	w.String(f.Image)
	w.String(f.Export)
	w.Uint(f.Size)
	w.Bytes(f.Patch)
	w.Words(f.Globals)
	w.Words(f.Frames)
	w.String(f.Import)
	w.Words(f.Args)
	g := f.Gas
	for _, v := range []int64{g.Left, g.Given, g.Spent, g.Progress, g.Unwound} {
		w.Int(v)
	}
	h := f.Held
	w.Bool(h.OutputSet)
	w.Bytes(h.Output)
	w.Bool(h.FailureSet)
	w.Bytes(h.Failure)
	w.Bool(h.NextSet)
	w.Bytes(h.Next)
	w.Int(h.Stdin)
	for _, s := range []FrozenStream{h.Stdout, h.Stderr} {
		w.Bytes(s.Line)
		w.Bool(s.Cut)
	}
	w.Bytes(h.Result)
	w.Bytes(h.Tail)
}

// ReadFrozen reads what AppendTo wrote; the reader knows whether it could. What the values mean is looked at when they
// are used. They share memory with the fields.
func ReadFrozen(r *checkpoint.Reader) *Frozen {
	f := &Frozen{Kind: modules.FreezeKind(r.String()), Image: r.String(), Export: r.String(), Size: r.Uint(), Patch: r.Bytes(), Globals: r.Words(), Frames: r.Words(),
		Import: r.String(), Args: r.Words(), Gas: FrozenGas{Left: r.Int(), Given: r.Int(), Spent: r.Int(), Progress: r.Int(), Unwound: r.Int()}}
	h := &f.Held
	h.OutputSet, h.Output = r.Bool(), r.Bytes()
	h.FailureSet, h.Failure = r.Bool(), r.Bytes()
	h.NextSet, h.Next = r.Bool(), r.Bytes()
	h.Stdin = r.Int()
	for _, s := range []*FrozenStream{&h.Stdout, &h.Stderr} {
		s.Line, s.Cut = r.Bytes(), r.Bool()
	}
	h.Result, h.Tail = r.Bytes(), r.Bytes()
	return f
}
