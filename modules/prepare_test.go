package modules

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"reprise/abi"
	"reprise/modules/binary"
)

func prepare(t testing.TB, file []byte) (*Prepared, *RefusedError) {
	t.Helper()
	p, err := Prepare(context.Background(), file)
	if err == nil {
		return p, nil
	}
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *RefusedError", err)
	}
	if refused.What == "" || refused.Where == "" || refused.Fix == "" {
		t.Errorf("got %+v, want what, where and fix", refused)
	}
	if n := len(err.Error()); n > 4<<10 {
		t.Errorf("got an error of %d bytes, want at most 4 KiB", n)
	}
	if strings.ContainsFunc(err.Error(), func(c rune) bool { return c < 0x20 || c == 0x7f }) {
		t.Errorf("got control characters in %q", err)
	}
	return nil, refused
}

// refusedFixtures are the fixtures that are made to be refused; every other one is good.
var refusedFixtures = map[string]string{
	"unknown_import":   "unknown_import",
	"wrong_sig_import": "wrong_signature",
	"no_entry":         "no_entry",
	"wrong_entry_sig":  "wrong_entry",
	"unimplemented":    "not_implemented",
	"env_memory":       "unknown_import",
}

func TestPrepareFixtures(t *testing.T) {
	for name, file := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			p, refused := prepare(t, file)
			want := refusedFixtures[name]
			if refused != nil || want != "" {
				if refused == nil || refused.Code != want {
					t.Fatalf("got %v, want code %q", refused, want)
				}
				return
			}
			if p.Digest != DigestOf(file) || p.Size != int64(len(file)) {
				t.Errorf("got %s of %d bytes, want %s of %d", p.Digest, p.Size, DigestOf(file), len(file))
			}
			if bytes.Contains(p.Code, []byte("reprise.asset")) {
				t.Error("the code has assets")
			}
		})
	}
}

func TestPrepareShape(t *testing.T) {
	files := fixtures(t)
	tests := []struct {
		name             string
		shape            Shape
		describe, output bool
		imports          []string
		entries          []string
	}{
		{"activity", Reactor, false, true, []string{"reprise_v1.input", "reprise_v1.output", "reprise_v1.fail", "reprise_v1.activity", "reprise_v1.wait", "reprise_v1.status", "reprise_v1.result"}, []string{"reprise_run", "double"}},
		{"manifest", Reactor, true, true, []string{"reprise_v1.input", "reprise_v1.output", "reprise_v1.entry_kind"}, []string{"reprise_run"}},
		{"trap", Reactor, false, false, nil, []string{"reprise_run"}},
		{"abort", Command, false, false, []string{"wasi_snapshot_preview1.proc_exit"}, []string{"_start"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, refused := prepare(t, files[tt.name])
			if refused != nil {
				t.Fatal(refused)
			}
			if p.Shape != tt.shape || p.UsesDescribe != tt.describe || p.UsesOutput != tt.output {
				t.Errorf("got %s, describe %v, output %v, want %s, %v, %v", p.Shape, p.UsesDescribe, p.UsesOutput, tt.shape, tt.describe, tt.output)
			}
			if diff := cmp.Diff(tt.imports, p.Imports); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
			for _, e := range tt.entries {
				if !p.Entry(e) {
					t.Errorf("got no entry %s, want one", e)
				}
			}
			if p.Entry("memory") || p.Entry("absent") {
				t.Error("got an entry that is not a function")
			}
		})
	}
}

func TestPrepareAssets(t *testing.T) {
	trap := fixtures(t)["trap"]
	p, refused := prepare(t, with(trap, custom("reprise.asset.main.js", "let x"), custom("reprise.asset.b", "")))
	if refused != nil {
		t.Fatal(refused)
	}
	if diff := cmp.Diff(map[string][]byte{"main.js": []byte("let x"), "b": {}}, p.Assets); diff != "" {
		t.Errorf("assets (-want +got):\n%s", diff)
	}
	plain, _ := prepare(t, trap)
	if !bytes.Equal(p.Code, plain.Code) {
		t.Error("got other code with assets than without, want the same")
	}
	if p.Digest == plain.Digest {
		t.Error("got the same digest with assets as without, want another")
	}
}

// TestEveryPrefixIsRefused cuts each fixture at every offset. Only a cut between two sections may leave
// a good module, for example one without its data.
func TestEveryPrefixIsRefused(t *testing.T) {
	for name, file := range fixtures(t) {
		m, err := binary.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		between := make(map[int]bool)
		for _, s := range m.Sections {
			between[s.End] = true
		}
		for n := range file {
			if _, refused := prepare(t, file[:n]); refused == nil && !between[n] {
				t.Errorf("%s cut at %d of %d: got no error", name, n, len(file))
			}
		}
	}
}

func TestRandomFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, file := range fixtures(t) {
		for range 500 {
			b := bytes.Clone(file)
			for range 1 + rng.IntN(4) {
				b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			}
			if p, refused := prepare(t, b); refused == nil && p.Shape == "" {
				t.Errorf("%s: got neither a module nor an error for %x", name, b)
			}
		}
	}
}

// TestWASITable compares the table with an implementation that others wrote.
func TestWASITable(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	m, err := wasi_snapshot_preview1.NewBuilder(rt).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	theirs := m.ExportedFunctions()
	if len(theirs) != len(WASI) {
		t.Errorf("got %d functions, want %d", len(WASI), len(theirs))
	}
	types := func(ts []abi.ValType) []api.ValueType {
		out := make([]api.ValueType, 0, len(ts))
		for _, t := range ts {
			out = append(out, api.ValueType(t))
		}
		return out
	}
	for _, f := range WASI {
		want, ok := theirs[f.Name]
		if !ok {
			t.Errorf("%s: they have no such function", f.Name)
			continue
		}
		if !bytes.Equal(types(f.Params), want.ParamTypes()) || !bytes.Equal(types(f.Results), want.ResultTypes()) {
			t.Errorf("%s: got %v -> %v, want %v -> %v", f.Name, f.Params, f.Results, want.ParamTypes(), want.ResultTypes())
		}
	}
}

func FuzzPrepare(f *testing.F) {
	for _, file := range fixtures(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if p, refused := prepare(t, file); refused == nil {
			if _, err := binary.DecodeWritten(p.Code); err != nil {
				t.Errorf("the rewritten code of a good module does not decode: %v", err)
			}
		}
	})
}
