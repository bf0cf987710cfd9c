package testkit

import (
	"fmt"
	"slices"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// Call is one attempt of an effect or activity that a module has asked for.
type Call struct {
	Kind    journal.Kind // journal.KindEffect or journal.KindActivity
	Name    string
	Input   []byte
	Key     string // the idempotency key, the same in every attempt
	Attempt int    // from 1
	At      time.Time
}

// Answer is what a mock says to an attempt.
type Answer struct {
	// When says which attempts it is for; nil for all.
	When func(Call) bool
	// Times is how many attempts get it before the next one is looked at; 0 is once. The last that is for
	// an attempt is given as often as it is needed.
	Times int
	// Output is the outcome's bytes, unless there is a failure.
	Output []byte
	// Failure is what the attempt fails with.
	Failure *abi.Failure
	// After is how long the attempt takes, on the clock of the test.
	After time.Duration
	// Never says that the attempt ends by its timeout only, or when it is given up.
	Never bool
	// Func makes the outcome; then Output and Failure are not looked at. It returns an *abi.Failure for an outcome that the
	// guest sees as failed.
	Func func(Call) ([]byte, error)
}

// Mock is the answers for a name, in order.
type Mock []Answer

// Returns is the mock that always has this outcome.
func Returns(output string) Mock { return Mock{{Output: []byte(output)}} }

// Fails is the mock that always fails.
func Fails(code, message string) Mock {
	return Mock{{Failure: abi.NewFailure(code, "%s", message)}}
}

// Does is the mock that f answers for.
func Does(f func(Call) ([]byte, error)) Mock { return Mock{{Func: f}} }

// UnmockedError says that a module asked for an effect that the test has no answer for.
type UnmockedError struct {
	Call   Call
	Mocked []string // the names that have answers
	None   bool     // the name has answers, and none is for this input
}

// Error says what was asked for and what there is.
func (e *UnmockedError) Error() string {
	if e.None {
		return fmt.Sprintf("the module asked for %s %q with an input that none of its answers is for: %s", e.Call.Kind, e.Call.Name, short(e.Call.Input))
	}
	return fmt.Sprintf("the module asked for %s %q, which the test does not answer (it answers %v); its input: %s", e.Call.Kind, e.Call.Name, e.Mocked, short(e.Call.Input))
}

// maxShort bounds bytes of a guest in a message.
const maxShort = 300

func short(b []byte) string {
	if len(b) > maxShort {
		return fmt.Sprintf("%q… (%d bytes)", b[:maxShort], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// script is a mock that is being played.
type script struct {
	answers Mock
	used    []int
}

// next is the answer for a call; ok is false when none is for it.
func (s *script) next(c Call) (a Answer, ok bool) {
	last := -1
	for i, a := range s.answers {
		if a.When != nil && !a.When(c) {
			continue
		}
		if last = i; s.used[i] < max(1, a.Times) {
			break
		}
	}
	if last < 0 {
		return a, false
	}
	s.used[last]++
	return s.answers[last], true
}

// scripts are the mocks of one kind, by name.
type scripts map[string]*script

func newScripts(mocks map[string]Mock) scripts {
	s := scripts{}
	for name, m := range mocks {
		s[name] = &script{answers: m, used: make([]int, len(m))}
	}
	return s
}

func (s scripts) names() []string {
	names := []string{}
	for n := range s {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
