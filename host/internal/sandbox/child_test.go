package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"reprise/modules"
)

// compilerEnv makes the test binary a compiling process.
const compilerEnv = "REPRISE_TEST_COMPILER=1"

func TestMain(m *testing.M) {
	if os.Getenv("REPRISE_TEST_COMPILER") != "" {
		n := len(os.Args)
		err := CompileChild(context.Background(), os.Stdin, os.Args[n-2], os.Args[n-1])
		var refused *modules.RefusedError
		switch {
		case errors.As(err, &refused):
			fmt.Fprintln(os.Stderr, refused.What)
			os.Exit(ExitInvalid)
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if arg := os.Getenv(crowdEnv); arg != "" {
		if err := crowdChild(arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(thawEnv); dir != "" {
		if err := thawChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Compiler, cfg.CompilerEnv = []string{exe}, []string{compilerEnv}
	e, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

func codeOnly(code []byte) *modules.Prepared {
	return &modules.Prepared{Digest: modules.DigestOf(code), Code: code, ImageKey: string(modules.DigestOf(code))}
}

func TestCompileInAChild(t *testing.T) {
	code, err := os.ReadFile("../../../testdata/wasm/steps.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := childEngine(t, Config{CacheDir: dir})
	if _, err := e.Load(t.Context(), codeOnly(code)); err != nil {
		t.Fatal(err)
	}
	if n := len(cached(t, dir)); n != 2 {
		t.Errorf("got %d files in the cache, want the compiled module and its image", n)
	}
	// The next engine finds it: no child is needed, and none can be started.
	again, err := New(t.Context(), Config{CacheDir: dir, Compiler: []string{"/nonexistent"}})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	if _, err := again.Load(t.Context(), codeOnly(code)); err != nil {
		t.Errorf("got %v, want a hit of the cache", err)
	}
	var start *exec.Error
	var path *os.PathError
	_, err = again.Load(t.Context(), codeOnly(append(bytes.Clone(code), 0, 2, 1, 'x')))
	var refused *modules.RefusedError
	if err == nil || errors.As(err, &refused) || !errors.As(err, &start) && !errors.As(err, &path) {
		t.Errorf("got %v, want the host's own error: the module is not to blame", err)
	}
}

func TestChildRefusesWhatDoesNotValidate(t *testing.T) {
	e := childEngine(t, Config{})
	// One function of type () -> (), whose body is the opcode 0xff.
	code := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x05\x01\x03\x00\xff\x0b")
	_, err := e.Load(t.Context(), codeOnly(code))
	var refused *modules.RefusedError
	if !errors.As(err, &refused) || refused.Code != "invalid_module" || refused.What == "" {
		t.Errorf("got %v, want invalid_module with wazero's words", err)
	}
}

// TestChildIsLimited gives the compiler a function that keeps it busy for a minute: 20,000 memory.fill in a line.
func TestChildIsLimited(t *testing.T) {
	e := childEngine(t, Config{CompileCPU: 1})
	_, err := e.Load(t.Context(), codeOnly(fills(20_000)))
	var refused *modules.RefusedError
	if !errors.As(err, &refused) || refused.Code != "compile_limit" || refused.Fix == "" {
		t.Errorf("got %v, want compile_limit", err)
	}
	if _, err := os.Stat(e.cfg.CacheDir); err != nil {
		t.Error(err)
	}
}

// fills is a module with one function of n times "memory.fill 0 0 0".
func fills(n int) []byte {
	body := []byte{0}
	for range n {
		body = append(body, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0b, 0)
	}
	body = append(body, 0x0b)
	code := append(append([]byte{1}, leb(len(body))...), body...)
	b := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x05\x03\x01\x00\x01\x0a")
	return append(append(b, leb(len(code))...), code...)
}

func leb(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestOwnCacheIsRemoved(t *testing.T) {
	e := childEngine(t, Config{})
	dir := e.cfg.CacheDir
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("got %v, want the folder gone", err)
	}
}
