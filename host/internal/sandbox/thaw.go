package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// Thaw carries a frozen instance on in a new one: the pending import is called, and then the guest goes on, to its end or
// until it is frozen again. Returns ErrUnusable as the Cause of an Ending when that was not possible; then the World has
// not been asked for anything. A Frozen may be thawed any number of times.
func (m *Module) Thaw(ctx context.Context, w World, f *Frozen) Ending {
	if err := m.usable(f); err != nil {
		return Ending{Cause: err}
	}
	return m.execute(ctx, w, &instance{export: f.Export, thawing: f})
}

// usable looks whether a Frozen is one of the module's. What it says is not trusted: it may come from a damaged store.
func (m *Module) usable(f *Frozen) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrUnusable, fmt.Sprintf(format, args...))
	}
	if err := m.Freezable(f.Export); err != nil {
		return refuse("%s", err)
	}
	switch {
	case f.Kind != m.prepared.Freeze.Kind:
		return refuse("it is frozen as %.20q, the module as %s", f.Kind, m.prepared.Freeze.Kind)
	case f.Image != m.image.identity():
		return refuse("it belongs to another image")
	case len(f.Globals) != len(m.globals):
		return refuse("it has %d globals of %d", len(f.Globals), len(m.globals))
	case f.Size < m.image.Size || f.Size%pageBytes != 0 || f.Size > modules.MaxMemoryPages*pageBytes:
		return refuse("a memory of %d bytes", f.Size)
	case f.Gas.Left > gasSlice:
		return refuse("%d gas left", f.Gas.Left)
	case len(f.Frames) > maxWords:
		return refuse("frames of %d words", len(f.Frames))
	case !patchFits(f.Patch, f.Size):
		return refuse("its memory is damaged")
	case len(f.Args) != len(waits[f.Import].types):
		return refuse("%d arguments of %.60q", len(f.Args), f.Import)
	}
	return nil
}

// waits are the imports that an instance can be frozen in, by module.name.
var waits = map[string]struct {
	call  hostFunc
	types []api.ValueType
}{
	abi.Module + ".wait":            {wait, []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeI32, api.ValueTypeI32}},
	abi.WASIModule + ".poll_oneoff": {errnoOf(pollOneoff), []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32}},
}

// goEntry finds what carrying on inside an exported function takes.
func (m *Module) goEntry(export string) (modules.GoEntry, error) {
	f := m.prepared.Freeze.Go
	if m.prepared.Shape == modules.Command && export == abi.ExportStart {
		return modules.GoEntry{Export: export, Function: f.Start}, nil
	}
	i := slices.IndexFunc(f.Entries, func(e modules.GoEntry) bool { return e.Export == export })
	if i < 0 {
		return modules.GoEntry{}, fmt.Errorf("the function %.60q is not one that can be carried on", export)
	}
	return f.Entries[i], nil
}

// thaw makes a new instance what the frozen one was and lets it run. The results are those of the function that it is inside of.
func (in *instance) thaw(inst api.Module) ([]uint64, error) {
	if err := in.restore(inst, in.thawing); err != nil {
		in.cause = err
		return nil, err
	}
	in.running = true
	if in.thawing.Kind == modules.FreezeSuspend {
		return in.rewind(inst)
	}
	result, err := in.answer(inst, in.thawing)
	if err != nil || in.freezing != nil {
		return nil, err
	}
	return in.resumeGo(inst, in.thawing, result)
}

// restore writes memory and globals, what the host held, and the gas.
func (in *instance) restore(inst api.Module, f *Frozen) error {
	held := f.Held
	if in.asks {
		held = FrozenHost{} // what it says from here on is the answer
	}
	if err := in.hold(held); err != nil {
		return err
	}
	if err := in.recall(inst, f); err != nil {
		return err
	}
	in.meter.given, in.meter.spent, in.meter.progress = f.Gas.Given, f.Gas.Spent, f.Gas.Progress
	if g := in.gas(inst); g != nil {
		g.Set(uint64(f.Gas.Left))
	}
	return nil
}

