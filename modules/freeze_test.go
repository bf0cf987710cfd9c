package modules

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/modules/binary"
)

func freezeOf(t testing.TB, file []byte) Freeze {
	t.Helper()
	m, err := binary.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := FreezeOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func freezeFixture(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/freeze/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFreezeOf takes modules of which testdata/freeze has the text.
func TestFreezeOf(t *testing.T) {
	tests := []struct {
		name             string
		kind             FreezeKind
		functions, sites int
		say              string
	}{
		{"never", FreezeSuspend, 0, 0, "no function can reach a wait"},
		{"direct", FreezeSuspend, 3, 4, "3 of 4 functions"},
		{"poll", FreezeSuspend, 1, 1, "1 of 1 functions"},
		{"table", FreezeSuspend, 4, 4, "4 of 6 functions"},
		{"imported", FreezeSuspend, 1, 1, "1 of 1 functions"},
		{"reference", FreezeReplay, 2, 2, "function 1 can reach a wait and holds references"},
		{"operand", FreezeReplay, 1, 1, "function 2 can reach a wait and holds references"},
		{"apart", FreezeSuspend, 1, 1, "1 of 2 functions"},
		{"table_set", FreezeReplay, 1, 1, "function 1 changes a table"},
		{"data_drop", FreezeReplay, 1, 1, "function 1 copies or drops passive segments"},
		{"global", FreezeReplay, 1, 1, "the mutable global 0 holds a reference (externref)"},
		{"start", FreezeReplay, 1, 1, "the start section can reach a wait"},
		{"gogo", FreezeSuspend, 1, 1, "1 of 1 functions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := freezeFixture(t, tt.name)
			if _, refused := prepare(t, file); refused != nil {
				t.Fatalf("got %v, want a module that is taken", refused)
			}
			got := freezeOf(t, file)
			if !strings.Contains(got.Reason, tt.say) {
				t.Errorf("got reason %q, want %q in it", got.Reason, tt.say)
			}
			got.Reason = ""
			if diff := cmp.Diff(Freeze{Kind: tt.kind, Functions: tt.functions, Sites: tt.sites}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// hello builds examples/hello as its README says, or as a command.
func hello(t testing.TB, args ...string) []byte {
	t.Helper()
	return guest(t, "../examples/hello", append(args, ".")...)
}

// TestGoIsRecognised fails when a new toolchain writes other code: then freeze_shape.go has to learn it, or every
// Go module loses the way to be frozen as it is.
func TestGoIsRecognised(t *testing.T) {
	tests := map[string][]byte{
		"reactor":               hello(t, "-buildmode=c-shared"),
		"reactor without names": hello(t, "-buildmode=c-shared", "-ldflags=-s -w"),
		"command":               hello(t),
		"matrix":                guest(t, "../guest-sdk/go", "-buildmode=c-shared", "./testguests/matrix"),
		"plain":                 guest(t, "../guest-sdk/go", "./testguests/plain"),
	}
	for name, file := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := binary.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			f := freezeOf(t, file)
			if f.Kind != FreezeGo || f.Go == nil {
				t.Fatalf("got %s (%s) for a module of the installed Go toolchain, want %s: the shape of its code has changed, see freeze_shape.go",
					f.Kind, f.Reason, FreezeGo)
			}
			if diff := cmp.Diff([]uint32{0, 1, 2, 3, 4, 5, 6, 7}, f.Go.Globals); diff != "" || f.Go.SP != 0 || f.Go.Pause != 7 {
				t.Errorf("got globals %v, SP %d, pause %d", f.Go.Globals, f.Go.SP, f.Go.Pause)
			}
			if len(f.Go.Points) == 0 {
				t.Error("got no wrapper of an import that waits, want poll_oneoff's")
			}
			for _, p := range f.Go.Points {
				// Behind the return address are four arguments, which take 8 bytes each or are packed, and the result.
				if p.Import != "wasi_snapshot_preview1.poll_oneoff" || p.ResultBytes != 4 || p.ResultAt < 8 || p.ResultAt > 64 {
					t.Errorf("got %+v", p)
				}
			}
			if m.FuncName(0) == "" { // no name section
				return
			}
			names := []string{m.FuncName(int(f.Go.Loop)), m.FuncName(int(f.Go.Points[0].Function))}
			if diff := cmp.Diff([]string{"wasm_pc_f_loop", "runtime.poll_oneoff"}, names); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(f.Go.Entries) > 0 && m.FuncName(int(f.Go.LoopExport)) != "wasm_pc_f_loop_export" {
				t.Errorf("got %q as the loop of exports", m.FuncName(int(f.Go.LoopExport)))
			}
		})
	}
	entries := freezeOf(t, tests["reactor"]).Go.Entries
	if i := slices.IndexFunc(entries, func(e GoEntry) bool { return e.Export == "reprise_run" }); i < 0 || !entries[i].HasResult || entries[i].StopPC == 0 {
		t.Errorf("got entries %+v, want reprise_run with a result", entries)
	}
}

// TestGoIsNotGuessed changes one byte of each function whose shape matters.
func TestGoIsNotGuessed(t *testing.T) {
	file := hello(t, "-buildmode=c-shared")
	m, err := binary.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	g := freezeOf(t, file).Go
	run, _ := m.Export("reprise_run")
	initialize, _ := m.Export("_initialize")
	tests := map[string]struct {
		function uint32
		say      string
	}{
		"loop":           {g.Loop, ""},
		"loop of export": {g.LoopExport, "wrapper of the export reprise_run"},
		"entry":          {run.Index, "wrapper of the export reprise_run"},
		"point":          {g.Points[0].Function, "wrapper of the import wasi_snapshot_preview1.poll_oneoff"},
		"start":          {initialize.Index, "starts it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Clone(file)
			b := m.Bodies[int(tt.function)-m.ImportedFuncs()]
			changed[b.End-2] = 0x01 // nop instead of unreachable behind the return
			f := freezeOf(t, changed)
			if f.Kind == FreezeGo || f.Go != nil || !strings.Contains(f.Reason, tt.say) {
				t.Errorf("got %s (%s), want another kind and %q", f.Kind, f.Reason, tt.say)
			}
		})
	}
}

// TestFrozenAgrees holds what is said here and what rewriting says against each other: an instance whose state is
// more than memory and globals can be neither in an image nor frozen.
func TestFrozenAgrees(t *testing.T) {
	files := fixtures(t)
	for _, name := range []string{"table_set", "data_drop", "global", "direct"} {
		files[name] = freezeFixture(t, name)
	}
	frozen := 0
	for name, file := range files {
		p, refused := prepare(t, file)
		if refused != nil {
			continue
		}
		if p.Rewritten.Frozen == "" {
			continue
		}
		frozen++
		if f := freezeOf(t, file); f.Kind != FreezeReplay {
			t.Errorf("%s: got %s, and rewriting says %q", name, f.Kind, p.Rewritten.Frozen)
		}
	}
	if frozen < 3 {
		t.Errorf("got %d modules with a state that cannot be kept, want some", frozen)
	}
}
