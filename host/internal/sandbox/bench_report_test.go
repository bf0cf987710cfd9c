//go:build linux

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figure is one result, a line of JSON.
type figure struct {
	// Section and Row say what was measured, Name what of it.
	Section string `json:"section"`
	Row     string `json:"row"`
	Name    string `json:"figure"`
	// Value is in Unit: a median over Reps repetitions unless Name says something else.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Reps  int     `json:"reps"`
	// Target is the most that Value may be; null when there is none. Holds says whether it is not more.
	Target *float64 `json:"target"`
	Holds  *bool    `json:"holds"`
}

// fact is a property of the machine or of the run.
type fact struct{ name, value string }

func (b *engineBench) add(section, row, name string, value float64, unit string, reps int) {
	b.figures = append(b.figures, figure{Section: section, Row: row, Name: name, Value: value, Unit: unit, Reps: reps})
}

// aim gives the figure that was added last a target.
func (b *engineBench) aim(most float64) {
	last := &b.figures[len(b.figures)-1]
	holds := last.Value <= most
	last.Target, last.Holds = &most, &holds
}

func (b *engineBench) machine() {
	b.facts = append(b.facts, fact{"processor", fmt.Sprintf("%s, %d cores", lineOf("/proc/cpuinfo", "model name"), runtime.NumCPU())},
		fact{"memory", fmt.Sprintf("%.1f GB", float64(machineMemory())/1e9)},
		fact{"kernel", trimmed("/proc/sys/kernel/osrelease")},
		fact{"huge pages", trimmed("/sys/kernel/mm/transparent_hugepage/enabled")},
		fact{"Go", fmt.Sprintf("%s %s/%s, GOMAXPROCS %d", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))},
		fact{"wazero", versionOf("github.com/tetratelabs/wazero")},
		fact{"load average at the begin", trimmed("/proc/loadavg")})
}

func (b *engineBench) loadAtEnd() {
	b.facts = append(b.facts, fact{"load average at the end, the run's own load included", trimmed("/proc/loadavg")},
		fact{"measured", time.Now().UTC().Format("2006-01-02 15:04 MST")})
}

func trimmed(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func lineOf(file, name string) string {
	for line := range strings.Lines(trimmed(file)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// versionOf is the version of a module that go.mod asks for; a test's binary does not know what it was built of.
func versionOf(module string) string {
	for line := range strings.Lines(trimmed("../../../go.mod")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == module {
			return f[1]
		}
	}
	return "unknown"
}

// The marks of the part of the page that is generated.
const (
	beginMark = "<!-- begin: make bench-engine -->"
	endMark   = "<!-- end: make bench-engine -->"
)

// report writes the figures as lines of JSON, and as tables into a page if there is one.
func (b *engineBench) report(w io.Writer, page string) error {
	enc := json.NewEncoder(w)
	for _, f := range b.facts {
		if err := enc.Encode(map[string]string{"fact": f.name, "value": f.value}); err != nil {
			return err
		}
	}
	for _, f := range b.figures {
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
	if page == "" {
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(beginMark))
	_, after, ok2 := bytes.Cut(rest, []byte(endMark))
	if !ok || !ok2 {
		return errors.New(page + " does not have the marks of the generated part")
	}
	return os.WriteFile(page, fmt.Appendf(nil, "%s%s\n\n%s\n%s%s", before, beginMark, b.tables(), endMark, after), 0o644)
}

func (b *engineBench) tables() string {
	var s strings.Builder
	row(&s, "machine and run", "")
	row(&s, "---", "---")
	for _, f := range b.facts {
		row(&s, f.name, f.value)
	}
	s.WriteString("\n### Targets\n\n")
	row(&s, "figure", "value", "target", "")
	row(&s, "---", "---", "---", "---")
	var sections []string
	for _, f := range b.figures {
		if f.Target != nil {
			verdict := map[bool]string{true: "holds", false: "**does not hold**"}[*f.Holds]
			row(&s, fmt.Sprintf("%s: %s, %s", f.Section, f.Row, f.Name), number(f.Value)+" "+f.Unit, "at most "+number(*f.Target)+" "+f.Unit, verdict)
		}
		if !slices.Contains(sections, f.Section) {
			sections = append(sections, f.Section)
		}
	}
	for _, name := range sections {
		s.WriteString("\n### " + name + "\n\n")
		b.table(&s, name)
	}
	return s.String()
}

// table has a line for each row and a column for each figure of a section.
func (b *engineBench) table(s *strings.Builder, section string) {
	rows, columns := newOrder(), newOrder()
	cells := map[[2]int]string{}
	reps := map[int]bool{}
	for _, f := range b.figures {
		if f.Section != section {
			continue
		}
		at := [2]int{rows.of(f.Row), columns.of(strings.TrimSuffix(f.Name+", "+f.Unit, ", "))}
		cells[at] = number(f.Value)
		reps[f.Reps] = true
	}
	row(s, append([]string{""}, columns.names...)...)
	row(s, append([]string{"---"}, make([]string, len(columns.names))...)...)
	for i, name := range rows.names {
		line := []string{name}
		for j := range columns.names {
			line = append(line, cmp.Or(cells[[2]int{i, j}], "–"))
		}
		row(s, line...)
	}
}

func row(s *strings.Builder, cells ...string) {
	for i, c := range cells {
		if c == "" && i > 0 && cells[0] == "---" {
			cells[i] = "---"
		}
	}
	s.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// number has three digits that count.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	text := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

// order numbers names as they come.
type order struct {
	names []string
	index map[string]int
}

func newOrder() *order { return &order{index: map[string]int{}} }

func (o *order) of(name string) int {
	i, ok := o.index[name]
	if !ok {
		i = len(o.names)
		o.index[name], o.names = i, append(o.names, name)
	}
	return i
}
