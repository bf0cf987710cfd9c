package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

var kit *Kit

func TestMain(m *testing.M) {
	var err error
	if kit, err = New(Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	err = kit.Close()
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// load takes a module of testdata/wasm.
func load(t *testing.T, name string) *Module {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := kit.Load(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mustPlay plays a case that must be right in itself.
func mustPlay(t *testing.T, m *Module, c Case) *Result {
	t.Helper()
	if c.Name == "" {
		c.Name = t.Name()
	}
	r, err := m.Play(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
