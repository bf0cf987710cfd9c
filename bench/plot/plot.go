// Package plot draws charts as SVG: one line a system over a few places on the x axis, with a logarithmic y axis. It knows
// nothing of what it draws and uses nothing but the standard library.
package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Chart is some lines over the same places.
type Chart struct {
	Title string
	X, Y  string   // what the axes are
	Ticks []string // the places on the x axis, evenly apart
	Lines []Line
}

// Line is a system's figures.
type Line struct {
	Name string
	// Values are one for each tick; what is not above 0 is left out.
	Values []float64
}

// The picture's measures, in pixels.
const (
	width, height           = 760, 420
	left, right, top, below = 70, 230, 44, 54
	plotWidth               = width - left - right
	plotHeight              = height - top - below
	labelGap                = 14 // between the names of two lines
)

// colours can be told apart by those who do not see red from green (Okabe and Ito); the dash tells a second round of them.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"}

// SVG is the picture. A chart without figures has axes from 1 to 10.
func (c Chart) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#222">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&b, width/2, 22, "middle", c.Title)
	low, high := c.decades()
	y := func(v float64) float64 {
		return top + plotHeight*(1-(math.Log10(v)-float64(low))/float64(high-low))
	}
	for d := low; d <= high; d++ {
		at := y(math.Pow10(d))
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, left+plotWidth, at, at)
		text(&b, left-6, at+4, "end", number(d))
	}
	for i, tick := range c.Ticks {
		text(&b, c.x(i), top+plotHeight+18, "middle", tick)
	}
	text(&b, left+plotWidth/2, height-12, "middle", c.X)
	fmt.Fprintf(&b, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", top+plotHeight/2, html.EscapeString(c.Y))
	c.lines(&b, y)
	b.WriteString("</svg>\n")
	return b.String()
}

func (c Chart) x(i int) float64 {
	if len(c.Ticks) < 2 {
		return left + plotWidth/2
	}
	return left + plotWidth*(0.06+0.88*float64(i)/float64(len(c.Ticks)-1))
}

// decades are the powers of ten that hold all figures.
func (c Chart) decades() (low, high int) {
	low, high = math.MaxInt, math.MinInt
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if v > 0 {
				low, high = min(low, int(math.Floor(math.Log10(v)))), max(high, int(math.Ceil(math.Log10(v))))
			}
		}
	}
	switch {
	case low > high:
		return 0, 1
	case low == high:
		return low, low + 1
	}
	return low, high
}

// lines draws the lines, and their names at the right, the highest first and none over another.
func (c Chart) lines(b *strings.Builder, y func(float64) float64) {
	type end struct {
		line int
		x, y float64
	}
	var ends []end
	for n, l := range c.Lines {
		var points []string
		var last end
		for i, v := range l.Values {
			if v > 0 && i < len(c.Ticks) {
				last = end{n, c.x(i), y(v)}
				points = append(points, fmt.Sprintf("%.1f,%.1f", last.x, last.y))
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", last.x, last.y, colour(n))
			}
		}
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(points, " "), colour(n), dash(n))
		ends = append(ends, last)
	}
	slices.SortStableFunc(ends, func(a, b end) int { return int(math.Copysign(1, a.y-b.y)) })
	at := math.Inf(-1)
	for i, e := range ends {
		// What is still to come needs room below.
		at = max(at+labelGap, min(e.y, float64(top+plotHeight-labelGap*(len(ends)-1-i))))
		fmt.Fprintf(b, `<line x1="%.1f" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="0.7"/>`+"\n", e.x+4, left+plotWidth+8, e.y, at, colour(e.line))
		fmt.Fprintf(b, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", left+plotWidth+12, at+4, colour(e.line), html.EscapeString(c.Lines[e.line].Name))
	}
}

func colour(n int) string { return colours[n%len(colours)] }

func dash(n int) string {
	if n < len(colours) {
		return ""
	}
	return ` stroke-dasharray="6 3"`
}

func text(b *strings.Builder, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
}

// number writes a power of ten as people read it.
func number(decade int) string {
	if decade < 0 {
		return fmt.Sprintf("%.*f", -decade, math.Pow10(decade))
	}
	digits := "1" + strings.Repeat("0", decade)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
