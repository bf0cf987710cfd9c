package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"reprise/abi"
	"reprise/guest-sdk/ts"
)

// language is a row of the suite: where a module comes from, and what only the language decides, the codes of what ends a
// program that was not made to end.
type language struct {
	name string
	// make builds the module in a folder; nil finds it in .cache/guests.
	make func(dir string) ([]byte, error)
	// The codes of programs that nest calls without end, take memory without end, and panic.
	overflow, hungry, panics string
}

// languages begin with the reference, to whose journals those of the others are compared.
var languages = []language{
	{name: "go", make: buildGo, overflow: abi.CodeCallDepth, hungry: abi.CodeTrap, panics: "panic"},
	{name: "ts", make: buildTS, overflow: "error", hungry: "error", panics: "error"},
	{name: "c", overflow: abi.CodeCallDepth, hungry: "out_of_memory", panics: abi.CodeTrap},
	{name: "cpp", overflow: abi.CodeCallDepth, hungry: "out_of_memory", panics: abi.CodeTrap},
	{name: "rust", overflow: abi.CodeCallDepth, hungry: abi.CodeTrap, panics: "panic"},
	{name: "zig", overflow: abi.CodeCallDepth, hungry: "out_of_memory", panics: "panic"},
	{name: "assemblyscript", overflow: abi.CodeCallDepth, hungry: abi.CodeTrap, panics: "panic"},
}

// module is the bytes of a language's module.
func (l language) module(dir string) ([]byte, error) {
	if l.make != nil {
		return l.make(dir)
	}
	path := filepath.Join("../../.cache/guests", "conformance-"+l.name+".wasm")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; `make guests` makes it", err)
	}
	return b, nil
}

func buildGo(dir string) ([]byte, error) {
	out := filepath.Join(dir, "conformance-go.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./conformance")
	cmd.Dir = "../../guest-sdk/go"
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, b)
	}
	return os.ReadFile(out)
}

func buildTS(dir string) ([]byte, error) {
	file := filepath.Join(dir, "engine-js.wasm")
	if b, err := exec.Command("../../scripts/engine", file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make engine: %w\n%s", err, b)
	}
	engine, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	bundle, err := ts.Build("../../guest-sdk/ts/conformance/main.ts")
	if err != nil {
		return nil, err
	}
	return ts.Join(engine, bundle)
}
