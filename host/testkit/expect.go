package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// Expect is what is to come of a run. What is not given is not looked at, but for the state.
type Expect struct {
	// State is how the run ends. Default completed; failed when a failure is expected.
	State journal.State
	// Output is compared as JSON when it is JSON, byte for byte otherwise; nil for any.
	Output []byte
	// Code is the failure's code, "" for any, and Message a part of its message.
	Code, Message string
	// Published are values that the run shows in the end; others may be there too.
	Published map[string][]byte
	// Journal are the entries between the first and the last, one for one: each is an object, and the entry, in the
	// form of Entry, has its fields. nil for any.
	Journal []json.RawMessage
	// Calls is how many attempts were made of an effect or activity, by name.
	Calls map[string]int
	// Continued is how many runs continued as new before the one that ended so; nil for any number.
	Continued *int
	// Elapsed is how long the run took by its clock; nil for any time.
	Elapsed *time.Duration
	// Replies are what is to come of the case's queries, in their order.
	Replies []Expect
	// Log are parts of lines that the run has logged.
	Log []string
}

// fileExpect is its form in a file.
type fileExpect struct {
	State      string                     `json:"state"`
	Output     json.RawMessage            `json:"output"`
	OutputText *string                    `json:"output_text"`
	Failure    json.RawMessage            `json:"failure"` // a code, or an object with code and message
	Published  map[string]json.RawMessage `json:"published"`
	Journal    []json.RawMessage          `json:"journal"`
	Calls      map[string]int             `json:"calls"`
	Continued  *int                       `json:"continued"`
	Elapsed    string                     `json:"elapsed"`
	Log        []string                   `json:"log"`
}

// states are what a play may end in.
var states = []journal.State{journal.Completed, journal.Failed, journal.Cancelled, journal.Waiting, journal.Blocked}

func (f fileExpect) read() (e Expect, err error) {
	e = Expect{State: journal.State(f.State), Journal: f.Journal, Calls: f.Calls, Continued: f.Continued, Log: f.Log}
	if f.State != "" && !slices.Contains(states, e.State) {
		return e, fmt.Errorf("state is %q, not one of %v", f.State, states)
	}
	if e.Output, err = payload(f.Output, f.OutputText); err != nil {
		return e, err
	}
	if f.Failure != nil && json.Unmarshal(f.Failure, &e.Code) != nil {
		var whole struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		if err := strict(f.Failure, &whole); err != nil {
			return e, err
		}
		e.Code, e.Message = whole.Code, whole.Message
	}
	if e.State == "" {
		e.State = journal.Completed
		if f.Failure != nil {
			e.State = journal.Failed
			if e.Code == abi.CodeCancelled {
				e.State = journal.Cancelled
			}
		}
	}
	for key, raw := range f.Published {
		value, err := payload(raw, nil)
		if err != nil {
			return e, err
		}
		if e.Published == nil {
			e.Published = map[string][]byte{}
		}
		e.Published[key] = value
	}
	if f.Elapsed != "" {
		d, err := parseDuration(f.Elapsed)
		e.Elapsed = &d
		return e, err
	}
	return e, nil
}

// Check returns what is not as expected, one text for each thing.
func (e Expect) Check(r *Result) []string {
	state := e.State
	if state == "" {
		state = journal.Completed
	}
	if r.State != state {
		return []string{fmt.Sprintf("the run should be %s; it is %s", state, r)}
	}
	var odd []string
	if e.Output != nil {
		odd = append(odd, compareBytes("output", r.Output, e.Output)...)
	}
	if f := r.Failure; f != nil {
		if e.Code != "" && f.Code != e.Code {
			odd = append(odd, fmt.Sprintf("failure: got code %q (%s), want %q", f.Code, f.Message, e.Code))
		}
		if !strings.Contains(f.Message, e.Message) {
			odd = append(odd, fmt.Sprintf("failure: got message %q, want %q in it", f.Message, e.Message))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Published)) {
		got, ok := r.Published[key]
		if !ok {
			odd = append(odd, fmt.Sprintf("published %s: it is not there", key))
			continue
		}
		odd = append(odd, compareBytes("published "+key, got, e.Published[key])...)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Calls)) {
		if got := r.Called(name); got != e.Calls[name] {
			odd = append(odd, fmt.Sprintf("calls %s: got %d attempts, want %d", name, got, e.Calls[name]))
		}
	}
	if e.Continued != nil && r.Continued != *e.Continued {
		odd = append(odd, fmt.Sprintf("continued: got %d runs that continued as new, want %d", r.Continued, *e.Continued))
	}
	if e.Elapsed != nil && r.Elapsed != *e.Elapsed {
		odd = append(odd, fmt.Sprintf("elapsed: got %s, want %s", r.Elapsed, *e.Elapsed))
	}
	for _, part := range e.Log {
		if !slices.ContainsFunc(r.Log, func(line string) bool { return strings.Contains(line, part) }) {
			odd = append(odd, fmt.Sprintf("log: no line has %q", part))
		}
	}
	return append(append(odd, e.checkReplies(r)...), e.checkJournal(r)...)
}

// checkJournal compares the entries between the first and the last.
func (e Expect) checkJournal(r *Result) []string {
	if e.Journal == nil {
		return nil
	}
	all := r.Journal()
	if n := len(all); n > 0 && journal.Kind(all[n-1].Kind).Terminal() {
		all = all[:n-1]
	}
	if len(all) > 0 {
		all = all[1:]
	}
	for i, raw := range e.Journal {
		where := fmt.Sprintf("journal[%d]", i)
		if i >= len(all) {
			return []string{fmt.Sprintf("%s: the journal ends before it; want %s", where, raw)}
		}
		got, err := json.Marshal(all[i])
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", where, err)}
		}
		have, _ := decodeJSON(got)
		want, err := decodeJSON(raw)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", where, err)}
		}
		if odd := difference(where, have, want, true); len(odd) > 0 {
			return append(odd, fmt.Sprintf("  entry %d is %s", all[i].Seq, got))
		}
	}
	if n := len(e.Journal); n < len(all) {
		got, _ := json.Marshal(all[n])
		return []string{fmt.Sprintf("journal[%d]: the journal goes on with %s", n, got)}
	}
	return nil
}

// compareBytes compares JSON by its value, and other bytes as they are.
func compareBytes(what string, got, want []byte) []string {
	g, errGot := decodeJSON(got)
	w, errWant := decodeJSON(want)
	if errGot == nil && errWant == nil {
		return difference(what, g, w, false)
	}
	if !bytes.Equal(got, want) {
		return []string{fmt.Sprintf("%s: got %s, want %s", what, short(got), short(want))}
	}
	return nil
}