// recall writes memory and globals.
func (in *instance) recall(inst api.Module, f *Frozen) error {
	mem := memory(inst)
	if missing := f.Size - uint64(mem.Size()); missing > 0 {
		in.restoring = true // it was admitted with this
		_, ok := mem.Grow(uint32(missing / pageBytes))
		if in.restoring = false; !ok {
			return fmt.Errorf("%w: the run's memory may not have %d bytes", ErrUnusable, f.Size)
		}
	}
	view, _ := mem.Read(0, uint32(f.Size))
	applyPatch(view, f.Patch)
	for i, v := range f.Globals {
		inst.ExportedGlobal(in.mod.globals[i]).(api.MutableGlobal).Set(v)
	}
	return nil
}

// answer calls the pending import. It may stop the guest as it may inside one.
func (in *instance) answer(inst api.Module, f *Frozen) (result uint64, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("host function: %w", p)
			in.cause = err
		case error:
			err = p
		default:
			panic(p)
		}
	}()
	module, name, _ := strings.Cut(f.Import, ".")
	w := waits[f.Import]
	stack := slices.Clone(f.Args)
	mayWait(module, name, w.types, paid(w.call))(in, inst, stack)
	return stack[0], nil
}

// resumeGo stores the import's result where its wrapper in the guest would have, and enters the loop that calls what
// the stack says.
func (in *instance) resumeGo(inst api.Module, f *Frozen, result uint64) ([]uint64, error) {
	frames := in.mod.prepared.Freeze.Go
	at := slices.IndexFunc(frames.Points, func(p modules.GoPoint) bool { return p.Import == f.Import })
	sp := in.global(inst, frames.SP)
	if at < 0 || !put(inst, uint32(sp.Get())+frames.Points[at].ResultAt, result, frames.Points[at].ResultBytes) {
		in.cause = fmt.Errorf("%w: its stack pointer is outside memory", ErrUnusable)
		return nil, in.cause
	}
	sp.Set(uint64(uint32(sp.Get()) + 8)) // the wrapper's return address
	entry, _ := in.mod.goEntry(f.Export)
	loop, args := inst.ExportedFunction(rewrite.ExportLoop), []uint64(nil)
	if entry.Export != abi.ExportStart {
		loop, args = inst.ExportedFunction(rewrite.ExportLoopExport), []uint64{uint64(entry.StopPC)}
	}
	if err := in.passOver(inst, loop, args, f.Gas.Unwound); err != nil {
		return nil, err
	}
	if g, ok := inst.ExportedGlobal(rewrite.ExportDepth).(api.MutableGlobal); ok {
		g.Set(uint64(uint32(int32(g.Get()) - in.mod.prepared.Rewritten.Units[entry.Function])))
	}
	in.thawing = nil
	if _, err := loop.Call(in.ctx, args...); err != nil || in.freezing != nil || !entry.HasResult {
		return nil, err
	}
	return take(inst, uint32(sp.Get())+entry.ResultAt, entry.ResultBytes)
}

// passOver pays what the guest would have paid on its way from the wait to where the loop goes on, and not what entering
// the loop once more costs: that is found by entering it when it is told to return at once.
func (in *instance) passOver(inst api.Module, loop api.Function, args []uint64, unwound int64) error {
	left := in.gas(inst)
	if left == nil {
		return nil
	}
	has := int64(left.Get())
	left.Set(gasSlice)
	in.global(inst, in.mod.prepared.Freeze.Go.Pause).Set(1)
	if _, err := loop.Call(in.ctx, args...); err != nil {
		return err
	}
	entering := gasSlice - int64(left.Get())
	left.Set(uint64(has + entering - unwound))
	return nil
}

// put stores the low bytes of a word in a guest's memory.
func put(m api.Module, at uint32, v uint64, bytes int) bool {
	b := binary.LittleEndian.AppendUint64(nil, v)
	return memory(m).Write(at, b[:bytes])
}

// take reads an i32 that has so many bytes there.
func take(m api.Module, at uint32, bytes int) ([]uint64, error) {
	var b [8]byte
	view, ok := memory(m).Read(at, uint32(bytes))
	if !ok {
		return nil, fmt.Errorf("%w: its result is outside memory", ErrUnusable)
	}
	copy(b[:], view)
	return []uint64{binary.LittleEndian.Uint64(b[:])}, nil
}
