package rewrite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"reprise/modules/binary"
)

// freezer runs modules whose import env.f is a wait, and freezes them in it.
type freezer struct {
	machine
	frames  []uint64
	freeze  func(call int) bool
	frozen  bool // the newest call of env.f froze
	freezes int
}

func newFreezer(t testing.TB, engine string) *freezer {
	ctx := context.Background()
	z := &freezer{}
	z.rt = wazero.NewRuntimeWithConfig(ctx, engines[engine])
	t.Cleanup(func() { _ = z.rt.Close(ctx) })
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err := z.rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(z.wait), i32, i32).Export("f").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop := func(err error) api.GoModuleFunc { return func(context.Context, api.Module, []uint64) { panic(err) } }
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err = z.rt.NewHostModuleBuilder(ImportModule).
		NewFunctionBuilder().WithGoModuleFunction(stop(errOutOfGas), nil, nil).Export(ImportOutOfGas).
		NewFunctionBuilder().WithGoModuleFunction(stop(errTooDeep), nil, nil).Export(ImportTooDeep).
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(z.save), i64, nil).Export(ImportSave).
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(z.load), nil, i64).Export(ImportLoad).
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func stateOf(m api.Module) api.MutableGlobal {
	return m.ExportedGlobal(ExportState).(api.MutableGlobal)
}

// wait is env.f: it counts a call when it answers it.
func (z *freezer) wait(_ context.Context, m api.Module, s []uint64) {
	g := stateOf(m)
	switch rewinds := g.Get() == StateRewinds; {
	case rewinds && len(z.frames) > 0:
		panic(fmt.Errorf("%d words are left when the wait is reached", len(z.frames)))
	case rewinds != z.frozen:
		panic(fmt.Errorf("the wait is called in state %d", g.Get()))
	case !z.frozen && z.freeze(len(z.calls)):
		z.frozen, z.freezes = true, z.freezes+1
		g.Set(StateUnwinds)
		s[0] = 0xdead
		return
	}
	z.frozen = false
	g.Set(StateRuns)
	z.calls = append(z.calls, s[0]&0xffffffff)
	s[0] = uint64(uint32(s[0]) + 1000)
}

func (z *freezer) save(_ context.Context, m api.Module, s []uint64) {
	if n := stateOf(m).Get(); n != StateUnwinds {
		panic(fmt.Errorf("saved in state %d", n))
	}
	z.frames = append(z.frames, s[0])
}

func (z *freezer) load(_ context.Context, m api.Module, s []uint64) {
	n := len(z.frames)
	if g := stateOf(m).Get(); g != StateRewinds || n == 0 {
		panic(fmt.Errorf("loaded in state %d with %d words left", g, n))
	}
	s[0] = z.frames[n-1]
	z.frames = z.frames[:n-1]
}

// snapshot is what is carried from one instance to the next.
type snapshot struct {
	memory  []byte // nil without any
	globals map[string]uint64
}

func takeOf(m api.Module, memory bool, names []string) snapshot {
	s := snapshot{globals: map[string]uint64{}}
	if memory {
		view, _ := m.Memory().Read(0, m.Memory().Size())
		s.memory = append([]byte(nil), view...)
	}
	for _, name := range names {
		s.globals[name] = m.ExportedGlobal(name).Get()
	}
	return s
}

func (s snapshot) put(m api.Module) {
	if s.memory != nil {
		mem := m.Memory()
		if more := uint32(len(s.memory))/pageBytes - mem.Size()/pageBytes; more > 0 {
			mem.Grow(more)
		}
		mem.Write(0, s.memory)
	}
	for name, v := range s.globals {
		m.ExportedGlobal(name).(api.MutableGlobal).Set(v)
	}
}

// ended is an outcome, with the memory.
type ended struct {
	Outcome outcome
	Memory  string // its hash
	Global  uint64
}

// run calls a function, and carries it on in a new instance each time that it was frozen.
func (z *freezer) run(t testing.TB, file []byte, freeze func(call int) bool, name string, args ...uint64) ended {
	t.Helper()
	ctx := context.Background()
	c, err := z.rt.CompileModule(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	var globals []string
	decoded := decode(t, file)
	for _, e := range decoded.Exports {
		if e.Kind == binary.Global && strings.HasPrefix(e.Name, ExportPrefix) && e.Name != ExportState {
			globals = append(globals, e.Name)
		}
	}
	z.calls, z.frames, z.freeze, z.frozen, z.freezes = nil, nil, freeze, false, 0
	s := snapshot{globals: map[string]uint64{ExportGas: plenty}}
	for {
		m, err := z.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			t.Fatal(err)
		}
		s.put(m)
		if z.frozen {
			stateOf(m).Set(StateRewinds)
		}
		results, err := m.ExportedFunction(name).Call(ctx, args...)
		s = takeOf(m, len(decoded.Memories) > 0, globals)
		_ = m.Close(ctx)
		if err == nil && z.frozen {
			continue
		}
		e := ended{Outcome: outcome{Results: append([]uint64(nil), results...), Gas: plenty - int64(s.globals[ExportGas]), Depth: int32(s.globals[ExportDepth]), Calls: z.calls},
			Memory: fmt.Sprintf("%x", sha256.Sum256(s.memory)), Global: s.globals[ExportGlobal+"0"]}
		if err != nil {
			e.Outcome.Trap, _, _ = strings.Cut(err.Error(), "\n")
			e.Outcome.Trap, _, _ = strings.Cut(strings.TrimPrefix(e.Outcome.Trap, "wasm error: "), " (recovered by wazero)")
			e.Outcome.Depth = 0
		}
		if err == nil && len(z.frames) > 0 {
			t.Errorf("%d words are left at the end", len(z.frames))
		}
		return e
	}
}

// never and always say when to freeze.
func never(int) bool  { return false }
func always(int) bool { return true }

// everyFunction says that every function can reach a wait.
func everyFunction(m *binary.Module) *Suspend {
	s := &Suspend{Functions: make([]bool, m.ImportedFuncs()+len(m.Functions)), Types: make([]bool, len(m.Types))}
	for i := range s.Functions {
		s.Functions[i] = true
	}
	for i := range s.Types {
		s.Types[i] = true
	}
	return s
}

// saving are the passes that a module has in production.
func saving(m *binary.Module) Options {
	return Options{Gas: true, Depth: PortableDepth, MemoryPages: 8, TableEntries: 15, CanonicalNaN: true, LazyTable: 1, ExportGlobals: true, Suspend: everyFunction(m)}
}

// newNamed adds a state that nothing looks at.
func newNamed(m *binary.Module) []byte {
	w := binary.NewWriter(m)
	w.AddExport(ExportState, binary.Global, w.AddGlobal(binary.I32, StateRuns))
	return w.Bytes()
}
