package exec

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// plot draws lines and marks over two logarithmic axes.
type plot struct {
	x, y   axis
	series []series
	marks  []mark
}

type axis struct {
	from, to float64
	title    string
	ticks    []tick
}

type tick struct {
	at   float64
	text string
}

type series struct {
	name, colour string
	dashed       bool
	at           [][2]float64
}

// mark is one point beside the lines.
type mark struct {
	name string
	left bool // the name stands left of it
	at   [2]float64
}

// The picture in pixels: the frame of the axes, and room for the names right of it.
const (
	plotWidth, plotHeight  = 820, 460
	plotLeft, plotRight    = 80, 620
	plotTop, plotBottom    = 20, 400
	plotFont, plotBaseline = 12, 4 // half of a digit's height
)

// on is where a value stands between two pixels.
func (a axis) on(v float64, begin, end int) float64 {
	return float64(begin) + math.Log(v/a.from)/math.Log(a.to/a.from)*float64(end-begin)
}

func (p plot) place(at [2]float64) (x, y float64) {
	return p.x.on(at[0], plotLeft, plotRight), p.y.on(at[1], plotBottom, plotTop)
}

// svg is the picture, on a ground of its own, so that it can be read on a dark page too.
func (p plot) svg() string {
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="%d">`+"\n", plotWidth, plotHeight, plotFont)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, plotHeight)
	for _, t := range p.x.ticks {
		x := p.x.on(t.at, plotLeft, plotRight)
		fmt.Fprintf(&s, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, plotTop, plotBottom, x, plotBottom+18, t.text)
	}
	for _, t := range p.y.ticks {
		y := p.y.on(t.at, plotBottom, plotTop)
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft, y, plotRight, plotLeft-8, y+plotBaseline, t.text)
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+plotRight)/2, plotBottom+42, p.x.title)
	fmt.Fprintf(&s, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (plotTop+plotBottom)/2, p.y.title)
	for _, l := range p.series {
		p.line(&s, l)
	}
	for _, m := range p.marks {
		x, y := p.place(m.at)
		anchor, beside := "start", x+8
		if m.left {
			anchor, beside = "end", x-8
		}
		fmt.Fprintf(&s, `<path d="M%.1f %.1fl8 8m0-8l-8 8" stroke="#777" stroke-width="1.5"/><text x="%.1f" y="%.1f" fill="#555" font-size="10" text-anchor="%s">%s</text>`+"\n",
			x-4, y-4, beside, y+plotBaseline, anchor, m.name)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// line draws a series; its name stands behind its last point.
func (p plot) line(s *strings.Builder, l series) {
	var d strings.Builder
	var x, y float64
	for i, at := range l.at {
		x, y = p.place(at)
		fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, l.colour)
	}
	dash := ""
	if l.dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(s, "\n"+`<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/><text x="%d" y="%.1f" fill="%s">%s</text>`+"\n",
		d.String(), l.colour, dash, plotRight+10, y+plotBaseline, l.colour, l.name)
}

func TestPlotPlacesByLogarithm(t *testing.T) {
	p := plot{x: axis{from: 1, to: 100}, y: axis{from: 1, to: 10_000}}
	x, y := p.place([2]float64{10, 100})
	if x != (plotLeft+plotRight)/2 || y != (plotTop+plotBottom)/2 {
		t.Errorf("got %v, %v, want the middle of the picture", x, y)
	}
}
