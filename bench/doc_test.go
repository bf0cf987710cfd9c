package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/bench/harness"
)

func TestWriteDocs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "BENCHMARKS.md")
	if err := os.WriteFile(path, []byte("by hand\n"+begin+"old\n"+end+"also\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(system, cell string, rate float64) record {
		return record{System: system, Cell: cell, Steps: 10, Result: harness.Result{WorkflowsS: rate, P50: 1, P99: 2}}
	}
	records := []record{
		at("reprise", "10x512", 3000), at("reprise", "10x512", 1000), at("reprise", "10x512", 2000),
		at("dbos", "10x512", 400), at("restate", "10x512", 500), at("dbos, SQLite", "10x512", 9000),
		{System: "temporal", Missing: "no\nserver"}, {System: "dbos", Cell: "fan-out", Missing: "too slow"},
	}
	if err := writeDocs(dir, records); err != nil {
		t.Fatalf("writeDocs: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(content)
	for _, want := range []string{"by hand\n", "| reprise |  |  | 20,000 |  | 4.00 |\n", "| dbos |  |  | 4,000 |  |  |\n",
		"- Without a figure: temporal: no server\n", "- Without a figure: dbos, fan-out: too slow\n", end + "also\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("has the old figures:\n%s", got)
	}
	for _, name := range []string{"bench-throughput.svg", "bench-latency.svg"} {
		if svg, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(svg), "<svg") {
			t.Errorf("%s: got %.20q, %v; want a picture", name, svg, err)
		}
	}
}

func TestWriteDocsRefusesAFileWithoutItsPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "BENCHMARKS.md"), []byte("by hand\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeDocs(dir, nil); err == nil {
		t.Error("got no error")
	}
}

func TestNumber(t *testing.T) {
	tests := map[float64]string{0: "", 0.012: "0.012", 0.5: "0.50", 9.876: "9.88", 12.34: "12.3", 999: "999", 1234567: "1,234,567"}
	for v, want := range tests {
		if got := number(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestRecordsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	want := []record{{System: "a", Cell: "1x1", Cost: &cost{Rows: 1.5}}, {System: "b", Missing: "why"}}
	if got, err := readRecords(path); err != nil || got != nil {
		t.Errorf("without a file: got %v, %v; want nothing", got, err)
	}
	if err := writeRecords(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := readRecords(path)
	if err != nil || len(got) != 2 || got[0].Cost.Rows != 1.5 || got[1].Missing != "why" {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
