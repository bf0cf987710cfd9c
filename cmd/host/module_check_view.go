package main

import (
	"fmt"
	"io"
	"strings"

	"reprise/host"
	"reprise/modules"
)

// Bounds of what is shown: one text of a refusal, in characters, and the names of one kind in text.
const (
	maxRefusalText = 1000
	maxNamesShown  = 20
)

// moduleCheck is the JSON form of a check.
type moduleCheck struct {
	// Verdict is "taken" or "refused".
	Verdict string         `json:"verdict"`
	Refused *moduleRefused `json:"refused,omitempty"`
	// Module is absent when the file was not read.
	Module     *modules.Report `json:"module,omitempty"`
	SDK        string          `json:"sdk,omitempty"`
	Workflows  []string        `json:"workflows,omitempty"`
	Activities []string        `json:"activities,omitempty"`
	Image      *moduleImage    `json:"image,omitempty"`
}

// moduleRefused is why a module is not taken; docs/ERRORS.md lists the codes.
type moduleRefused struct {
	Code  string `json:"code"`
	What  string `json:"what"`
	Where string `json:"where"`
	Fix   string `json:"fix"`
}

// moduleImage says what a module's instances begin from.
type moduleImage struct {
	Kind string `json:"kind"`
	Why  string `json:"why,omitempty"`
	// Bytes of memory that an instance begins with.
	Bytes int64 `json:"bytes"`
}

// checkView makes the report safe to show: the module chose most names in it.
func checkView(r host.CheckReport) moduleCheck {
	short := func(s string) string { return shorten(clean(s), maxRefusalText) }
	v := moduleCheck{Verdict: "taken", SDK: clean(r.Manifest.SDK), Workflows: cleanAll(r.Manifest.Workflows), Activities: cleanAll(r.Manifest.Activities)}
	if e := r.Refused; e != nil {
		v.Verdict = "refused"
		v.Refused = &moduleRefused{Code: short(e.Code), What: short(e.What), Where: short(e.Where), Fix: short(e.Fix)}
	}
	if r.Module.Digest != "" {
		v.Module = &r.Module
	}
	if r.Image.Kind != "" {
		v.Image = &moduleImage{Kind: clean(r.Image.Kind), Why: short(r.Image.Why), Bytes: r.Image.Bytes}
	}
	return v
}

func cleanAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = clean(n)
	}
	return out
}

// someNames joins some names and counts the rest.
func someNames(all []string) string {
	shown := all[:min(len(all), maxNamesShown)]
	text := strings.Join(shown, " ")
	if more := len(all) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// writeCheck is the form for people.
func writeCheck(p *printer, w io.Writer, v moduleCheck) {
	verdict := v.Verdict
	if v.Refused != nil {
		verdict += ": " + v.Refused.Code
	}
	if v.Module == nil {
		pairs(w, [2]string{"verdict", verdict})
		return
	}
	m := v.Module
	pairs(w,
		[2]string{"verdict", verdict}, [2]string{"digest", string(m.Digest)}, [2]string{"size", fmt.Sprintf("%d bytes", m.Size)}, [2]string{"shape", string(m.Shape)},
		[2]string{"sdk", v.SDK}, [2]string{"workflows", someNames(v.Workflows)}, [2]string{"activities", someNames(v.Activities)}, [2]string{"entries", someNames(m.Entries)},
	)
	if f := m.Freeze; f != nil {
		pairs(w, [2]string{"freeze", fmt.Sprintf("%s: %s", f.Kind, f.Reason)})
		if f.Functions > 0 {
			pairs(w, [2]string{"waits", fmt.Sprintf("%d functions can reach a wait, by %d calls", f.Functions, f.Sites)})
		}
	}
	if v.Image != nil {
		text := fmt.Sprintf("%s, %d bytes of memory", v.Image.Kind, v.Image.Bytes)
		if v.Image.Why != "" {
			text += ": " + v.Image.Why
		}
		pairs(w, [2]string{"image", text})
	}
	if m.Rewritten != nil {
		writeRewritten(w, m.Rewritten)
	}
	writeCheckTables(p, w, m)
}

func writeRewritten(w io.Writer, r *modules.RewriteReport) {
	memory := "none"
	if r.MemoryMost > 0 {
		memory = fmt.Sprintf("%d pages of 64 KiB at the start, at most %d", r.MemoryPages, r.MemoryMost)
	}
	pairs(w,
		[2]string{"gas", fmt.Sprintf("%d charge points for %d instructions, %d more for the size of an operand", r.ChargePoints, r.Instructions, r.SizedCharges)},
		[2]string{"code", fmt.Sprintf("%d bytes, as compiled %d (%+.1f %%)", r.CodeBefore, r.CodeAfter, r.Growth)},
		[2]string{"depth", fmt.Sprintf("%d of %d functions count in the depth of calls", r.DepthFunctions, r.Functions)},
		[2]string{"nan", fmt.Sprintf("%d instructions give one bit pattern for NaN", r.CanonicalNaNs)},
		[2]string{"memory", memory},
	)
	if r.SavingFunctions > 0 {
		pairs(w, [2]string{"frames", fmt.Sprintf("%d functions save theirs in a wait, at %d calls; the largest has %d values", r.SavingFunctions, r.SavingSites, r.SavedValues)})
	}
	if r.TableMost > 0 {
		pairs(w, [2]string{"table", fmt.Sprintf("%d entries at the start, at most %d", r.TableEntries, r.TableMost)})
	}
}

func writeCheckTables(p *printer, w io.Writer, m *modules.Report) {
	if len(m.Imports) > 0 {
		rows := [][]string{{"IMPORT", "ALLOWED", "TYPE"}}
		for _, im := range m.Imports {
			row := []string{shorten(im.Name, 60), "yes", im.Type}
			if !im.Allowed {
				row[1], row[2] = "NO", im.Why
			}
			rows = append(rows, row)
		}
		fmt.Fprintln(w)
		p.table(w, rows)
	}
	if len(m.Limits) > 0 {
		rows := [][]string{{"LIMIT", "FIGURE", "MOST", "USED", "IN FUNCTION"}}
		for _, l := range m.Limits {
			rows = append(rows, []string{l.What, fmt.Sprint(l.Figure), fmt.Sprint(l.Most), percent(l.Figure, l.Most), strings.TrimPrefix(l.Function, "function ")})
		}
		fmt.Fprintln(w)
		p.table(w, rows)
	}
	if len(m.Sections) > 0 {
		rows := [][]string{{"BYTES", "KIND", "CUSTOM SECTION"}}
		for _, s := range m.Sections {
			rows = append(rows, []string{fmt.Sprint(s.Bytes), s.Kind, s.Name})
		}
		fmt.Fprintln(w)
		p.table(w, rows)
		if m.MoreSections > 0 {
			fmt.Fprintf(w, "and %d more\n", m.MoreSections)
		}
	}
}

// percent is how much of a limit is used, rounded up: what is used at all is never 0 %.
func percent(figure, most int64) string {
	return fmt.Sprintf("%d%%", (figure*100+most-1)/most)
}
