package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// ErrFreeze is how World.Wait and World.Poll ask for the instance to be frozen where it waits: they return an error that
// wraps it. It comes back as Ending.Cause, with Ending.Frozen unless the instance could not be frozen after all; either
// way nothing of the instance is left.
var ErrFreeze = errors.New("the guest is to be frozen where it waits")

// ErrUnusable says that a Frozen does not belong to the module or is not what Run gave. Nothing has happened.
var ErrUnusable = errors.New("the frozen instance is of no use here")

// Frozen is an instance that was stopped in a wait, whole: Module.Thaw carries it on in another instance, in another
// process, on another processor. It is a value without ties to the instance, and belongs to one module, one image of it and
// one version of what is done to modules; it does not depend on the engine.
//
// The pending import is not answered when an instance is frozen. Thawing calls it again with the same arguments, on the
// same memory, and with the gas that there was before the call; so what it checks, costs and shows is what it would
// have been.
//
// How the guest's code comes back to the wait is the affair of the kind. For modules.FreezeGo all frames are in the memory.
// For modules.FreezeSuspend the guest saves its frames as words when the wait tells it to, which are Frames, and takes them
// back when its entry is called again; the wait that it then reaches is the pending import. What a kind adds goes
// into fields here, and into beginFreeze and thaw, which switch by it.
type Frozen struct {
	Kind modules.FreezeKind
	// Image is the identity of the image that Patch is relative to, in hex.
	Image string
	// Export is the function that the run is inside of.
	Export string
	// Size is the memory's in bytes, Patch what it has that the image has not: stretches of an offset and a length as 32 bits
	// each, little-endian, and as many bytes, in ascending order.
	Size  uint64
	Patch []byte
	// Globals are the values of the module's mutable globals, as rewrite.Info.Globals lists them.
	Globals []uint64
	// Frames is the guest's stack, of FreezeSuspend: words as the guest saved them, innermost frame first.
	Frames []uint64
	// Import is the pending import as module.name, Args what it was called with.
	Import string
	Args   []uint64
	Gas    FrozenGas
	Held   FrozenHost
}

// FrozenGas is what the meter said when the pending import was called.
type FrozenGas struct {
	Left     int64 // before the call was paid
	Given    int64 // since the stretch began
	Spent    int64 // before the stretch began
	Progress int64 // of the world, when the stretch began
	// Unwound is what the guest pays, once the import has returned, on its way out of the calls around it.
	Unwound int64
}

// FrozenHost is what the host holds for an instance.
type FrozenHost struct {
	Output, Failure       []byte
	OutputSet, FailureSet bool
	Next                  []byte
	NextSet               bool
	Stdin                 int64 // bytes of the input that were read
	Stdout, Stderr        FrozenStream
	Result                []byte // stdout of a guest that does not know output
	Tail                  []byte // last bytes of stderr
}

// FrozenStream is the unfinished line of a stream.
type FrozenStream struct {
	Line []byte
	Cut  bool
}

// pending is the import that waits: what freezing needs to know of its call.
type pending struct {
	name string
	args []uint64
	// left is the gas before it was paid, given what the stretch had been given.
	left, given int64
}

// freezing is the state of an instance that is on its way out of its calls.
type freezing struct {
	why  error // of the world
	sp   uint64
	used int64 // gas of the stretch, when it began
	// large says that the guest has more frames than are saved: this time it is not frozen.
	large bool
}

// mayWait makes a function of the host one that an instance can be frozen in. Of an i32 the upper half is cut off, so
// that the same call gives the same arguments.
func mayWait(module, name string, params []api.ValueType, fn hostFunc) hostFunc {
	name = module + "." + name
	return func(in *instance, m api.Module, st []uint64) {
		p := &in.pending
		p.name, p.args, p.left, p.given = name, append(p.args[:0], st[:len(params)]...), 0, in.meter.given
		for i, t := range params {
			if t == api.ValueTypeI32 {
				p.args[i] = uint64(u32(p.args[i]))
			}
		}
		if g := in.gas(m); g != nil {
			p.left = int64(g.Get())
		}
		fn(in, m, st)
	}
}

// Freezable returns nil when an instance that was entered by a function can be frozen, and why not when it cannot. An
// empty export is the module's own entry.
func (m *Module) Freezable(export string) error {
	switch f := m.prepared.Freeze; {
	case m.strays.Load():
		return errors.New("its code did not leave the calls around a wait")
	case f.Kind == modules.FreezeGo:
		_, err := m.goEntry(m.entryName(export))
		return err
	case f.Kind == modules.FreezeSuspend:
		return m.suspendable(m.entryName(export))
	default:
		return fmt.Errorf("%s: %s", f.Kind, f.Reason)
	}
}

