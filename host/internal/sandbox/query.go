package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
	"reprise/modules"
	"reprise/modules/rewrite"
)

// ErrAnswered is what a query's World stops a program with that was asked by its completion descriptor, when it waits again.
var ErrAnswered = errors.New("the program has had its chance to answer")

// ErrNoQueries says that a module's runs cannot be asked, and why.
var ErrNoQueries = errors.New("the module answers no queries")

// Queryable returns nil when copies of frozen instances of the module can answer queries, and else an ErrNoQueries.
func (m *Module) Queryable() error {
	switch f := m.prepared.Freeze; {
	case f.Kind == modules.FreezeGo:
		return nil // whether it has handlers is seen when it is asked
	case !m.prepared.Entry(abi.ExportQuery):
		return fmt.Errorf("%w: it exports no function %s", ErrNoQueries, abi.ExportQuery)
	case f.Kind != modules.FreezeSuspend:
		return fmt.Errorf("%w: its runs cannot be copied: %s", ErrNoQueries, f.Reason)
	}
	return nil
}

// Query lets a copy of a frozen instance answer. The copy has its memory and globals, and abi.ExportQuery is entered as if the
// wait had called it: above the frames that wait, which stay where they are in the memory, and to which nothing returns. Gas and call
// depth are those of w's entry. Afterwards the copy is gone; f is as it was.
//
// A Go program's functions cannot be entered while its scheduler waits. A copy of one is carried on instead, as if something had completed: w
// has a completion to Take, abi.QueryHandle, and stops the program with ErrAnswered when it waits again. Returns ErrNoQueries and ErrUnusable as the Cause of an Ending.
func (m *Module) Query(ctx context.Context, w World, f *Frozen) Ending {
	err := m.Queryable()
	if err == nil {
		err = m.usable(f)
	}
	if err != nil {
		return Ending{Cause: err}
	}
	if m.prepared.Freeze.Kind == modules.FreezeGo {
		if f.Import != abi.WASIModule+".poll_oneoff" {
			return Ending{Cause: fmt.Errorf("%w now: the program has called wait itself, and does not look at its descriptor", ErrNoQueries)}
		}
		return m.execute(ctx, w, &instance{export: f.Export, thawing: f, asks: true})
	}
	return m.execute(ctx, w, &instance{export: abi.ExportQuery, asked: f})
}

// answered is the ending of a program that was asked and waits again.
func (in *instance) answered() Ending {
	switch {
	case in.failureSet:
		return in.failed(abi.DecodeFailure(in.failure), nil)
	case in.outputSet:
		return Ending{Output: in.output}
	}
	return in.failed(abi.NewFailure(abi.CodeNoOutput, "the program did not answer: it handles no queries, or the handler waits for something"), nil)
}

// answerQuery makes a new instance what the frozen one was, and enters its query function.
func (in *instance) answerQuery(inst api.Module) ([]uint64, error) {
	if err := in.recall(inst, in.asked); err != nil {
		in.cause = err
		return nil, err
	}
	stateOf(inst).Set(rewrite.StateRuns)
	if g := in.gas(inst); g != nil {
		g.Set(0) // it asks for its first slice
	}
	if g, ok := inst.ExportedGlobal(rewrite.ExportDepth).(api.MutableGlobal); ok && in.entry.Limits.Depth > 0 {
		g.Set(uint64(uint32(in.entry.Limits.Depth)))
	}
	in.running = true
	return inst.ExportedFunction(abi.ExportQuery).Call(in.ctx)
}
