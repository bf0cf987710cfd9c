package testkit

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// family is a module that starts a child run and continues as new; see its text.
func family(t *testing.T) *Module {
	t.Helper()
	b, err := os.ReadFile("testdata/family.wasm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := kit.Load(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestChildRun(t *testing.T) {
	m := family(t)
	r := mustPlay(t, m, Case{Input: []byte("p")})
	if got, want := r.String(), `completed with "child"`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if r.Elapsed != time.Minute {
		t.Errorf("got %s, want the child's minute", r.Elapsed)
	}
	kinds := []string{}
	for _, e := range r.Journal() {
		kinds = append(kinds, e.Kind)
	}
	if want := []string{"started", "child", "completed"}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v: the journal of the parent alone", kinds, want)
	}
	if err := m.Resume(context.Background(), r); err != nil {
		t.Error(err)
	}
}

func TestContinuedAsNew(t *testing.T) {
	m := family(t)
	var signals []Signal
	for i, payload := range []string{"a", "b", "c"} {
		signals = append(signals, Signal{When: When{After: time.Duration(i) * time.Hour}, Name: "go", Payload: []byte(payload)})
	}
	for name, signals := range map[string][]Signal{
		"one an hour": signals,
		"at once":     {{Name: "go", Payload: []byte("a")}, {Name: "go", Payload: []byte("b")}, {Name: "go", Payload: []byte("c")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustPlay(t, m, Case{Input: []byte("2"), Signals: signals})
			if r.Continued != 2 || string(r.Output) != "c" {
				t.Fatalf("got %s after %d that continued, want c after 2", r, r.Continued)
			}
			if err := m.Resume(context.Background(), r); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestChildUnderWayIsNotCut(t *testing.T) {
	es := []journal.Entry{{Kind: journal.KindStarted}, {Kind: journal.KindEffect, Op: 2, Issued: 2}, {Kind: journal.KindChild, Op: 1, Issued: 2, Status: abi.OK}, {Kind: journal.KindCompleted, Issued: 2}}
	for n, want := range []bool{false, false, true, false} {
		if got := childUnderWay(es, n); got != want {
			t.Errorf("cut after %d entries: got %v, want %v", n, got, want)
		}
	}
}

func TestOtherModules(t *testing.T) {
	m := family(t)
	r := mustPlay(t, m, Case{Input: []byte("m"), Modules: map[string]*Module{"other": load(t, "echo")}})
	if got, want := r.String(), `completed with "c"`; got != want {
		t.Errorf("got %s, want %s: the other module's output", got, want)
	}
	if err := m.Resume(context.Background(), r); err != nil {
		t.Error(err)
	}
	r = mustPlay(t, m, Case{Input: []byte("m")})
	if got := r.String(); !strings.Contains(got, abi.CodeUnknownModule) {
		t.Errorf("got %s, want that there is no such module", got)
	}
}
