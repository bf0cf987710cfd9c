package modules

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero"

	"reprise/modules/binary"
	"reprise/modules/rewrite"
)

// compileEnv names the file that the test program is to compile instead of running tests.
const compileEnv = "COMPILE_MODULE"

func TestMain(m *testing.M) {
	if path := os.Getenv(compileEnv); path != "" {
		if err := compileLimited(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// compileLimited compiles a file in at most 4 GiB and 60 s of processor time.
func compileLimited(path string) error {
	for what, most := range map[int]uint64{syscall.RLIMIT_AS: 4 << 30, syscall.RLIMIT_CPU: 60} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	_, err = rt.CompileModule(ctx, file)
	return err
}

// compile gives the processor time in seconds and the memory in MB that another process takes to compile
// a file.
func compile(t testing.TB, file []byte) (seconds, megabytes float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.wasm")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), compileEnv+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile %d bytes: %v\n%.2000s", len(file), err, out)
	}
	p := cmd.ProcessState
	return (p.UserTime() + p.SystemTime()).Seconds(), float64(p.SysUsage().(*syscall.Rusage).Maxrss) / 1e3
}

// dearest are instructions that take the compiler longest, n instructions in a function.
var dearest = []shape{
	{name: "call_indirect", make: func(n int) []byte { return function(0, times(n/2-1, zero, []byte{0x11, 0, 0})) }},
	{name: "loads", make: func(n int) []byte { return function(0, zero, times(n-3, []byte{0x28, 2, 0}), drop) }},
	{name: "f32.convert_i64_u", make: func(n int) []byte {
		return function(0, []byte{0x42, 0}, times(n/2-2, []byte{0xb5, 0xaf}), drop)
	}},
	{name: "i32.trunc_f64_u", make: func(n int) []byte { return function(0, zero, times(n/2-2, []byte{0xb8, 0xab}), drop) }},
	{name: "i32.rem_s", make: func(n int) []byte { return function(0, zero, times(n/2-2, zero, []byte{0x6f}), drop) }},
	{name: "table.set", make: func(n int) []byte { return function(0, times(n/3-1, zero, []byte{0xd0, 0x70, 0x26, 0})) }},
	{name: "ref.func", make: func(n int) []byte { return function(0, times(n/2-1, []byte{0xd2, 0}, drop)) }},
}

// BenchmarkCompile is how the bounds were chosen: what they let through compiles in a few seconds. Each
// shape is measured as one function at its bound, and as a module with as many of them as are let through.
func BenchmarkCompile(b *testing.B) {
	shapes := append([]shape{}, atLimits...)
	for _, s := range dearest {
		for _, n := range []int{maxInstructions, 1_000} {
			shapes = append(shapes, shape{name: fmt.Sprintf("%s, %d", s.name, n), limit: n, make: s.make})
		}
	}
	for _, s := range shapes {
		one := s.make(s.limit)
		b.Run(s.name, func(b *testing.B) { benchmarkCompile(b, program(one)) })
		b.Run(s.name+"/most", func(b *testing.B) {
			functions := make([][]byte, 0, 1000)
			for range mostCopies(b, one) {
				functions = append(functions, one)
			}
			b.ReportMetric(float64(len(functions)), "functions")
			benchmarkCompile(b, program(functions...))
		})
		b.Run(s.name+"/rewritten", func(b *testing.B) {
			functions := make([][]byte, 0, 1000)
			for range mostCopies(b, one) {
				functions = append(functions, one)
			}
			m, err := binary.Decode(program(functions...))
			if err != nil {
				b.Fatal(err)
			}
			file, _, err := rewrite.Apply(m, rewrite.Options{Gas: true, Depth: rewrite.PortableDepth, CanonicalNaN: true, ExportGlobals: true})
			if err != nil {
				b.Fatal(err)
			}
			timeCompiler(b, file)
		})
	}
}

// BenchmarkCompileWaits is the same of code that saves its frames.
func BenchmarkCompileWaits(b *testing.B) {
	for _, s := range waitShapes {
		b.Run(s.name, func(b *testing.B) {
			p, refused := prepare(b, waiting(s.make(s.limit)))
			if refused != nil {
				b.Fatal(refused)
			}
			timeCompiler(b, p.Code)
		})
	}
}

func benchmarkCompile(b *testing.B, file []byte) {
	if _, refused := prepare(b, file); refused != nil {
		b.Fatal(refused)
	}
	timeCompiler(b, file)
}

func timeCompiler(b *testing.B, file []byte) {
	for b.Loop() {
		seconds, megabytes := compile(b, file)
		b.ReportMetric(seconds, "cpu-s")
		b.ReportMetric(megabytes, "MB")
	}
	b.ReportMetric(float64(len(file)), "bytes")
}

// mostCopies is how many of a function a module may have.
func mostCopies(b *testing.B, body []byte) int {
	m, err := binary.Decode(program(body))
	if err != nil {
		b.Fatal(err)
	}
	var f flow
	figures, err := f.measure(m, 0)
	if err != nil {
		b.Fatal(err)
	}
	return max(1, min(maxCost/figures.total(), (MaxSize-1_000)/(len(body)+4)))
}
