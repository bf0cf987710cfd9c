package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"reprise/abi"
	"reprise/host"
	"reprise/modules"
)

// TestCheckIsInert fills a report with what a terminal obeys, and with too much.
func TestCheckIsInert(t *testing.T) {
	bad := "\x1b[2J\r\nverdict    taken\u202e\u009b" + strings.Repeat("n", 200)
	many := make([]string, 1000)
	for i := range many {
		many[i] = bad
	}
	report := host.CheckReport{
		Refused:  &modules.RefusedError{Code: "malformed", What: bad + strings.Repeat("w", 1<<20), Where: bad, Fix: bad},
		Module:   modules.Report{Digest: modules.DigestOf(nil), Entries: []string{"a"}, Sections: []modules.SectionReport{{Name: "b", Kind: "asset"}}},
		Manifest: abi.Manifest{SDK: bad, Workflows: many, Activities: many},
		Image:    host.ImageReport{Kind: "warm", Why: bad},
	}
	view := checkView(report)
	var text bytes.Buffer
	writeCheck(&printer{}, &text, view)
	for _, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		if strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) || line == "verdict    taken" {
			t.Errorf("got the line %.300q", line)
		}
	}
	if text.Len() > 32<<10 {
		t.Errorf("got %d bytes of text, want at most 32 KiB", text.Len())
	}
	var out bytes.Buffer
	if err := (&printer{out: &out, format: "json"}).json(view); err != nil {
		t.Fatal(err)
	}
	line, more, _ := strings.Cut(out.String(), "\n")
	if more != "" || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
		t.Errorf("got more than one line, or characters that do not print, in JSON: %.300q", line)
	}
	var back moduleCheck
	if err := json.Unmarshal([]byte(line), &back); err != nil || back.Verdict != "refused" || len(back.Refused.What) > 4<<10 {
		t.Errorf("got %.300q, %v", line, err)
	}
	var told bytes.Buffer
	tell(&told, report.Refused)
	if told.Len() > 4<<10 || strings.Contains(told.String(), "\x1b") {
		t.Errorf("got %d bytes of error: %.300q", told.Len(), told.String())
	}
}

// endless is a stream without an end; it counts what is read from it.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

func TestReadModuleStopsAtTheBound(t *testing.T) {
	var in endless
	_, err := readModule(&in, "-")
	if err == nil || !strings.Contains(err.Error(), "more than 8388608 bytes") {
		t.Errorf("got %v, want a refusal", err)
	}
	if in.read > modules.MaxSize+1 {
		t.Errorf("got %d bytes read, want at most one more than %d", in.read, modules.MaxSize)
	}
	if _, err := readModule(nil, strings.Repeat("d/", 10_000)); err == nil {
		t.Error("got no error for a path that nothing has")
	}
}

func TestPercentIsRoundedUp(t *testing.T) {
	for _, tt := range []struct {
		figure, most int64
		want         string
	}{{0, 100, "0%"}, {1, 100_000, "1%"}, {50, 100, "50%"}, {100, 100, "100%"}, {101, 100, "101%"}, {1 << 40, 1_000_000_000, "109952%"}} {
		if got := percent(tt.figure, tt.most); got != tt.want {
			t.Errorf("got %s for %d of %d, want %s", got, tt.figure, tt.most, tt.want)
		}
	}
}
