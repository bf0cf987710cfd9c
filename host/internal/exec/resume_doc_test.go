package exec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The marks of the part of PERFORMANCE.md that is generated.
const (
	resumeBegin = "<!-- begin: make bench-resume -->"
	resumeEnd   = "<!-- end: make bench-resume -->"
)

// peer is how long another system took from its restart to the next step of a workflow with so many steps, in seconds. PERFORMANCE.md
// names the versions, and says on what machine.
type peer struct {
	name              string
	thousand, tenThou float64
}

var peers = []peer{
	{"durabletask-go", 0.12, 0.25},
	{"DBOS", 0.44, 5.6},
	{"Restate", 0.66, 0.81},
	{"go-workflows", 30, 1.7},
	{"Temporal", 5.2, 7.0},
}

// writeResume rewrites the plot and the generated part of the page.
func writeResume(dir string, points []resumePoint) error {
	if err := os.WriteFile(filepath.Join(dir, "resume.svg"), []byte(resumePlot(points).svg()), 0o644); err != nil {
		return err
	}
	page := filepath.Join(dir, "PERFORMANCE.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(resumeBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(resumeEnd))
	if !ok || !ok2 {
		return errors.New(page + " does not have the marks of the generated part")
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s%s\n\n%s\n%s%s", before, resumeBegin, resumeTables(points), resumeEnd, after), 0o644)
}

// measuredAt says when and on what figures were measured.
func measuredAt() string {
	load, _ := os.ReadFile("/proc/loadavg")
	fields := bytes.Fields(load)
	return fmt.Sprintf("Measured %s on %d processors; load average at the end %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.NumCPU(), bytes.Join(fields[:min(3, len(fields))], []byte(" ")))
}

func resumeTables(points []resumePoint) string {
	var s strings.Builder
	s.WriteString(measuredAt())
	s.WriteString("| guest | entries | replay, ms | from the checkpoint, ms | restarted, replay, ms | restarted, from the checkpoint, ms | checkpoint, bytes |\n")
	s.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, p := range points {
		fmt.Fprintf(&s, "| %s | %d | %s | %s | %s | %s | %d |\n", p.Guest, p.Entries, threeDigits(p.ReplayMS), threeDigits(p.ThawMS),
			threeDigits(p.RestartReplayMS), threeDigits(p.RestartThawMS), p.PackedBytes)
	}
	s.WriteString("\n| restarted, then the next step | 1,000 steps | 10,000 steps |\n| --- | --- | --- |\n")
	for _, guest := range []string{"Go", "C"} {
		var cells []string
		for _, p := range points {
			if p.Guest == guest && (p.Entries == 1000 || p.Entries == 10_000) {
				cells = append(cells, threeDigits(p.RestartThawMS/1000)+" s")
			}
		}
		fmt.Fprintf(&s, "| Reprise, %s, from a checkpoint | %s |\n", guest, strings.Join(cells, " | "))
	}
	for _, p := range peers {
		fmt.Fprintf(&s, "| %s | %g s | %g s |\n", p.name, p.thousand, p.tenThou)
	}
	return s.String()
}

// threeDigits writes a positive number with three digits that count.
func threeDigits(v float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(v)))), v)
}

func resumePlot(points []resumePoint) plot {
	p := plot{x: axis{from: 80, to: 70_000, title: "entries of the journal", ticks: []tick{{100, "100"}, {1000, "1,000"}, {10_000, "10,000"}, {50_000, "50,000"}}},
		y: axis{from: 0.1, to: 60_000, title: "time to the next step", ticks: []tick{{0.1, "0.1 ms"}, {1, "1 ms"}, {10, "10 ms"}, {100, "100 ms"}, {1000, "1 s"}, {10_000, "10 s"}}}}
	for _, l := range []struct {
		name, guest, colour string
		dashed              bool
		of                  func(resumePoint) float64
	}{
		{"Go, replay", "Go", "#c2410c", false, func(p resumePoint) float64 { return p.ReplayMS }},
		{"C, replay", "C", "#ea9a3e", false, func(p resumePoint) float64 { return p.ReplayMS }},
		{"Go, restarted, checkpoint", "Go", "#1d4ed8", true, func(p resumePoint) float64 { return p.RestartThawMS }},
		{"Go, checkpoint", "Go", "#1d4ed8", false, func(p resumePoint) float64 { return p.ThawMS }},
		{"C, checkpoint", "C", "#0891b2", false, func(p resumePoint) float64 { return p.ThawMS }},
	} {
		s := series{name: l.name, colour: l.colour, dashed: l.dashed}
		for _, p := range points {
			if p.Guest == l.guest {
				s.at = append(s.at, [2]float64{float64(p.Entries), l.of(p)})
			}
		}
		p.series = append(p.series, s)
	}
	for _, q := range peers {
		left := q.name == "DBOS" // stands where Temporal does
		p.marks = append(p.marks, mark{q.name, left, [2]float64{1000, q.thousand * 1000}}, mark{q.name, left, [2]float64{10_000, q.tenThou * 1000}})
	}
	return p
}
