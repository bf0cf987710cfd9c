package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestSVGIsXMLWithEveryLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		chart Chart
		lines int // polylines
		marks int // circles
		names []string
	}{
		{"nothing", Chart{Title: "nothing"}, 0, 0, nil},
		{"text is escaped", Chart{Title: "a < b & c", Ticks: []string{"1", "64"}, Lines: []Line{{"<x>", []float64{3, 30}}}}, 1, 2, []string{"&lt;x&gt;"}},
		{"what is missing is left out", Chart{Ticks: []string{"1", "64", "512"}, Lines: []Line{{"some", []float64{5, 0, 7}}, {"none", []float64{0, 0, 0}}}}, 1, 2, []string{"some"}},
		{"one place", Chart{Ticks: []string{"1"}, Lines: []Line{{"a", []float64{0.02}}, {"b", []float64{900}}}}, 2, 2, []string{"a", "b"}},
		{"more figures than places", Chart{Ticks: []string{"1"}, Lines: []Line{{"a", []float64{1, 2}}}}, 1, 1, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			svg := c.chart.SVG()
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				_, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("not XML: %v\n%s", err, svg)
				}
			}
			if got := strings.Count(svg, "<polyline"); got != c.lines {
				t.Errorf("got %d lines, want %d", got, c.lines)
			}
			if got := strings.Count(svg, "<circle"); got != c.marks {
				t.Errorf("got %d marks, want %d", got, c.marks)
			}
			for _, name := range c.names {
				if !strings.Contains(svg, ">"+name+"</text>") {
					t.Errorf("the name %q is not in it", name)
				}
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("a place is not a number:\n%s", svg)
			}
		})
	}
}

// Lines that end at the same height have names that can be read.
func TestNamesKeepApart(t *testing.T) {
	c := Chart{Ticks: []string{"1", "64"}}
	for i := range 12 {
		c.Lines = append(c.Lines, Line{"line" + strconv.Itoa(i), []float64{10, 10}})
	}
	last := -1.0
	for _, m := range regexp.MustCompile(`y="([0-9.]+)" fill="[^"]+">line`).FindAllStringSubmatch(c.SVG(), -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if last >= 0 && y-last < labelGap-0.2 {
			t.Errorf("got names at %g and %g, want %d between them", last, y, labelGap)
		}
		if y > height {
			t.Errorf("got a name at %g, outside the picture", y)
		}
		last = y
	}
	if last < 0 {
		t.Error("no name was found")
	}
}

func TestNumber(t *testing.T) {
	for decade, want := range map[int]string{-2: "0.01", 0: "1", 2: "100", 3: "1,000", 5: "100,000", 6: "1,000,000"} {
		if got := number(decade); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
