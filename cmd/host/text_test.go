package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"reprise/host/api/wire"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `a ü 漢 "x"`, `a ü 漢 "x"`},
		{"escape sequence", "\x1b[31mred", `\x1b[31mred`},
		{"C1 control", "\u009b2J", `\u009b2J`},
		{"end of line", "a\r\nb", `a\r\nb`},
		{"turned direction", "a\u202ecba", `a\u202ecba`},
		{"not UTF-8", "a\xffb", `a\xffb`},
		{"zero byte", "a\x00", `a\x00`},
		{"quote", "'", "'"},
	}
	for _, tt := range tests {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Add("\u2028\u202e\xc3")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range clean(s) {
			if !unicode.IsPrint(r) {
				t.Fatalf("clean(%q) has %q", s, r)
			}
		}
		for _, r := range cleanLines(s) {
			if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
				t.Fatalf("cleanLines(%q) has %q", s, r)
			}
		}
	})
}

func TestTableAlignsAndCuts(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	var b bytes.Buffer
	table(&b, [][]string{{"ID", "STATE", "WHAT"}, {"1", "✓ completed", strings.Repeat("x", 80)}, {"22", "✗", ""}})
	want := "ID  STATE        WHAT\n1   ✓ completed  " + strings.Repeat("x", 22) + "…\n22  ✗\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestEntryRowIsSafe(t *testing.T) {
	row := entryRow(wire.Entry{
		Seq: 3, Kind: "effect", Op: 2, Name: "a\x1b[2J", Status: "ok", At: "2026-01-02T03:04:05.000000Z",
		Request: []byte(`"` + strings.Repeat("r", 60) + `"`), PayloadBase64: []byte("\x00\x1b\xff"),
	})
	want := []string{"3", "effect", "2", `a\x1b[2J`, "ok", "2026-01-02 03:04:05Z", `"rrrrrrrrrrrrrrrrrrrrrr… → 001bff`}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if got := preview(nil, []byte("text\x1b that is no JSON")); clean(got) != `text\x1b that is no JSON` {
		t.Errorf("got %q, want text shown as text", got)
	}
	if got := preview([]byte(`"`+strings.Repeat("x", 900)+`"`), nil); !strings.HasSuffix(got, "… (902 bytes)") {
		t.Errorf("got %q, want a cut that says how long the payload is", got)
	}
}
