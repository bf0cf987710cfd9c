package testkit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise/abi"
)

// Case is one run to play.
type Case struct {
	// Name tells it from others. The run's id, and so its random numbers, follow from it.
	Name string
	// Workflow inside the module; empty for its only one.
	Workflow string
	Input    []byte
	// Effects answer for the effects that the module asks for, by name. One without an answer stops the play.
	Effects map[string]Mock
	// Activities answer for activities by name; others are carried out by the module.
	Activities map[string]Mock
	Signals    []Signal
	// Queries are asked of the run while it waits; they change nothing.
	Queries []Query
	// Cancel asks the run to end; nil for never.
	Cancel *Cancel
	// Modules are other modules that the run may name, for activities and child runs, by the name of their workflow.
	Modules map[string]*Module
	// Start is when the run begins, by its clock. Default the first of January 2026, UTC.
	Start time.Time
	// Limits bound the run, as on a host; fields that are 0 get their ceilings.
	Limits abi.Limits
}

// When is a moment of a play: After has passed since its begin, and the run's journal has Entries entries or more. The run
// then waits for something, or has not begun.
type When struct {
	After   time.Duration
	Entries int64
}

// Signal is sent to the run.
type Signal struct {
	When    When
	Name    string
	Payload []byte
}

// Cancel asks the run to end.
type Cancel struct {
	When   When
	Reason string
}

// defaultStart is when runs begin, so that a test says the same every day.
var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// NoWorkflowError says that the module has no such workflow.
type NoWorkflowError struct {
	Name string
	Has  []string
}

// Error says what there is.
func (e *NoWorkflowError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("the module has several workflows; name one of %s", strings.Join(e.Has, ", "))
	}
	return fmt.Sprintf("the module has no workflow %q; it has %s", e.Name, strings.Join(e.Has, ", "))
}

// workflow is the name of the workflow to enter.
func (m *Module) workflow(name string) (string, error) {
	has := m.manifest.Workflows
	switch {
	case len(has) == 0, slices.Contains(has, name):
		return name, nil
	case name == "" && len(has) == 1:
		return has[0], nil
	}
	return "", &NoWorkflowError{Name: name, Has: has}
}
