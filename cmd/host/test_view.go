package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reprise/host/api/wire"
	"reprise/host/testkit"
)

// testView is the JSON form of what test found.
type testView struct {
	Module string     `json:"module"`
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Cases  []caseView `json:"cases"`
}

// caseView is one case of it.
type caseView struct {
	Name         string            `json:"name"`
	OK           bool              `json:"ok"`
	Problems     []string          `json:"problems,omitempty"`
	Fix          string            `json:"fix,omitempty"`
	State        string            `json:"state,omitempty"`
	Output       json.RawMessage   `json:"output,omitempty"`
	OutputBase64 []byte            `json:"output_base64,omitempty"`
	Failure      json.RawMessage   `json:"failure,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Waiting      string            `json:"waiting,omitempty"`
	Elapsed      string            `json:"elapsed,omitempty"`
	Cuts         int               `json:"cuts,omitempty"`
	Log          []string          `json:"log,omitempty"`
	Journal      []json.RawMessage `json:"journal,omitempty"`
}

func (v *testView) add(r testkit.Report) {
	c := caseView{Name: r.Name, OK: r.OK(), Problems: r.Problems, Fix: r.Fix, Cuts: r.Cuts}
	if res := r.Result; res != nil {
		c.State, c.Reason, c.Waiting, c.Elapsed, c.Log = string(res.State), res.Reason, res.Waiting, res.Elapsed.String(), res.Log
		c.Output, c.OutputBase64 = wire.Payload(res.Output)
		if res.Failure != nil {
			c.Failure = res.Failure.Encode()
		}
		for _, e := range res.Journal() {
			if b, err := wire.Marshal(e); err == nil {
				c.Journal = append(c.Journal, b)
			}
		}
	}
	if c.OK {
		v.Passed++
	} else {
		v.Failed++
	}
	v.Cases = append(v.Cases, c)
}

// verdict is the error that the command ends with.
func (v testView) verdict(diverged bool) error {
	if v.Failed == 0 {
		return nil
	}
	err := errors.New("1 case is not as expected")
	if v.Failed > 1 {
		err = fmt.Errorf("%d cases are not as expected", v.Failed)
	}
	if diverged {
		return &exitError{code: exitMismatch, err: err}
	}
	return err
}

// tellCase writes a case for people.
func (t *tester) tellCase(r testkit.Report) {
	mark := "ok  "
	if !r.OK() {
		mark = "FAIL"
	}
	fmt.Fprintf(t.out, "%s  %s", mark, clean(r.Name))
	if res := r.Result; res != nil {
		fmt.Fprintf(t.out, "  (%d entries, %s by the run's clock%s)", len(res.Entries), res.Elapsed, cutText(r.Cuts))
	}
	fmt.Fprintln(t.out)
	for _, p := range r.Problems {
		fmt.Fprintf(t.out, "      %s\n", strings.ReplaceAll(cleanLines(p), "\n", "\n      "))
	}
	if r.Fix != "" {
		fmt.Fprintf(t.out, "      fix  %s\n", clean(r.Fix))
	}
	if t.journal && r.Result != nil {
		t.tellJournal(r.Result)
	}
}

func cutText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", cut %d times", n)
}

func (t *tester) tellJournal(r *testkit.Result) {
	rows := [][]string{{"      SEQ", "AT", "KIND", "NAME", "STATUS", "REQUEST → PAYLOAD"}}
	for _, e := range r.Journal() {
		what := clean(preview(e.Payload, e.PayloadBase64))
		if request := clean(preview(e.Request, e.RequestBase64)); request != "" {
			what = strings.TrimSuffix(shorten(request, 24)+" → "+what, " → ")
		}
		rows = append(rows, []string{fmt.Sprintf("      %3d", e.Seq), e.At, clean(e.Kind), shorten(clean(e.Name), 24), clean(e.Status), what})
	}
	table(t.out, rows)
}
