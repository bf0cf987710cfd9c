package rewrite

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"reprise/modules/binary"
)

// stubs answers whatever a module imports, each call with another small number, and keeps what it was
// called with. It stops a guest that calls it too often.
func (k *machine) stubs(t *testing.T, m *binary.Module, log *[]string) {
	t.Helper()
	builders := map[string]wazero.HostModuleBuilder{}
	var order []string
	for _, im := range m.Imports {
		if im.Module == ImportModule || im.Module == "env" {
			continue
		}
		if builders[im.Module] == nil {
			builders[im.Module] = k.rt.NewHostModuleBuilder(im.Module)
			order = append(order, im.Module)
		}
		params, results := valueTypes(im.Type.Params), valueTypes(im.Type.Results)
		stub := func(_ context.Context, _ api.Module, s []uint64) {
			line := im.Name
			for i, p := range params {
				if p == api.ValueTypeI32 {
					s[i] &= 0xffffffff
				}
				line += " " + string(rune('a'+s[i]%26))
			}
			*log = append(*log, line)
			if len(*log) > 50 {
				panic("enough")
			}
			if len(results) > 0 {
				s[0] = uint64(len(*log)) % 3
			}
		}
		builders[im.Module].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(stub), params, results).Export(im.Name)
	}
	for _, name := range order {
		if _, err := builders[name].Instantiate(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func valueTypes(ts []binary.ValType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t)
	}
	return out
}

// TestFixtures runs the modules that the rest of the tests use: with and without rewriting they make the
// same calls of the host and end the same way, and the gas is the same on both engines.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/wasm/*.wasm")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d fixtures (%v), want some", len(paths), err)
	}
	ran := 0
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := decode(t, file)
		entry := ""
		for _, name := range []string{"_start", "reprise_run"} {
			if e, ok := m.Export(name); ok && e.Kind == binary.Func && len(e.Type.Params) == 0 && (len(m.Memories) == 0 || m.Memories[0].Min < 10) && entry == "" {
				entry = name
			}
		}
		if entry == "" || len(m.Imports) > 0 && m.Imports[0].Module == "env" {
			continue
		}
		ran++
		t.Run(filepath.Base(path), func(t *testing.T) {
			type result struct {
				Outcome outcome
				Log     []string
			}
			run := func(engine string, file []byte) result {
				k := newMachine(t, engine)
				var r result
				k.stubs(t, m, &r.Log)
				r.Outcome = k.call(t, file, 100_000, entry)
				return r
			}
			o := all
			o.MemoryPages = 1024
			out, _ := apply(t, file, o)
			a, b := run("compiler", out), run("interpreter", out)
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("engines differ (-compiler +interpreter):\n%s", diff)
			}
			if a.Outcome.Gas == 0 {
				t.Error("got no gas used")
			}
			if a.Outcome.Trap == errOutOfGas.Error() || a.Outcome.Trap == errTooDeep.Error() {
				return // the original does not end, or where its engine does
			}
			want := run("compiler", file)
			a.Outcome.Gas, a.Outcome.Depth = 0, 0
			if diff := cmp.Diff(want, a); diff != "" {
				t.Errorf("(-original +rewritten):\n%s", diff)
			}
		})
	}
	if ran < 20 {
		t.Errorf("got %d fixtures to run, want most", ran)
	}
}

// TestGoProgram compares what a Go program prints, and what it pays, on the two engines. What it pays is
// at most twice what it would if every stretch paid for itself when it runs.
func TestGoProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.wasm")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "testdata/program"
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		Output string
		Trap   string
		Gas    int64
	}
	run := func(engine string, file []byte) result {
		ctx := context.Background()
		k := newMachine(t, engine)
		wasi_snapshot_preview1.MustInstantiate(ctx, k.rt)
		var stdout bytes.Buffer
		m, err := k.rt.InstantiateWithConfig(ctx, file, wazero.NewModuleConfig().WithStartFunctions().WithStdout(&stdout).WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		g, counted := m.ExportedGlobal(ExportGas).(api.MutableGlobal)
		if counted {
			g.Set(plenty)
		}
		_, err = m.ExportedFunction("_start").Call(ctx)
		r := result{Output: stdout.String(), Trap: err.Error()} // proc_exit
		if counted {
			r.Gas = plenty - int64(g.Get())
		}
		return r
	}
	o := all
	o.MemoryPages, o.TableEntries = 1024, 0
	out, _ := apply(t, file, o)
	compiled := run("compiler", out)
	if diff := cmp.Diff(compiled, run("interpreter", out)); diff != "" {
		t.Errorf("engines differ (-compiler +interpreter):\n%s", diff)
	}
	exact := run("compiler", exactly(t, file))
	if compiled.Gas < exact.Gas || compiled.Gas > 2*exact.Gas {
		t.Errorf("got %d gas, want %d to twice as much", compiled.Gas, exact.Gas)
	}
	o.CanonicalNaN = false // which can be seen
	out, _ = apply(t, file, o)
	compiled = run("compiler", out)
	compiled.Gas = 0
	if diff := cmp.Diff(run("compiler", file), compiled); diff != "" {
		t.Errorf("(-original +rewritten):\n%s", diff)
	}
}

