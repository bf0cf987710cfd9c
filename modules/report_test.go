package modules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// inspect is Inspect with what must hold for every file.
func inspect(t testing.TB, file []byte) (Report, *RefusedError) {
	t.Helper()
	p, r, err := Inspect(context.Background(), file)
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *RefusedError", err)
	}
	_, want := Prepare(context.Background(), file)
	if diff := cmp.Diff(text(want), text(err)); diff != "" {
		t.Errorf("Prepare and Inspect say different things (-Prepare +Inspect):\n%s", diff)
	}
	if r.Digest != DigestOf(file) || r.Size != int64(len(file)) {
		t.Errorf("got %s of %d bytes", r.Digest, r.Size)
	}
	b, jerr := json.Marshal(r)
	if jerr != nil {
		t.Fatal(jerr)
	}
	for tokens := json.NewDecoder(bytes.NewReader(b)); ; {
		token, err := tokens.Token()
		if err != nil {
			break
		}
		if s, ok := token.(string); ok && (strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) || len(s) > 500) {
			t.Errorf("got %.600q, want what prints in 500 bytes", s)
		}
	}
	if len(b) > 256<<10 {
		t.Errorf("got a report of %d bytes, want at most 256 KiB", len(b))
	}
	if err == nil && (p == nil || r.Shape == "" || r.Rewritten == nil || r.Freeze == nil || r.Freeze.Reason == "" || len(r.Limits) == 0) {
		t.Errorf("got %+v for a module that is taken, want all of it", r)
	}
	for _, l := range r.Limits {
		if err == nil && l.Figure > l.Most {
			t.Errorf("got %+v in a module that is taken", l)
		}
	}
	return r, refused
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func use(t testing.TB, r Report, what string) LimitUse {
	t.Helper()
	i := slices.IndexFunc(r.Limits, func(l LimitUse) bool { return strings.Contains(l.What, what) })
	if i < 0 {
		t.Fatalf("got limits %v, want one of %q", r.Limits, what)
	}
	return r.Limits[i]
}

