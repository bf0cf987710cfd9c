package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"reprise/bench/harness"
	"reprise/bench/plot"
)

// The documentation's text between these lines is written by all.
const (
	begin = "<!-- begin: make bench -->\n"
	end   = "<!-- end: make bench -->\n"
)

// writeDocs puts the medians of the records into BENCHMARKS.md of a folder, and pictures beside it.
func writeDocs(dir string, records []record) error {
	path := filepath.Join(dir, "BENCHMARKS.md")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the lines %q and %q", path, begin, end)
	}
	t := newTable(records)
	text := before + begin + t.markdown() + end + after
	return errors.Join(
		os.WriteFile(path, []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "bench-throughput.svg"), []byte(t.throughput().SVG()), 0o644),
		os.WriteFile(filepath.Join(dir, "bench-latency.svg"), []byte(t.latency().SVG()), 0o644),
	)
}

// table has the records of each system and cell.
type table struct {
	systems []string // in order
	of      map[[2]string][]record
	hello   map[string]record
	missing []string // in words, each once
	seconds []float64
	rounds  int
}

func newTable(records []record) table {
	t := table{of: map[[2]string][]record{}, hello: map[string]record{}}
	for _, s := range everything {
		t.systems = append(t.systems, s.name)
	}
	reasons := map[string]string{}
	for _, r := range records {
		key := [2]string{r.System, r.Cell}
		if r.Missing != "" {
			reasons[r.System+", "+r.Cell] = strings.Join(strings.Fields(r.Missing), " ")
			continue
		}
		t.of[key] = append(t.of[key], r)
		t.hello[r.System] = r
		if r.Cost == nil {
			t.seconds = append(t.seconds, r.Seconds)
		}
		t.rounds = max(t.rounds, len(t.of[key]))
	}
	for what, why := range reasons {
		system, cell, _ := strings.Cut(what, ", ")
		if len(t.of[[2]string{system, cell}]) == 0 {
			t.missing = append(t.missing, fmt.Sprintf("%s: %s", strings.TrimSuffix(what, ", "), why))
		}
	}
	slices.Sort(t.missing)
	return t
}

// median is that of a figure of a system in a cell, 0 when there is none.
func (t table) median(system, cell string, figure func(record) float64) float64 {
	var all []float64
	for _, r := range t.of[[2]string{system, cell}] {
		all = append(all, figure(r))
	}
	return harness.Median(all)
}

func steps(r record) float64     { return r.WorkflowsS * float64(r.Steps) }
func workflows(r record) float64 { return r.WorkflowsS }
func p50(r record) float64       { return r.P50 }
func p99(r record) float64       { return r.P99 }

func (t table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d processors, which the systems share with Postgres and the program that measures; %s s a cell, medians of up to %d\nrounds.\n\n", today(), runtime.NumCPU(), number(harness.Median(t.seconds)), t.rounds)
	column := func(cell string, figure func(record) float64) func(string) string {
		return func(system string) string { return number(t.median(system, cell, figure)) }
	}
	b.WriteString("### Durable steps a second\n\n10 steps, one after the other, at so many workflows in flight; then 100 steps side by side, 8 workflows in flight. The last\ncolumn compares with the best peer on Postgres or its own store at 512.\n\n")
	t.rows(&b, []string{"", "1", "64", "512", "fan-out", "times the best peer"}, column("10x1", steps), column("10x64", steps), column("10x512", steps), column("fan-out", steps), t.times("10x512", steps))
	b.WriteString("\n![Durable steps a second over workflows in flight](bench-throughput.svg)\n\n### Workflows of one step a second\n\n")
	t.rows(&b, []string{"", "1", "64", "512", "times the best peer"}, column("1x1", workflows), column("1x64", workflows), column("1x512", workflows), t.times("1x512", workflows))
	b.WriteString("\n### From start to result, milliseconds\n\nOne workflow in flight.\n\n")
	t.rows(&b, []string{"", "1 step p50", "p99", "10 steps p50", "p99"}, column("1x1", p50), column("1x1", p99), column("10x1", p50), column("10x1", p99))
	b.WriteString("\n![Milliseconds from start to result, p50](bench-latency.svg)\n\n### What a step takes\n\nWorkflows of 10 steps, 64 in flight; the start and the result of the workflow are divided among its steps. Rows are inserted,\nupdated or deleted; fsyncs are of the write-ahead log.\n\n")
	of := func(figure func(*cost) float64) func(string) string {
		return column("cost", func(r record) float64 { return figure(r.Cost) })
	}
	t.rows(&b, []string{"", "CPU ms", "Postgres' CPU ms", "rows", "transactions", "WAL bytes", "fsyncs"},
		of(func(c *cost) float64 { return c.CPU }), of(func(c *cost) float64 { return c.ServerCPU }), of(func(c *cost) float64 { return c.Rows }),
		of(func(c *cost) float64 { return c.Transactions }), of(func(c *cost) float64 { return c.WALBytes }), of(func(c *cost) float64 { return c.Fsyncs }))
	b.WriteString("\n### Versions and settings\n\n")
	for _, s := range t.systems {
		if r, ok := t.hello[s]; ok && !strings.HasPrefix(s, "floor") && s != naive.name {
			fmt.Fprintf(&b, "- %s: %s\n", s, strings.Trim(r.Version+"; "+r.Settings, "; "))
		}
	}
	for _, m := range t.missing {
		fmt.Fprintf(&b, "- Without a figure: %s\n", m)
	}
	return b.String()
}

func (t table) rows(b *strings.Builder, header []string, columns ...func(string) string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, s := range t.systems {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = column(s)
		}
		if strings.Join(cells, "") != "" {
			fmt.Fprintf(b, "| %s | %s |\n", s, strings.Join(cells, " | "))
		}
	}
}

// times compares systems of ours with the best peer that is not on SQLite.
func (t table) times(cell string, figure func(record) float64) func(string) string {
	best := 0.0
	for _, s := range everything {
		if s.peer != "" && s.store != sqlite {
			best = max(best, t.median(s.name, cell, figure))
		}
	}
	return func(system string) string {
		if best == 0 || !strings.HasPrefix(system, byHand.name) || strings.HasSuffix(system, string(sqlite)) {
			return ""
		}
		return number(t.median(system, cell, figure) / best)
	}
}

// number writes a figure with two or three digits that count, nothing for 0.
func number(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func (t table) throughput() plot.Chart {
	c := plot.Chart{Title: "10 steps, one after the other", X: "workflows in flight", Y: "durable steps a second", Ticks: []string{"1", "64", "512"}}
	return t.chart(c, []string{"10x1", "10x64", "10x512"}, steps)
}

func (t table) latency() plot.Chart {
	c := plot.Chart{Title: "From start to result, one workflow in flight", X: "steps", Y: "milliseconds, p50", Ticks: []string{"1", "10"}}
	return t.chart(c, []string{"1x1", "10x1"}, p50)
}

// chart leaves out what would only hide the rest: systems on SQLite, and the guest that is written by hand.
func (t table) chart(c plot.Chart, cells []string, figure func(record) float64) plot.Chart {
	for _, s := range everything {
		if s.store == sqlite || s.name == byHand.name {
			continue
		}
		line := plot.Line{Name: s.name}
		for _, cell := range cells {
			line.Values = append(line.Values, t.median(s.name, cell, figure))
		}
		if slices.Max(line.Values) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	return c
}
