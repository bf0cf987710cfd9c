package journal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTransitions(t *testing.T) {
	for _, s := range States {
		for _, next := range Transitions[s] {
			if !next.Valid() {
				t.Errorf("%s leads to %q, which is no state", s, next)
			}
			if s.Terminal() {
				t.Errorf("%s is terminal and leads to %s", s, next)
			}
		}
		if got, want := s.Can(s), s == Running; got != want {
			t.Errorf("%s to itself: got %v, want %v", s, got, want)
		}
	}
	for from := range Transitions {
		if !from.Valid() {
			t.Errorf("%q has transitions and is no state", from)
		}
	}
	if Completed.Can(Ready) {
		t.Error("a completed run may become ready")
	}
}

var meaning = map[State]string{
	Ready:      "may be claimed now",
	Running:    "owned by a node, under a lease",
	Waiting:    "owned by nobody and held nowhere; due at its time or when something arrives",
	Paused:     "held by an operator, or since the journal was restored from a backup",
	Blocked:    "cannot go on until an operator acts; the run's reason says why",
	Completed:  "ended with an output",
	Failed:     "ended with a failure",
	Cancelled:  "ended because it was asked to",
	Terminated: "ended by an operator, without the guest",
	TimedOut:   "ended by its deadline",
	Continued:  "ended; a successor goes on",
}

// TestStatesDocumentIsUpToDate renders docs/STATES.md from the one table.
func TestStatesDocumentIsUpToDate(t *testing.T) {
	var b strings.Builder
	b.WriteString("# States of a run\n\nGenerated from `journal/state.go` (`make generate`).\n\n| state | meaning | may become |\n|---|---|---|\n")
	for _, s := range States {
		if meaning[s] == "" {
			t.Errorf("state %s has no meaning for the document", s)
		}
		next := "nothing: it is terminal"
		if !s.Terminal() {
			words := make([]string, len(Transitions[s]))
			for i, n := range Transitions[s] {
				words[i] = string(n)
			}
			next = strings.Join(words, ", ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s, meaning[s], next)
	}
	b.WriteString(`
A running run may also become running again: another node takes it over when its owner's lease has
lapsed, under a higher token. Cancelling is a request, not a state: the next turn hands it to the guest.

## Why a run is blocked

| reason | what happened | what helps |
|---|---|---|
| nondeterminism | the module did something else than its journal says, three times in a row | push the module that the run began on, or see where they part with ` + "`reprise run replay`" + `, then resume |
| module_missing | the store has no module of the run's digest | push it, then resume |
| module_corrupt | the stored bytes have another digest | push the module again, then resume |
| crash_loop | several turns in a row ended with the death of their host | find out why, then resume |
| journal_limit | the journal has as many entries, or bytes of them, as the run may have: 50,000 and 64 MiB unless it began with less | cancel it, and start a run that does less or ends sooner; a run keeps the limits that it began with |
| interpreter_depth | a node that runs the module by interpreter has no room for calls as deep as the run makes | resume it where the module is compiled: on a node without ` + "`--interpret`" + ` for it |
| pipeline_changed | the run began on a host that prepares modules in another way | resume it when a host of that version runs |
| payload_unreadable | a payload that the run needs is damaged or missing in the database | restore it from a backup, then resume |
| corrupt_history | the journal has a gap, or is not what a journal must be | restore it from a backup, then resume |
`)
	const path = "../docs/STATES.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("%s differs from the table (-want +got); make generate rewrites it:\n%s", path, diff)
	}
}
