package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"

	"reprise/modules"
)

// ErrInterpreterDepth says that a guest's calls were nested deeper than the interpreter has room for, and not as deep as the
// guest may go: this host cannot run it so. It is nobody's failure; where the module is compiled it goes on.
var ErrInterpreterDepth = errors.New("the interpreter holds about 2,000 nested calls, and the guest makes more")

// interpreter is the second runtime of an engine, for the modules that are not to be compiled. It is made for the first of
// them.
type interpreter struct {
	mu sync.Mutex
	rt wazero.Runtime
}

func interpreterConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigInterpreter().WithCloseOnContextDone(true)
}

// interpreterOf returns the runtime for a module that is not to be compiled, and nil for any other.
func (e *Engine) interpreterOf(ctx context.Context, d modules.Digest) (wazero.Runtime, error) {
	if e.cfg.Interpret {
		return e.rt, nil
	}
	if !slices.Contains(e.cfg.Interpreted, d) {
		return nil, nil
	}
	e.slow.mu.Lock()
	defer e.slow.mu.Unlock()
	if e.closed.Load() {
		return nil, errClosed
	}
	if e.slow.rt == nil {
		rt, err := newRuntime(ctx, interpreterConfig())
		if err != nil {
			return nil, err
		}
		e.slow.rt = rt
	}
	return e.slow.rt, nil
}

func (i *interpreter) close(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rt == nil {
		return nil
	}
	return i.rt.Close(ctx)
}

// Interpreted says that the module is run by interpreter.
func (m *Module) Interpreted() bool { return m.interpreted != nil }

// runtime is where instances of the module live.
func (m *Module) runtime() wazero.Runtime {
	if m.interpreted != nil {
		return m.interpreted
	}
	return m.engine.rt
}

// overflowed says that a guest ended because the interpreter had no room for its calls. The bound on the depth of calls is
// far below what compiled code has room for, so there it never says so.
func (m *Module) overflowed(err error) bool {
	return m.interpreted != nil && trapOf(err) == "stack overflow"
}
