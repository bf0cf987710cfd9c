package rewrite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// engines are the two that a module must behave the same on.
var engines = map[string]wazero.RuntimeConfig{
	"compiler":    wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2 &^ api.CoreFeatureSIMD),
	"interpreter": wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2 &^ api.CoreFeatureSIMD),
}

var (
	errOutOfGas = errors.New("out of gas")
	errTooDeep  = errors.New("too deep")
)

// outcome is what can be seen of a call.
type outcome struct {
	Results []uint64
	Trap    string // the first line, empty without one
	Gas     int64  // used
	Depth   int32  // left
	Calls   []uint64
}

// machine runs modules on one engine.
type machine struct {
	rt    wazero.Runtime
	calls []uint64 // arguments of env.f, of the newest instance
}

func newMachine(t testing.TB, engine string) *machine {
	ctx := context.Background()
	k := &machine{rt: wazero.NewRuntimeWithConfig(ctx, engines[engine])}
	t.Cleanup(func() { _ = k.rt.Close(ctx) })
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err := k.rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, s []uint64) {
		k.calls = append(k.calls, s[0]&0xffffffff)
		s[0] = uint64(uint32(s[0]) + 1000)
	}), i32, i32).Export("f").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	k.bindMeter(t)
	return k
}

func (k *machine) bindMeter(t testing.TB) {
	stop := func(err error) api.GoModuleFunc {
		return func(context.Context, api.Module, []uint64) { panic(err) }
	}
	_, err := k.rt.NewHostModuleBuilder(ImportModule).
		NewFunctionBuilder().WithGoModuleFunction(stop(errOutOfGas), nil, nil).Export(ImportOutOfGas).
		NewFunctionBuilder().WithGoModuleFunction(stop(errTooDeep), nil, nil).Export(ImportTooDeep).
		Instantiate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
}

// call calls a function of a new instance, with so much gas if it counts any.
func (k *machine) call(t testing.TB, file []byte, gas int64, name string, args ...uint64) outcome {
	t.Helper()
	o, err := k.try(file, gas, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// try is call for a module that may not be valid.
func (k *machine) try(file []byte, gas int64, name string, args ...uint64) (outcome, error) {
	ctx := context.Background()
	k.calls = nil
	m, err := k.rt.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = m.Close(ctx) }()
	if g, ok := m.ExportedGlobal(ExportGas).(api.MutableGlobal); ok {
		g.Set(uint64(gas))
	}
	results, err := m.ExportedFunction(name).Call(ctx, args...)
	o := outcome{Results: append([]uint64(nil), results...), Calls: k.calls}
	if err != nil {
		o.Trap, _, _ = strings.Cut(err.Error(), "\n")
		o.Trap, _, _ = strings.Cut(strings.TrimPrefix(o.Trap, "wasm error: "), " (recovered by wazero)")
	}
	if g := m.ExportedGlobal(ExportGas); g != nil {
		o.Gas = gas - int64(g.Get())
	}
	if d := m.ExportedGlobal(ExportDepth); d != nil {
		o.Depth = int32(d.Get())
	}
	return o, nil
}

// plenty is more gas than a test uses.
const plenty = 1 << 50
