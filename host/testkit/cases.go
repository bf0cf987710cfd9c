package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/abi"
)

// Spec is one case of a file of cases: what to play, and what is to come of it.
type Spec struct {
	Case
	Expect Expect
	// Resume says that the run is also cut after each entry of its journal and carried on.
	Resume bool
}

// CasesError says what is wrong with a file of cases.
type CasesError struct {
	Where string // "case 2 (declined)", "" for the file
	What  string
	Fix   string
}

// Error says where and what.
func (e *CasesError) Error() string {
	if e.Where == "" {
		return e.What
	}
	return e.Where + ": " + e.What
}

// fileCase is the form of a case in a file. docs/TESTING.md describes each field.
type fileCase struct {
	Name       string                     `json:"name"`
	Workflow   string                     `json:"workflow"`
	Input      json.RawMessage            `json:"input"`
	InputText  *string                    `json:"input_text"`
	Start      *time.Time                 `json:"start"`
	Effects    map[string]json.RawMessage `json:"effects"`
	Activities map[string]json.RawMessage `json:"activities"`
	Signals    []fileSignal               `json:"signals"`
	Queries    []fileQuery                `json:"queries"`
	CancelAt   json.RawMessage            `json:"cancel_at"`
	Resume     *bool                      `json:"resume"`
	Limits     abi.Limits                 `json:"limits"`
	Expect     *fileExpect                `json:"expect"`
}

type fileSignal struct {
	Name         string          `json:"name"`
	Payload      json.RawMessage `json:"payload"`
	PayloadText  *string         `json:"payload_text"`
	At           string          `json:"at"`
	AfterEntries int64           `json:"after_entries"`
}

type fileCancel struct {
	At           string `json:"at"`
	AfterEntries int64  `json:"after_entries"`
	Reason       string `json:"reason"`
}

// ReadCases reads a file of cases: JSON, or YAML, which has JSON in it. It is a list, or an object whose only field is cases.
// Returns a *CasesError.
func ReadCases(b []byte) ([]Spec, error) {
	b, err := yamlToJSON(b)
	if err != nil {
		return nil, &CasesError{What: err.Error(), Fix: "write JSON, or YAML without anchors"}
	}
	raw, err := listOf(b)
	if err != nil {
		return nil, err
	}
	var specs []Spec
	names := map[string]bool{}
	for i, r := range raw {
		s, err := readCase(r, fmt.Sprintf("case %d", i+1))
		if err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, &CasesError{Where: fmt.Sprintf("case %d", i+1), What: fmt.Sprintf("there is another case of the name %q", s.Name), Fix: "give each case a name of its own"}
		}
		names[s.Name] = true
		specs = append(specs, s)
	}
	if len(specs) == 0 {
		return nil, &CasesError{What: "there is no case in the file", Fix: `write cases: [{"name": …, "input": …, "expect": {"output": …}}]`}
	}
	return specs, nil
}

func listOf(b []byte) (raw []json.RawMessage, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		err = json.Unmarshal(b, &raw)
	} else {
		var whole struct {
			Cases []json.RawMessage `json:"cases"`
		}
		err = strict(b, &whole)
		raw = whole.Cases
	}
	if err != nil {
		return nil, &CasesError{What: err.Error(), Fix: "the file is a list of cases, or an object with the field cases; see docs/TESTING.md"}
	}
	return raw, nil
}

// strict decodes JSON and refuses fields that are not known.
func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func readCase(raw json.RawMessage, where string) (s Spec, err error) {
	var f fileCase
	err = strict(raw, &f)
	if f.Name != "" {
		where += fmt.Sprintf(" (%s)", f.Name)
	}
	if err != nil {
		return s, &CasesError{Where: where, What: err.Error(), Fix: "docs/TESTING.md lists the fields of a case"}
	}
	if f.Name == "" {
		return s, &CasesError{Where: where, What: "it has no name", Fix: "add name"}
	}
	if f.Expect == nil {
		return s, &CasesError{Where: where, What: "it expects nothing", Fix: "add expect with output, failure, published or journal"}
	}
	s = Spec{Case: Case{Name: f.Name, Workflow: f.Workflow, Limits: f.Limits}, Resume: f.Resume == nil || *f.Resume}
	if f.Start != nil {
		s.Start = *f.Start
	}
	fill := func(field string, do func() error) {
		if err == nil {
			if err = do(); err != nil {
				err = &CasesError{Where: where + ": " + field, What: err.Error(), Fix: "docs/TESTING.md lists the fields of a case"}
			}
		}
	}
	fill("input", func() (err error) { s.Input, err = payload(f.Input, f.InputText); return err })
	fill("effects", func() (err error) { s.Effects, err = readMocks(f.Effects); return err })
	fill("activities", func() (err error) { s.Activities, err = readMocks(f.Activities); return err })
	fill("signals", func() (err error) { s.Signals, err = readSignals(f.Signals); return err })
	fill("cancel_at", func() (err error) { s.Cancel, err = readCancel(f.CancelAt); return err })
	fill("expect", func() (err error) { s.Expect, err = f.Expect.read(); return err })
	fill("queries", func() (err error) { s.Queries, s.Expect.Replies, err = readQueries(f.Queries); return err })
	return s, err
}

// payload is the bytes that a case gives: JSON without white space, or a text as it is.
func payload(raw json.RawMessage, text *string) ([]byte, error) {
	switch {
	case raw != nil && text != nil:
		return nil, errors.New("it is there as JSON and as text; keep one")
	case text != nil:
		return []byte(*text), nil
	case raw == nil:
		return nil, nil
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return b.Bytes(), err
}

func readSignals(fs []fileSignal) ([]Signal, error) {
	var out []Signal
	for i, f := range fs {
		if f.Name == "" {
			return nil, fmt.Errorf("signal %d has no name", i+1)
		}
		s := Signal{Name: f.Name}
		var err error
		if s.Payload, err = payload(f.Payload, f.PayloadText); err != nil {
			return nil, fmt.Errorf("payload of signal %d: %w", i+1, err)
		}
		if s.When, err = readWhen(f.At, f.AfterEntries); err != nil {
			return nil, fmt.Errorf("signal %d: %w", i+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func readCancel(raw json.RawMessage) (*Cancel, error) {
	if raw == nil {
		return nil, nil
	}
	var f fileCancel
	if json.Unmarshal(raw, &f.At) != nil {
		if err := strict(raw, &f); err != nil {
			return nil, err
		}
	}
	when, err := readWhen(f.At, f.AfterEntries)
	return &Cancel{When: when, Reason: f.Reason}, err
}

func readWhen(at string, entries int64) (w When, err error) {
	w.Entries = entries
	if at != "" {
		w.After, err = parseDuration(at)
	}
	if err == nil && (w.After < 0 || entries < 0) {
		err = errors.New("it is before the run begins")
	}
	return w, err
}

// parseDuration reads a duration as Go writes it, with days before: 30d, 1d12h, 90s.
func parseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration, such as 30d, 12h or 90s", s)
		}
		return d, nil
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n < 0 || n > 36500 {
		return 0, fmt.Errorf("%q is no duration, such as 30d, 12h or 90s", s)
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration, such as 30d, 12h or 90s", s)
	}
	return d + more, nil
}
