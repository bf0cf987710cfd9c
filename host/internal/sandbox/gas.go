package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules/rewrite"
)

// gasSlice is how much gas a guest gets at a time: about half a millisecond of computing. Between two slices
// the garbage collector and other goroutines get their turn, and a guest whose host may not go on is stopped.
const gasSlice = 1_000_000

// Exhausted says that a guest computed beyond a limit; it fails with it.
type Exhausted struct {
	Code   string
	Reason string
}

// Error is the text that the run's failure carries.
func (e *Exhausted) Error() string { return e.Reason }

// meter counts the gas of one instance. A stretch is what a guest computes between two things that it sees;
// how much that is follows from the module and its journal alone, so the limit is met at the same place
// in every replay, on every node.
type meter struct {
	left     api.MutableGlobal // in the guest: what is left of what was given
	given    int64             // since the stretch began
	spent    int64             // before the stretch began
	progress int64             // of the world, when the stretch began
}

// gas finds the guest's counter; nil for code that was not rewritten.
func (in *instance) gas(m api.Module) api.MutableGlobal {
	if in.meter.left == nil {
		in.meter.left, _ = m.ExportedGlobal(rewrite.ExportGas).(api.MutableGlobal)
	}
	return in.meter.left
}

// outOfGas is called by the guest when its slice is used up: it gets the next one, or is stopped.
func outOfGas(in *instance, m api.Module, _ []uint64) {
	left := int64(in.gas(m).Get())
	if in.freezing != nil {
		in.leaves(left)
		return
	}
	used, limits := in.meter.given-left, in.entry.Limits
	switch total := in.meter.spent + used; {
	case limits.Gas > 0 && used > limits.Gas:
		in.stop(&Exhausted{Code: abi.CodeOutOfGas, Reason: fmt.Sprintf("the guest computed for more than %d gas without waiting", limits.Gas)})
	case limits.RunGas > 0 && total > limits.RunGas:
		in.stop(&Exhausted{Code: abi.CodeOutOfGas, Reason: fmt.Sprintf("the guest computed for more than %d gas in all", limits.RunGas)})
	}
	if err := in.ctx.Err(); err != nil {
		in.stop(err)
	}
	in.yield()
	// What is missing was spent before it was asked for: the size of a bulk operation, say.
	more := in.affords(used) - left
	in.meter.given += more
	in.meter.left.Set(uint64(left + more))
}

// affords is the next slice of a guest that has used so much of its stretch: no more than takes it to a limit, so that
// it asks again when it is one beyond.
func (in *instance) affords(used int64) int64 {
	slice, limits := int64(gasSlice), in.entry.Limits
	if limits.Gas > 0 {
		slice = min(slice, limits.Gas-used)
	}
	if limits.RunGas > 0 {
		slice = min(slice, limits.RunGas-in.meter.spent-used)
	}
	return slice
}

// tooDeep is called by the guest when its calls are nested too deep.
func tooDeep(in *instance, _ api.Module, _ []uint64) {
	in.stop(&Exhausted{Code: abi.CodeCallDepth, Reason: "the guest's calls are nested too deep"})
}

// stretch begins a new stretch when the guest has seen something new.
func (in *instance) stretch(m api.Module) {
	progress := in.world.Progress()
	if g := in.gas(m); g != nil && progress != in.meter.progress {
		left := int64(g.Get())
		in.meter.spent += in.meter.given - left
		left = min(left, in.affords(0))
		g.Set(uint64(left))
		in.meter.progress, in.meter.given = progress, left
	}
}

// replaySlice is how many waits may be answered from the journal in one turn of computing: at about 2 us each as
// much as a slice of gas.
const replaySlice = 256

// outside runs a wait of the world, which may take any time, without a place to compute; then the guest sees what
// there is. A wait that the journal answers takes no time, and a long journal must not stand in line for each. It returns
// false when there is nothing to see, because the instance is to be frozen: then the import returns at once.
func (in *instance) outside(m api.Module, wait func() error) (seen bool) {
	if in.world.Replays() {
		err := wait()
		if errors.Is(err, ErrFreeze) && in.beginFreeze(m, err) {
			return false
		}
		in.check(err)
		if in.replayed++; in.replayed%replaySlice == 0 {
			in.yield()
		}
	} else {
		in.leave()
		in.rest()
		err := wait()
		in.wake()
		freeze := errors.Is(err, ErrFreeze)
		if !freeze {
			in.check(err)
		}
		if err := in.mod.engine.places.enter(in.ctx, in.entry.Tenant); err != nil {
			in.stop(err)
		}
		in.inside = true
		if freeze {
			if in.beginFreeze(m, err) {
				return false
			}
			in.stop(err)
		}
	}
	in.stretch(m)
	return true
}

// yield lets other guests compute first.
func (in *instance) yield() {
	if err := in.mod.engine.places.yield(in.ctx, in.entry.Tenant); err != nil {
		in.inside = false
		in.stop(err)
	}
}

// leave lets another guest compute.
func (in *instance) leave() {
	if in.inside {
		in.inside = false
		in.mod.engine.places.leave()
	}
}

// bindMeter instantiates the import module that rewritten code calls.
func bindMeter(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(rewrite.ImportModule)
	export(b, rewrite.ImportOutOfGas, outOfGas, nil, nil)
	export(b, rewrite.ImportTooDeep, tooDeep, nil, nil)
	bindFrames(b)
	_, err := b.Instantiate(ctx)
	return err
}
