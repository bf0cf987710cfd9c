package gen

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
)

// TestGenerated fails when a committed file is not what the sources yield. UPDATE=1 rewrites it.
func TestGenerated(t *testing.T) {
	for path, render := range map[string]func(string) ([]byte, error){
		"../../docs/ABI.md": Docs,
		"../abi.h":          Header,
	} {
		want, err := render("..")
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what its sources yield; run make generate (-want +got):\n%s", path, diff)
		}
	}
}

func TestDocsSayEverything(t *testing.T) {
	b, err := Docs("..")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, f := range abi.Functions {
		for _, want := range []string{"### " + f.Name, f.Doc, wat(f), cell(f.Errors), cell(f.Journals)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: docs lack %q", f.Name, want)
			}
		}
		if f.Doc == "" || f.Journals == "" || f.Errors == "" {
			t.Errorf("%s: the table lacks a text", f.Name)
		}
	}
	c, err := load("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Limits) != len(limitValues) {
		t.Errorf("got %d limits in the sources, want %d", len(c.Limits), len(limitValues))
	}
	for _, rows := range [][]row{c.Codes, c.Limits, c.Options, c.Retry, c.RunLimits} {
		for _, r := range rows {
			if r.Doc == "" || r.Value == "0" {
				t.Errorf("%s: got doc %q and value %q, want both", r.Name, r.Doc, r.Value)
			}
			if !strings.Contains(text, "| "+r.Name+" |") && !strings.Contains(text, "| `"+r.Name+"` |") {
				t.Errorf("%s: docs lack it", r.Name)
			}
		}
	}
}

func TestForms(t *testing.T) {
	tests := []struct{ name, wat, c string }{
		{"entry_kind", "(func (result i32))", "int32_t reprise_entry_kind(void)"},
		{"output", "(func (param i32 i32))", "void reprise_output(const void *ptr, int32_t len)"},
		{"input", "(func (param i32 i32) (result i32))", "int32_t reprise_input(void *ptr, int32_t cap)"},
		{"random", "(func (param i32 i32))", "void reprise_random(void *ptr, int32_t len)"},
		{"timer", "(func (param i64) (result i32))", "int32_t reprise_timer(int64_t nanoseconds)"},
		{"now", "(func (result i64))", "int64_t reprise_now(void)"},
		{"wait", "(func (param i32 i32 i64 i32 i32) (result i32))", "int32_t reprise_wait(const int32_t *handles, int32_t n, int64_t timeout_ns, int32_t *ready, int32_t ready_cap)"},
		{"asset", "(func (param i32 i32 i32 i32) (result i32))", "int32_t reprise_asset(const void *name, int32_t name_len, void *ptr, int32_t cap)"},
		{"publish", "(func (param i32 i32 i32 i32))", "void reprise_publish(const void *key, int32_t key_len, const void *ptr, int32_t len)"},
	}
	for _, tt := range tests {
		f, ok := abi.Find(tt.name)
		if !ok {
			t.Fatalf("the contract has no %s", tt.name)
		}
		if got := wat(f); got != tt.wat {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.wat)
		}
		if got := cPrototype(f); got != tt.c {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.c)
		}
	}
}