// exactly meters a module with a charge point for every stretch.
func exactly(t *testing.T, file []byte) []byte {
	m := decode(t, file)
	w := binary.NewWriter(m)
	passes := declare(w, m, Options{Gas: true}, &Info{})
	passes[0].(*gas).lend = 0
	if _, err := functions(w, m, passes, false); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// FuzzApply rewrites what an engine would run, and what it makes of that an engine runs too.
func FuzzApply(f *testing.F) {
	for _, files := range []map[string][]byte{programs(), waits()} {
		for _, file := range files {
			f.Add(file)
		}
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, engines["interpreter"])
	f.Cleanup(func() { _ = rt.Close(ctx) })
	valid := func(file []byte) error {
		c, err := rt.CompileModule(ctx, file)
		if err == nil {
			err = c.Close(ctx)
		}
		return err
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := binary.Decode(file)
		if err != nil {
			return
		}
		o := all
		o.MemoryPages, o.TableEntries = 1<<16, 1<<20
		o.Suspend = everyFunction(m)
		out, info, err := Apply(m, o)
		if errors.Is(err, ErrUnsaved) {
			o.Suspend = nil
			out, info, err = Apply(m, o)
		}
		if err != nil {
			return
		}
		was, is := valid(binary.Strip(file, m)), valid(out) // the engine reads names too
		if (was == nil) != (is == nil) {
			t.Errorf("an engine says %v of the module and %v of the rewritten one", was, is)
		}
		if info.SizeAfter != len(out) {
			t.Errorf("got %d bytes, want %d as the info says", len(out), info.SizeAfter)
		}
	})
}

// FuzzSame runs what ends: with and without rewriting, and on both engines, it gives the same.
func FuzzSame(f *testing.F) {
	for _, file := range programs() {
		f.Add(file, uint32(3))
	}
	compiler, interpreter := newMachine(f, "compiler"), newMachine(f, "interpreter")
	f.Fuzz(func(t *testing.T, file []byte, arg uint32) {
		m, err := binary.Decode(file)
		if err != nil || m.HasStart {
			return
		}
		e, ok := m.Export("f")
		if !ok || e.Kind != binary.Func || len(e.Type.Params) != 1 || e.Type.Params[0] != binary.I32 || len(m.Memories) > 0 && m.Memories[0].Min > 100 {
			return
		}
		out, _, err := Apply(m, Options{Gas: true, Depth: PortableDepth, LazyTable: 1})
		if err != nil {
			return
		}
		const enough = 200_000 // and little enough for memory that the module asks for
		got, err := compiler.try(out, enough, "f", uint64(arg))
		if err != nil || got.Trap == errOutOfGas.Error() || got.Trap == errTooDeep.Error() {
			return
		}
		again, err := interpreter.try(out, enough, "f", uint64(arg))
		if diff := cmp.Diff(masked(got, e.Type), masked(again, e.Type)); diff != "" || err != nil {
			t.Errorf("engines differ (%v) (-compiler +interpreter):\n%s", err, diff)
		}
		original, err := compiler.try(binary.Strip(file, m), enough, "f", uint64(arg))
		got.Gas, got.Depth = 0, 0
		if diff := cmp.Diff(masked(original, e.Type), masked(got, e.Type)); diff != "" || err != nil {
			t.Errorf("(%v) (-original +rewritten):\n%s", err, diff)
		}
	})
}

// masked leaves out what of the results means nothing: the upper half of 32 bits, references, and the bits
// of NaNs.
func masked(o outcome, t binary.FuncType) outcome {
	o.Results = append([]uint64(nil), o.Results...)
	for i := range o.Results {
		switch v := &o.Results[i]; t.Results[i] {
		case binary.I32:
			*v &= math.MaxUint32
		case binary.F32:
			if *v &= math.MaxUint32; math.IsNaN(float64(math.Float32frombits(uint32(*v)))) {
				*v = math.MaxUint32
			}
		case binary.F64:
			if math.IsNaN(math.Float64frombits(*v)) {
				*v = math.MaxUint64
			}
		case binary.FuncRef, binary.ExternRef:
			*v = 0
		}
	}
	return o
}
