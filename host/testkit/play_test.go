package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// step answers test.step with its input in brackets.
var step = Does(func(c Call) ([]byte, error) { return fmt.Appendf(nil, "[%s]", c.Input), nil })

func TestPlay(t *testing.T) {
	steps := map[string]Mock{"test.step": step}
	slow := map[string]Mock{"test.step": {{After: time.Hour, Output: []byte("slow")}}}
	go1 := []Signal{{Name: "go", Payload: []byte("now")}}
	tests := []struct {
		name, module string
		c            Case
		want         string // Result.String
		elapsed      time.Duration
	}{
		{name: "echo", module: "echo", c: Case{Input: []byte("x")}, want: `completed with "x"`},
		{name: "steps", module: "steps", c: Case{Input: []byte("3"), Effects: steps}, want: `completed with "[1][2][3]"`},
		{name: "in sequence", module: "steps", c: Case{Input: []byte("4"), Effects: map[string]Mock{"test.step": {{Output: []byte("a")}, {Output: []byte("b"), Times: 2}, {Output: []byte("c")}}}},
			want: `completed with "abbc"`},
		{name: "by input", module: "steps", c: Case{Input: []byte("3"), Effects: map[string]Mock{"test.step": {
			{When: func(c Call) bool { return string(c.Input) == "2" }, Output: []byte("two")}, {Output: []byte("-")}}}}, want: `completed with "-two-"`},
		{name: "parallel", module: "parallel", c: Case{Effects: steps}, want: `completed with "[1][2][3]"`},
		{name: "slow steps", module: "steps", c: Case{Input: []byte("3"), Effects: map[string]Mock{"test.step": {{After: 20 * time.Second, Output: []byte("-")}}}},
			want: `completed with "---"`, elapsed: time.Minute},
		{name: "30 days", module: "timer", c: Case{Input: []byte("2592000000000000")}, want: `completed with "done"`, elapsed: 30 * 24 * time.Hour},
		{name: "a wait with a timeout", module: "waittimeout", c: Case{Input: []byte("5000000000")}, want: `completed with "timeout"`, elapsed: 5 * time.Second},
		{name: "signal", module: "signal", c: Case{Signals: go1}, want: `completed with "now"`},
		{name: "signal in an hour", module: "signal", c: Case{Signals: []Signal{{When: When{After: time.Hour}, Name: "go", Payload: []byte("late")}}}, want: `completed with "late"`, elapsed: time.Hour},
		{name: "signal after the first entry", module: "signal", c: Case{Signals: []Signal{{When: When{Entries: 1}, Name: "go", Payload: []byte("then")}}}, want: `completed with "then"`},
		{name: "no signal", module: "signal", want: `waits for signal go`},
		{name: "race won by the timer", module: "race", c: Case{Input: []byte("1000000000"), Effects: slow}, want: `completed with "timer"`, elapsed: time.Second},
		{name: "race won by the effect", module: "race", c: Case{Input: []byte("3600000000000"), Effects: steps}, want: `completed with "effect [1]"`},
		{name: "an effect that never answers", module: "steps", c: Case{Input: []byte("1"), Effects: map[string]Mock{"test.step": {{Never: true}}}},
			want: `failed: timeout: attempt 1 of test.step was not done in its time; an attempt has 30s`, elapsed: 30 * time.Second},
		{name: "an effect that fails", module: "steps", c: Case{Input: []byte("1"), Effects: map[string]Mock{"test.step": Fails("declined", "no money")}}, want: "failed: declined: no money"},
		{name: "activity", module: "activity", c: Case{Input: []byte("ab")}, want: `completed with "abab"`},
		{name: "mocked activity", module: "activity", c: Case{Input: []byte("ab"), Activities: map[string]Mock{"double": Returns("other")}}, want: `completed with "other"`},
		{name: "cancelled", module: "timer", c: Case{Input: []byte("3600000000000"), Cancel: &Cancel{When: When{After: time.Minute}, Reason: "enough"}}, want: "cancelled: cancelled: the run was cancelled: enough", elapsed: time.Minute},
		{name: "trap", module: "trap", want: "failed: trap: unreachable"},
		{name: "deadlock", module: "deadlock", want: "failed: deadlock: the guest waits, but nothing is pending that could wake it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := load(t, tt.module)
			r := mustPlay(t, m, tt.c)
			if got := r.String(); got != tt.want {
				t.Fatalf("got %s, want %s", got, tt.want)
			}
			if r.Elapsed != tt.elapsed {
				t.Errorf("got %s by the run's clock, want %s", r.Elapsed, tt.elapsed)
			}
			if err := m.Resume(context.Background(), r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlaysAreTheSame(t *testing.T) {
	m := load(t, "parallel")
	c := Case{Name: "same", Effects: map[string]Mock{"test.step": step}}
	first := mustPlay(t, m, c)
	for range 5 {
		if odd := differ(first, mustPlay(t, m, c)); odd != nil {
			t.Fatal(odd)
		}
	}
}

func TestAnotherModuleThatDoesSomethingElse(t *testing.T) {
	steps := map[string]Mock{"test.step": step, "test.a": step, "test.b": step}
	r := mustPlay(t, load(t, "divergeA"), Case{Effects: steps})
	err := load(t, "divergeB").Resume(context.Background(), r)
	var odd *DivergedError
	if !errors.As(err, &odd) {
		t.Fatalf("got %v, want a divergence", err)
	}
	if odd.Cut != 2 || odd.Seq != 1 || odd.Before != "the journal has effect test.a" || odd.After != "the module did effect test.b" || !strings.Contains(odd.Message, "seq 1") {
		t.Errorf("got %+v, want entry 1 and both sides", odd)
	}
	if err := load(t, "divergeA").Resume(context.Background(), r); err != nil {
		t.Error(err)
	}
}

func TestEffectWithoutAnswer(t *testing.T) {
	_, err := load(t, "steps").Play(context.Background(), Case{Input: []byte("1")})
	var unmocked *UnmockedError
	if !errors.As(err, &unmocked) || unmocked.Call.Name != "test.step" {
		t.Errorf("got %v, want that test.step has no answer", err)
	}
	never := Mock{{When: func(Call) bool { return false }}}
	_, err = load(t, "steps").Play(context.Background(), Case{Input: []byte("1"), Effects: map[string]Mock{"test.step": never}})
	if !errors.As(err, &unmocked) || !unmocked.None {
		t.Errorf("got %v, want that no answer is for the input", err)
	}
}

func TestPublishedValuesLogAndJournal(t *testing.T) {
	r := mustPlay(t, load(t, "published"), Case{Effects: map[string]Mock{"test.step": step}})
	if got := string(r.Published["progress"]); got != "full" {
		t.Errorf("got progress %q, want full", got)
	}
	if got := strings.Join(r.Log, "|"); got != "halfway" {
		t.Errorf("got the log %q, want halfway", got)
	}
	j := r.Journal()
	if got := j[len(j)-1].Kind; got != string(journal.KindCompleted) {
		t.Errorf("got %s as the last entry, want completed", got)
	}
}

func TestNoSuchWorkflow(t *testing.T) {
	var none *NoWorkflowError
	if _, err := load(t, "manifest").Play(context.Background(), Case{Workflow: "other"}); !errors.As(err, &none) {
		t.Errorf("got %v, want that there is no such workflow", err)
	}
}

func TestStoppedFromOutside(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := load(t, "steps")
	_, err := m.Play(ctx, Case{Input: []byte("5"), Effects: map[string]Mock{"test.step": Does(func(Call) ([]byte, error) { cancel(); return nil, nil })}})
	if !errors.Is(err, errStopped) {
		t.Errorf("got %v, want that the test was stopped", err)
	}
}

func TestRetriesPassInNoTime(t *testing.T) {
	m := load(t, "steps")
	flaky := Mock{{Failure: abi.NewFailure("busy", "later"), Times: 2}, {Output: []byte("ok")}}
	r := mustPlay(t, m, Case{Input: []byte("1"), Effects: map[string]Mock{"test.step": flaky}})
	if r.Called("test.step") != 1 { // the guest asks for no retries, and an effect of a test has no policy of its own
		t.Errorf("got %d attempts, want 1", r.Called("test.step"))
	}
}

func TestLongJournalsAreCutHereAndThere(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, MaxCuts: MaxCuts, MaxCuts + 1: MaxCuts, 100_000: MaxCuts} {
		got := cuts(n)
		if len(got) != want || n > 0 && (got[0] != 0 || got[len(got)-1] != n-1) || !slices.IsSorted(got) || len(slices.Compact(got)) != want {
			t.Errorf("%d entries are cut at %v, want at %d places from the first to the last", n, got, want)
		}
	}
}

func TestQueries(t *testing.T) {
	b, err := os.ReadFile("../../testdata/guests/c/query.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := kit.Load(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	const file = `
- name: asked
  input: 10
  signals: [{name: add, payload: 4, at: 1h}, {name: add, payload: 6, at: 3h}]
  queries:
    - {name: sum, payload: 0, at: 2h, expect: {output: {kind: 2, sum: 4, taken: 1, asked: 1}}}
    - {name: nothing, at: 2h, expect: {failure: unknown_query}}
    - {name: sum, payload: 0, at: 2h, expect: {output: {kind: 2, sum: 5, taken: 1, asked: 1}}}
    - {name: sum, payload: 0, at: 9h, expect: {output: 1}}
  expect: {output: 10, elapsed: 3h}
`
	specs, err := ReadCases([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := m.Test(context.Background(), specs[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"query 3 (sum): output.sum: got 4, want 5", "query 4: the run ended before its moment came"}
	if !slices.Equal(rep.Problems, want) {
		t.Errorf("got %q, want %q", rep.Problems, want)
	}
	if r := mustPlay(t, load(t, "signal"), Case{Queries: []Query{{Name: "sum"}}}); len(r.Replies) != 1 || r.Replies[0].Refused == "" {
		t.Errorf("got %+v, want that the module answers no queries", r.Replies)
	}
}