// beginFreeze asks the guest to leave the calls around the wait, when it can; the import must return then, and whatever it
// returns is not looked at.
func (in *instance) beginFreeze(m api.Module, why error) bool {
	if in.thawing != nil {
		in.freezing = &freezing{why: why} // it has not come back to its code yet
		return true
	}
	if in.mod.Freezable(in.export) != nil {
		return false
	}
	f := in.mod.prepared.Freeze.Go
	if f == nil {
		in.freezing = &freezing{why: why}
		stateOf(m).Set(rewrite.StateUnwinds)
		return true
	}
	in.freezing = &freezing{why: why, sp: in.global(m, f.SP).Get(), used: in.stretchUsed()}
	in.global(m, f.Pause).Set(1)
	return true
}

func (in *instance) stretchUsed() int64 {
	if in.meter.left == nil {
		return 0
	}
	return in.meter.given - int64(in.meter.left.Get())
}

// global finds a mutable global of the module by its index. Its export is there: Freezable has looked.
func (in *instance) global(m api.Module, index uint32) api.MutableGlobal {
	return m.ExportedGlobal(fmt.Sprint(rewrite.ExportGlobal, index)).(api.MutableGlobal)
}

// maxUnwound bounds what a guest may compute on its way out of its calls: a frame pays a unit or two.
const maxUnwound = gasSlice

// leaves gives gas to a guest that is on its way out; whose limit it counts against is seen when it has come back.
func (in *instance) leaves(left int64) {
	if in.stretchUsed()-in.freezing.used > maxUnwound {
		in.strays()
	}
	in.meter.given += gasSlice - left
	in.meter.left.Set(gasSlice)
}

// strays stops a guest that is to leave its calls and does something else. It was not recognised for what it is; it is
// not frozen again.
func (in *instance) strays() {
	in.mod.strays.Store(true)
	in.stop(in.freezing.why)
}

// frozen takes what the guest has left behind. err is how its calls came back.
func (in *instance) frozen(m api.Module, err error) Ending {
	if err != nil {
		if !in.freezing.large && !in.mod.engine.closed.Load() {
			in.mod.strays.Store(true)
		}
		return Ending{Cause: errors.Join(in.freezing.why, err)}
	}
	fz := &Frozen{Kind: in.mod.prepared.Freeze.Kind, Image: in.image.identity(), Export: in.export, Import: in.pending.name, Args: slices.Clone(in.pending.args)}
	for _, name := range in.mod.globals {
		fz.Globals = append(fz.Globals, m.ExportedGlobal(name).Get())
	}
	fz.Gas = FrozenGas{Left: in.pending.left, Given: in.pending.given, Spent: in.meter.spent, Progress: in.meter.progress}
	if f := in.mod.prepared.Freeze.Go; f != nil {
		at := slices.Index(in.mod.prepared.Rewritten.Globals, f.SP)
		fz.Globals[at] = in.freezing.sp // the wrapper of the entry has moved it
		fz.Gas.Unwound = in.stretchUsed() - in.freezing.used
	}
	fz.Frames = slices.Clone(in.words)
	fz.Held = in.held()
	fz.Size = uint64(memory(m).Size())
	if in.linear != nil {
		fz.Patch = in.linear.mapped.differs(in.image)
	}
	return Ending{Cause: in.freezing.why, Frozen: fz}
}

// held copies what the host holds for the instance.
func (in *instance) held() FrozenHost {
	return FrozenHost{Output: slices.Clone(in.output), Failure: slices.Clone(in.failure), OutputSet: in.outputSet, FailureSet: in.failureSet, Next: slices.Clone(in.next), NextSet: in.nextSet, Stdin: int64(in.stdin),
		Stdout: FrozenStream{slices.Clone(in.stdout.line), in.stdout.cut}, Stderr: FrozenStream{slices.Clone(in.stderr.line), in.stderr.cut},
		Result: slices.Clone(in.result), Tail: slices.Clone(in.tail)}
}

// hold is held's other direction.
func (in *instance) hold(h FrozenHost) error {
	if h.Stdin < 0 || h.Stdin > int64(len(in.entry.Input)) || len(h.Stdout.Line) > abi.MaxLogLine || len(h.Stderr.Line) > abi.MaxLogLine {
		return fmt.Errorf("%w: its streams are not those of the run", ErrUnusable)
	}
	in.output, in.failure, in.outputSet, in.failureSet, in.stdin = slices.Clone(h.Output), slices.Clone(h.Failure), h.OutputSet, h.FailureSet, int(h.Stdin)
	in.next, in.nextSet = slices.Clone(h.Next), h.NextSet
	in.stdout, in.stderr = stream{line: slices.Clone(h.Stdout.Line), cut: h.Stdout.Cut}, stream{line: slices.Clone(h.Stderr.Line), cut: h.Stderr.Cut}
	in.result, in.tail = slices.Clone(h.Result), slices.Clone(h.Tail)
	return nil
}