func TestInspectFixtures(t *testing.T) {
	for name, file := range fixtures(t) {
		t.Run(name, func(t *testing.T) { inspect(t, file) })
	}
	r, refused := inspect(t, fixtures(t)["manifest"])
	if refused != nil {
		t.Fatal(refused)
	}
	if diff := cmp.Diff([]string{"reprise_run"}, r.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	w := *r.Rewritten
	if w.CodeBefore == 0 || w.CodeAfter <= w.CodeBefore || w.Growth <= 0 || w.ChargePoints == 0 || w.Functions != 1 || w.Instructions == 0 {
		t.Errorf("got %+v, want code that has grown", w)
	}
	if w.MemoryPages != 3 || w.MemoryMost != MaxMemoryPages || w.TableMost != 0 {
		t.Errorf("got memory %d to %d and a table up to %d, want 3 to %d and none", w.MemoryPages, w.MemoryMost, w.TableMost, MaxMemoryPages)
	}
}

// TestInspectSaysWhatTheCheckMeasures takes the shapes at their limits and one above.
func TestInspectSaysWhatTheCheckMeasures(t *testing.T) {
	for _, s := range atLimits {
		t.Run(s.name, func(t *testing.T) {
			r, refused := inspect(t, program(function(0), s.make(s.limit)))
			if refused != nil {
				t.Fatal(refused)
			}
			if u := use(t, r, s.say); u.Figure != int64(s.limit) || u.Most != int64(s.limit) || u.Function != "function 1" {
				t.Errorf("got %+v, want all of %d in function 1", u, s.limit)
			}
			r, refused = inspect(t, program(function(0), s.make(s.limit+s.step)))
			if refused == nil {
				t.Fatal("got no refusal above the limit")
			}
			if u := use(t, r, s.say); u.Figure != int64(s.limit+s.step) || u.Function != "function 1" {
				t.Errorf("got %+v, want %d in function 1", u, s.limit+s.step)
			}
		})
	}
}

// TestInspectListsAllImports goes on where the check stops.
func TestInspectListsAllImports(t *testing.T) {
	imports := bytes.Join([][]byte{
		str("env"), str("abort"), {0, 0},
		str("wasi_snapshot_preview1"), str("proc_exit"), {0, 1}, // of another type
		str("wasi_snapshot_preview1"), str("sched_yield"), {0, 2},
		str("env"), str("memory"), {2, 0, 1},
	}, nil)
	file := with(header, section(1, []byte{3, 0x60, 0, 0, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f}),
		section(2, []byte{4}, imports), section(3, []byte{1, 0}), section(7, []byte{1}, str("_start"), []byte{0, 3}), section(10, []byte{1, 2, 0, 0x0b}))
	r, refused := inspect(t, file)
	if refused == nil || refused.Code != "unknown_import" {
		t.Fatalf("got %v, want unknown_import", refused)
	}
	var got []string
	for _, im := range r.Imports {
		if im.Allowed != (im.Why == "") || im.Allowed != (im.Fix == "") {
			t.Errorf("got %+v", im)
		}
		got = append(got, im.Name+" "+im.Type+map[bool]string{true: " yes", false: " no"}[im.Allowed])
	}
	want := []string{"env.abort () -> () no", "wasi_snapshot_preview1.proc_exit (i32) -> i32 no", "wasi_snapshot_preview1.sched_yield () -> i32 yes", "env.memory memory no"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInspectSections(t *testing.T) {
	file := with(program(function(0)), custom(AssetPrefix+"main.js", "12345"), custom("producers", "x"), custom("name", ""))
	r, refused := inspect(t, file)
	if refused != nil {
		t.Fatal(refused)
	}
	want := []SectionReport{{AssetPrefix + "main.js", 5, "asset"}, {"producers", 1, "dropped"}, {"name", 0, "names"}}
	if diff := cmp.Diff(want, r.Sections); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r, _ = inspect(t, with(file, times(500, custom("more", ""))))
	if len(r.Sections) != maxReported || r.MoreSections != 503-maxReported {
		t.Errorf("got %d sections and %d more", len(r.Sections), r.MoreSections)
	}
}

// TestHostileNames puts what a terminal obeys, and what is too long, wherever a module has a name.
func TestHostileNames(t *testing.T) {
	for name, bad := range map[string]string{
		"escape": "\x1b[2J\x1b]0;x\x07", "lines": "a\r\nverdict    taken\n", "direction": "\u202egnp.exe", "eight bits": "\u009b31m",
		"nul": "a\x00b", "separator": "a\u2028b", "long": strings.Repeat("n", 1<<20), "long escapes": strings.Repeat("\x1b", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			inspect(t, importing(bad, bad))
			if r, refused := inspect(t, with(exporting(bad, []byte{0, 0}), custom(bad, "x"))); refused == nil && !slices.ContainsFunc(r.Entries, func(e string) bool { return e != "reprise_run" }) {
				t.Errorf("got entries %q", r.Entries)
			}
			entry := append([]byte{1, 0}, str(bad)...)
			named := with(program(function(2_000, fill)), custom("name", string(append(append([]byte{1}, leb(len(entry))...), entry...))))
			if r, refused := inspect(t, named); refused == nil && strings.Contains(use(t, r, "locals of a function").Function, "taken") {
				t.Errorf("got %+v", r.Limits)
			}
		})
	}
}

func TestInspectWhatIsNoModule(t *testing.T) {
	for name, file := range map[string][]byte{"empty": nil, "text": []byte("#!/bin/sh"), "cut": fixtures(t)["echo"][:40], "too large": make([]byte, MaxSize+1)} {
		if r, refused := inspect(t, file); refused == nil || r.Limits != nil || r.Imports != nil {
			t.Errorf("%s: got %v and %+v, want a refusal and nothing but the digest", name, refused, r)
		}
	}
}

func TestCheckSize(t *testing.T) {
	var refused *RefusedError
	if err := CheckSize(MaxSize); err != nil {
		t.Errorf("got %v for the largest, want none", err)
	}
	if err := CheckSize(MaxSize + 1); !errors.As(err, &refused) || refused.Code != "too_large" {
		t.Errorf("got %v for one byte more, want too_large", err)
	}
	if _, err := Prepare(t.Context(), make([]byte, MaxSize+1)); text(err) != text(CheckSize(MaxSize+1)) {
		t.Errorf("got %v from Prepare, want %v", err, CheckSize(MaxSize+1))
	}
}

func TestInspectRandomFlips(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, file := range fixtures(t) {
		for range 100 {
			b := bytes.Clone(file)
			for range 1 + rng.IntN(4) {
				b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			}
			inspect(t, b)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, file := range fixtures(f) {
		f.Add(file)
	}
	for _, name := range []string{"table", "reference", "gogo", "start"} {
		f.Add(freezeFixture(f, name))
	}
	f.Fuzz(func(t *testing.T, file []byte) { inspect(t, file) })
}
