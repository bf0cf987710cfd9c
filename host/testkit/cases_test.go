package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/journal"
)

// yamlCases has one of each field.
const yamlCases = `
cases:
  - name: whole
    workflow: w
    input: {big: 9007199254740993, b: 1, a: [true, null, "x"]}
    start: 2026-02-03T04:05:06Z
    limits: {gas: 1000000}
    effects:
      test.step: [{when: {n: 1}, times: 2, output: {a: 1}, after: 1d2h}, {never: true}]
      http.request: {http: {status: 201, json: {id: 7}}}
    activities:
      charge: {failure: {code: declined, message: no}}
    signals:
      - {name: go, payload: {x: 1}, at: 90s}
      - {name: stop, payload_text: raw, after_entries: 2}
    cancel_at: {after_entries: 3, reason: enough}
    resume: false
    expect:
      failure: {code: cancelled, message: part}
      published: {stage: done}
      journal: [{kind: timer}]
      calls: {charge: 1}
      elapsed: 30d
      log: [line]
`

func TestReadCases(t *testing.T) {
	specs, err := ReadCases([]byte(yamlCases))
	if err != nil {
		t.Fatal(err)
	}
	s := specs[0]
	if got, want := string(s.Input), `{"big":9007199254740993,"b":1,"a":[true,null,"x"]}`; got != want {
		t.Errorf("got input %s, want %s", got, want)
	}
	if got, want := s.Signals, []Signal{{When: When{After: 90 * time.Second}, Name: "go", Payload: []byte(`{"x":1}`)}, {When: When{Entries: 2}, Name: "stop", Payload: []byte("raw")}}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := s.Cancel, (&Cancel{When: When{Entries: 3}, Reason: "enough"}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if a := s.Effects["test.step"][0]; a.After != 26*time.Hour || a.Times != 2 || !a.When(Call{Input: []byte(`{"n":1,"m":2}`)}) || a.When(Call{Input: []byte(`{"n":2}`)}) {
		t.Errorf("got the answer %+v", a)
	}
	if got, want := string(s.Effects["http.request"][0].Output), `{"status":201,"headers":{"content-type":"application/json"},"body":"{\"id\":7}"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.Activities["charge"][0].Failure.Code != "declined" || s.Resume || s.Limits.Gas != 1_000_000 || s.Start.Day() != 3 {
		t.Errorf("got %+v", s)
	}
	e := s.Expect
	if e.State != journal.Cancelled || e.Code != "cancelled" || e.Message != "part" || string(e.Published["stage"]) != `"done"` || len(e.Journal) != 1 || e.Calls["charge"] != 1 || *e.Elapsed != 30*24*time.Hour || e.Log[0] != "line" {
		t.Errorf("got %+v", e)
	}
}

func TestCasesThatAreWrong(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"empty", ``, "there is no case in the file"},
		{"no cases", `{"cases":[]}`, "there is no case in the file"},
		{"other field", `{"tests":[]}`, `unknown field "tests"`},
		{"not YAML", "a: [", "line 1"},
		{"misspelt", `[{"name":"x","efects":{}}]`, `case 1 (x): json: unknown field "efects"`},
		{"no name", `[{"expect":{}}]`, "case 1: it has no name"},
		{"nothing expected", `[{"name":"x"}]`, "case 1 (x): it expects nothing"},
		{"twice", `[{"name":"x","expect":{}},{"name":"x","expect":{}}]`, `case 2: there is another case of the name "x"`},
		{"duration", `[{"name":"x","cancel_at":"soon","expect":{}}]`, `case 1 (x): cancel_at: "soon" is no duration`},
		{"negative", `[{"name":"x","cancel_at":"-1s","expect":{}}]`, `before the run begins`},
		{"two inputs", `[{"name":"x","input":1,"input_text":"1","expect":{}}]`, "case 1 (x): input: it is there as JSON and as text"},
		{"two answers", `[{"name":"x","effects":{"e":{"output":1,"never":true}},"expect":{}}]`, "case 1 (x): effects: e: answer 1: output, http, failure and never are there together"},
		{"no answer", `[{"name":"x","effects":{"e":[]},"expect":{}}]`, "e: it has no answer"},
		{"no code", `[{"name":"x","effects":{"e":{"failure":{"message":"m"}}},"expect":{}}]`, "the failure has no code"},
		{"state", `[{"name":"x","expect":{"state":"done"}}]`, `state is "done", not one of`},
		{"signal", `[{"name":"x","signals":[{"payload":1}],"expect":{}}]`, "signal 1 has no name"},
		{"alias", "a: &x 1\nb: *x", "line 2: an alias"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadCases([]byte(tt.file))
			var wrong *CasesError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tt.want) || wrong.Fix == "" {
				t.Errorf("got %v, want %q and a way out", err, tt.want)
			}
		})
	}
}

func TestExpect(t *testing.T) {
	const file = `[{"name":"x","input":2,"effects":{"test.step":{"output":{"a":1}}},"expect":%s}]`
	tests := []struct{ expect, want string }{
		{`{}`, ""},
		{`{"output_text":"{\"a\":1}{\"a\":1}"}`, ""},
		{`{"output":3}`, `output: got "{\"a\":1}{\"a\":1}", want "3"`},
		{`{"failure":"declined"}`, `the run should be failed; it is completed with "{\"a\":1}{\"a\":1}"`},
		{`{"published":{"stage":1}}`, "published stage: it is not there"},
		{`{"calls":{"test.step":2}}`, ""},
		{`{"calls":{"test.step":1}}`, "calls test.step: got 2 attempts, want 1"},
		{`{"continued":0}`, ""},
		{`{"continued":1}`, "continued: got 0 runs that continued as new, want 1"},
		{`{"elapsed":"1s"}`, "elapsed: got 0s, want 1s"},
		{`{"log":["x"]}`, `log: no line has "x"`},
		{`{"journal":[{"kind":"effect","request":1},{"name":"test.step","payload":{"a":1}}]}`, ""},
		{`{"journal":[{"kind":"effect"}]}`, `journal[1]: the journal goes on with {"seq":2,"at":"0s","kind":"effect","name":"test.step","status":"ok","request":2,"payload":{"a":1}}`},
		{`{"journal":[{},{},{}]}`, "journal[2]: the journal ends before it; want {}"},
		{`{"journal":[{"kind":"timer","payload":{"b":1}},{}]}`, `journal[0].kind: got "effect", want "timer"|journal[0].payload.b: it is not there, want 1|  entry 1 is {"seq":1,"at":"0s","kind":"effect","name":"test.step","status":"ok","request":1,"payload":{"a":1}}`},
	}
	m := load(t, "steps")
	for _, tt := range tests {
		t.Run(tt.expect, func(t *testing.T) {
			specs, err := ReadCases(fmt.Appendf(nil, file, tt.expect))
			if err != nil {
				t.Fatal(err)
			}
			rep, err := m.Test(context.Background(), specs[0])
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(rep.Problems, "|"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	tests := []struct{ got, want, odd string }{
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, ""},
		{`9007199254740993`, `9007199254740992`, "v: got 9007199254740993, want 9007199254740992"},
		{`{"a":{"b":1}}`, `{"a":{"b":2}}`, "v.a.b: got 1, want 2"},
		{`[1]`, `[1,2]`, "v: got [1], want [1,2]"},
		{`{"a":1}`, `{}`, "v.a: got 1, want that it is not there"},
		{`null`, `{}`, "v: got null, want {}"},
	}
	for _, tt := range tests {
		if got := strings.Join(compareBytes("v", []byte(tt.got), []byte(tt.want)), "|"); got != tt.odd {
			t.Errorf("%s and %s: got %q, want %q", tt.got, tt.want, got, tt.odd)
		}
	}
}
