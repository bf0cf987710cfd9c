package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host"
	"reprise/modules"
	"reprise/tenant"
)

// TestCheckIsWhatPushDoes holds Check and PushModule against each other for every fixture, and for modules that fail
// at each step of the way.
func TestCheckIsWhatPushDoes(t *testing.T) {
	n := newNode(t, nil)
	files := map[string][]byte{"text": []byte("#!/bin/sh"), "empty": nil, "too large": make([]byte, modules.MaxSize+1),
		"damaged": damaged(fixture(t, "trap")), "does not validate": stacked(fixture(t, "trap")), "bad manifest": lying(fixture(t, "manifest"))}
	paths, err := filepath.Glob("../testdata/wasm/*.wasm")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d fixtures, %v", len(paths), err)
	}
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".wasm")
		files[name] = fixture(t, name)
	}
	codes := map[string]bool{}
	for name, file := range files {
		pushed, pushErr := n.PushModule(t.Context(), tenant.Default, "", file, "")
		got, err := host.Check(t.Context(), host.Config{}, file)
		if err != nil {
			t.Errorf("%s: got %v, want what is wrong in the report", name, err)
			continue
		}
		var refused *modules.RefusedError
		if errors.As(pushErr, &refused) {
			codes[refused.Code] = true
		} else if pushErr != nil {
			t.Fatal(pushErr)
		}
		if diff := cmp.Diff(refused, got.Refused); diff != "" {
			t.Errorf("%s (-push +check):\n%s", name, diff)
		}
		if got.Module.Digest != modules.DigestOf(file) {
			t.Errorf("%s: got digest %s", name, got.Module.Digest)
		}
		if refused != nil {
			continue
		}
		m := pushed.Module
		if got.Module.Shape != m.Shape || got.Module.Size != m.Size || len(got.Module.Imports) != len(m.Imports) {
			t.Errorf("%s: got %+v, want that of %+v", name, got.Module, m)
		}
		if diff := cmp.Diff(m.Manifest, got.Manifest); diff != "" {
			t.Errorf("%s: manifest (-push +check):\n%s", name, diff)
		}
	}
	for _, want := range []string{"not_wasm", "too_large", "no_entry", "unknown_import", "malformed", "invalid_module", "invalid_manifest"} {
		if !codes[want] {
			t.Errorf("no file was refused with %s", want)
		}
	}
}

// stacked makes a function that takes from its stack what nobody put there: trap's unreachable becomes a drop.
func stacked(b []byte) []byte { return replaced(b, []byte{0x00, 0x00, 0x0b}, []byte{0x00, 0x1a, 0x0b}) }

// lying breaks the JSON that the module describes itself with.
func lying(b []byte) []byte { return replaced(b, []byte(`{"sdk"`), []byte(`["sdk"`)) }

func replaced(b, old, new []byte) []byte {
	return []byte(strings.Replace(string(b), string(old), string(new), 1))
}

// TestCheckLeavesNothing uses a compiler's folder that it makes for itself.
func TestCheckLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	r, err := host.Check(t.Context(), host.Config{}, fixture(t, "manifest"))
	if err != nil || r.Refused != nil {
		t.Fatalf("got %v, %v", r.Refused, err)
	}
	if diff := cmp.Diff(abi.Manifest{SDK: "wat", Workflows: []string{"hello"}, Activities: []string{"double"}}, r.Manifest); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("got %v left, %v", left, err)
	}
}
