package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"reprise/modules/rewrite"
)

// Guests that save their frames, modules.FreezeSuspend: what rewriting put into their code calls here for each word of a
// frame. A guest that is thawed is entered as it was at its begin; it comes back to its pending import through the calls
// around it, and until then nothing but words of its frames passes between it and the host.

// maxWords bounds the words of a Frozen's frames: three milliseconds of saving or loading, which no other guest can
// interrupt, and thousands of calls that are nested. The depth of calls alone would allow for ten times as much.
const maxWords = 1 << 16

// suspendable says whether the entry of such a guest can be frozen.
func (m *Module) suspendable(export string) error {
	switch {
	case m.prepared.Rewritten.SavingFunctions == 0:
		return errors.New("no function can reach a wait")
	case !m.prepared.Entry(export):
		return fmt.Errorf("the function %.60q is not one that can be carried on", export)
	}
	return nil
}

// stateOf is what tells the guest to leave its calls, or to come back to them.
func stateOf(m api.Module) api.MutableGlobal {
	return m.ExportedGlobal(rewrite.ExportState).(api.MutableGlobal)
}

// bindFrames adds the imports through which frames go.
func bindFrames(b wazero.HostModuleBuilder) {
	word := []api.ValueType{api.ValueTypeI64}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(saveWord), word, nil).Export(rewrite.ImportSave)
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(loadWord), nil, word).Export(rewrite.ImportLoad)
}

// saveWord is called while the guest leaves its calls.
func saveWord(ctx context.Context, _ api.Module, st []uint64) {
	in := instanceOf(ctx)
	switch {
	case in.freezing == nil: // one that was thawed with frames that are none of its own
		in.stop(errStrayed)
	case len(in.words) >= maxWords:
		in.freezing.large = true
		in.stop(in.freezing.why)
	}
	in.words = append(in.words, st[0])
}

// loadWord is called while the guest comes back to its pending import.
func loadWord(ctx context.Context, _ api.Module, st []uint64) {
	in := instanceOf(ctx)
	n := len(in.words)
	if !in.rewinds || n == 0 {
		in.stop(errStrayed)
	}
	st[0] = in.words[n-1]
	in.words = in.words[:n-1]
}

// errStrayed says that a guest did not come back to where it was frozen.
var errStrayed = fmt.Errorf("%w: its frames are damaged", ErrUnusable)

// rewind enters a guest whose memory and globals are those of the frozen one, and lets it run.
func (in *instance) rewind(inst api.Module) ([]uint64, error) {
	in.words, in.rewinds = slices.Clone(in.thawing.Frames), true
	stateOf(inst).Set(rewrite.StateRewinds)
	results, err := inst.ExportedFunction(in.export).Call(in.ctx)
	if in.rewinds && !in.mod.engine.closed.Load() {
		in.cause = errStrayed // also when it trapped: what was frozen there did not
		if err == nil {
			err = errStrayed
		}
	}
	return results, err
}

// arrives is called with the first import that a thawed guest calls: it is the one that was pending, with the same
// arguments and all frames taken back. From here on the guest runs as any other.
func (in *instance) arrives(m api.Module, name string, st []uint64) {
	f := in.thawing
	if len(in.words) > 0 || !strings.HasSuffix(f.Import, "."+name) || len(st) < len(f.Args) {
		in.stop(errStrayed)
	}
	for i, t := range waits[f.Import].types {
		if v := st[i]; v != f.Args[i] && (t != api.ValueTypeI32 || uint64(u32(v)) != f.Args[i]) {
			in.stop(errStrayed)
		}
	}
	in.thawing, in.rewinds = nil, false
	stateOf(m).Set(rewrite.StateRuns)
}
