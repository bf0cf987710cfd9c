package journal

import "slices"

// State is where a run stands.
type State string

// The states of a run.
const (
	Ready      State = "ready"      // may be claimed now
	Running    State = "running"    // owned by a node
	Waiting    State = "waiting"    // owned by nobody; due at WakeAt or when something arrives
	Paused     State = "paused"     // an operator holds it
	Blocked    State = "blocked"    // cannot go on until an operator acts; Reason says why
	Completed  State = "completed"  // terminal: Output
	Failed     State = "failed"     // terminal: Failure
	Cancelled  State = "cancelled"  // terminal: Failure
	Terminated State = "terminated" // terminal: an operator ended it
	TimedOut   State = "timed_out"  // terminal: its deadline passed
	Continued  State = "continued"  // terminal: a successor goes on
)

// Transitions is the one table of what may follow what. SQL checks and docs/STATES.md are made from it.
var Transitions = map[State][]State{
	Ready:   {Running, Paused, Cancelled, Terminated, TimedOut},
	Running: {Ready, Waiting, Paused, Blocked, Completed, Failed, Cancelled, Terminated, TimedOut, Continued},
	Waiting: {Ready, Running, Paused, Terminated, TimedOut},
	Paused:  {Ready, Cancelled, Terminated, TimedOut},
	Blocked: {Ready, Failed, Cancelled, Terminated},
}

// States lists every state in the order of the docs.
var States = []State{Ready, Running, Waiting, Paused, Blocked, Completed, Failed, Cancelled, Terminated, TimedOut, Continued}

// Can says whether a run in s may move to next. Running to Running is a take-over and always may.
func (s State) Can(next State) bool {
	return s == Running && next == Running || slices.Contains(Transitions[s], next)
}

// Terminal says whether nothing follows s.
func (s State) Terminal() bool { return len(Transitions[s]) == 0 }

// Valid says whether s is a state at all.
func (s State) Valid() bool { return slices.Contains(States, s) }
