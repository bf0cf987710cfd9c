package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"reprise/journal"
)

// clean makes text safe for a terminal: what does not print, such as escape sequences and characters that
// turn the direction of writing, is shown as an escape. Guests and other users choose most of what is shown.
func clean(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += size
	}
	return b.String()
}

// cleanLines is clean for text of several lines.
func cleanLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(clean(l), `\t`, "\t")
	}
	return strings.Join(lines, "\n")
}

// shorten cuts clean text to a number of characters.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// defaultWidth is the width of a table when COLUMNS does not say.
const defaultWidth = 100

func width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 && n <= 1000 {
		return n
	}
	return defaultWidth
}

// table writes rows in aligned columns; the last column is cut where the line would get too long. Cells
// must be clean. The first row is the heading.
func table(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	limit := width()
	for _, row := range rows {
		var line strings.Builder
		at := 0
		for i, cell := range row {
			if i == len(row)-1 {
				line.WriteString(shorten(cell, max(limit-at, 8)))
				break
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			at += widths[i] + 2
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// marks go before a state; the word always stands beside, so that nothing depends on them.
var marks = map[journal.State]string{
	journal.Ready: "○", journal.Running: "●", journal.Waiting: "◐", journal.Paused: "⏸", journal.Blocked: "!",
	journal.Completed: "✓", journal.Failed: "✗", journal.Cancelled: "⊘", journal.Terminated: "⊘",
	journal.TimedOut: "✗", journal.Continued: "→",
}

func stateText(state string) string {
	if m := marks[journal.State(state)]; m != "" {
		return m + " " + state
	}
	return clean(state)
}

// shortTime is the form of a time in tables: to the second, in UTC.
func shortTime(s string) string {
	date, clock, ok := strings.Cut(s, "T")
	if !ok || len(clock) < 8 {
		return clean(s)
	}
	return clean(date + " " + clock[:8] + "Z")
}

// printable says whether text is text: UTF-8, and mostly of characters that print.
func printable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
