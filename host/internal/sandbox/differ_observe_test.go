package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"reprise/abi"
	"reprise/modules"
	wasm "reprise/modules/binary"
	"reprise/modules/rewrite"
)

// guestCase is one execution that is observed wherever it can be.
type guestCase struct {
	Name  string // of the case
	File  string // of the module, a key of the corpus
	Kind  abi.EntryKind
	Entry string
	Input []byte
	Seed  uint64
	Gas   int64
}

// observation is everything that can be seen of an execution. It must not depend on the engine or the processor.
type observation struct {
	Code    string // digest of what was compiled
	Calls   []string
	Cause   string   `json:",omitempty"` // of a guest that its world stopped
	Failure string   `json:",omitempty"`
	Output  string   `json:",omitempty"`
	Memory  string   // pages and digest at the end
	Globals []string // exported, the gas among them
	// Shallow says that the engine had no room for the guest's calls, long before the guest's own limit. What it did until then
	// is what any engine does.
	Shallow bool `json:",omitempty"`
}

// transcript is what was said between a guest and its host, and the guest itself for as long as it lives.
type transcript struct {
	lines   []string
	mod     api.Module
	globals []string // names of the exported globals
	saw     *observation
}

func (t *transcript) line(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// short is bytes for people, or their digest when they are many.
func short(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
	}
	return fmt.Sprintf("%q", b)
}

type transcriptKey struct{}

// listener writes every call of an import into the transcript of its execution, with the gas left then. It listens to the
// host's functions only: the guests' own code is what it is in production.
type listener struct{}

func (listener) NewFunctionListener(api.FunctionDefinition) experimental.FunctionListener {
	return listener{}
}

func (listener) Before(ctx context.Context, m api.Module, def api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
	if t, ok := ctx.Value(transcriptKey{}).(*transcript); ok {
		t.mod = m
		t.line("%s%v gas %s", def.Name(), words(def.ParamTypes(), params), globalOf(m, rewrite.ExportGas))
	}
}

func (listener) After(ctx context.Context, _ api.Module, def api.FunctionDefinition, results []uint64) {
	if t, ok := ctx.Value(transcriptKey{}).(*transcript); ok && len(def.ResultTypes()) > 0 {
		t.line("= %v", words(def.ResultTypes(), results))
	}
}

func (listener) Abort(ctx context.Context, _ api.Module, def api.FunctionDefinition, _ error) {
	if t, ok := ctx.Value(transcriptKey{}).(*transcript); ok {
		t.line("%s does not return", def.Name())
	}
}

// words cuts off what means nothing of 32-bit values.
func words(types []api.ValueType, stack []uint64) []uint64 {
	out := slices.Clone(stack[:len(types)])
	for i, t := range types {
		if t == api.ValueTypeI32 {
			out[i] = uint64(uint32(out[i]))
		}
	}
	return out
}

func globalOf(m api.Module, name string) string {
	g := m.ExportedGlobal(name)
	if g == nil {
		return "?"
	}
	v := g.Get()
	if g.Type() == api.ValueTypeI32 || g.Type() == api.ValueTypeF32 {
		v = uint64(uint32(v))
	}
	return fmt.Sprintf("%#x", v)
}

// CloseNotify looks at the guest before it is gone.
func (t *transcript) CloseNotify(context.Context, uint32) {
	if t.mod == nil || t.saw.Memory != "" {
		return
	}
	if mem := t.mod.ExportedMemory("memory"); mem != nil {
		b, _ := mem.Read(0, mem.Size())
		t.saw.Memory = fmt.Sprintf("%d pages %x", len(b)>>16, sha256.Sum256(b))
	}
	for _, name := range t.globals {
		t.saw.Globals = append(t.saw.Globals, name+" "+globalOf(t.mod, name))
	}
}

// observer runs cases on one engine.
type observer struct {
	engine *Engine
	mods   map[string]*Module
}

func newObserver(cfg Config) (*observer, error) {
	e, err := New(experimental.WithFunctionListenerFactory(context.Background(), listener{}), cfg)
	if err != nil {
		return nil, err
	}
	return &observer{engine: e, mods: map[string]*Module{}}, nil
}

// observe runs a case. The file is what was uploaded.
func (o *observer) observe(c guestCase, file []byte) (*observation, error) {
	ctx := context.Background()
	m := o.mods[c.File]
	if m == nil {
		p, err := modules.Prepare(ctx, file)
		if err != nil {
			return nil, err
		}
		if m, err = o.engine.Load(ctx, p); err != nil {
			return nil, err
		}
		o.mods[c.File] = m
	}
	saw := &observation{Code: fmt.Sprintf("%x", sha256.Sum256(m.prepared.Code))}
	said := &transcript{saw: saw, globals: exportedGlobals(m.prepared.Code)}
	ctx = context.WithValue(ctx, transcriptKey{}, said)
	ctx = experimental.WithCloseNotifier(ctx, said)
	end := m.Run(ctx, newScriptWorld(Entry{Kind: c.Kind, Name: c.Entry, Input: c.Input, Info: []byte(`{"run_id":"r1","workflow":"w","attempt":1}`),
		Args: []string{"guest", "argument"}, Limits: abi.Limits{Gas: c.Gas}}, c.Seed, said), "")
	saw.Calls = said.lines
	return saw, saw.ended(end)
}

// ended takes over how an execution ended. It returns an error when the host is to blame.
func (s *observation) ended(end Ending) error {
	switch {
	case errors.Is(end.Cause, ErrInterpreterDepth):
		s.Shallow = true
	case end.Cause != nil && !errors.Is(end.Cause, errScriptEnds):
		return fmt.Errorf("the host stopped the guest: %w", end.Cause)
	case end.Cause != nil:
		s.Cause = end.Cause.Error()
	case end.Failure != nil:
		b, err := json.Marshal(end.Failure)
		if err != nil {
			return err
		}
		s.Failure = string(b)
	default:
		s.Output = short(end.Output)
	}
	return nil
}

// exportedGlobals are names under which the host can read a guest's globals.
func exportedGlobals(code []byte) (names []string) {
	m, err := wasm.Decode(code)
	if err != nil {
		return nil // what is compiled may have names that an upload may not
	}
	for _, e := range m.Exports {
		if e.Kind == wasm.Global {
			names = append(names, e.Name)
		}
	}
	return names
}
