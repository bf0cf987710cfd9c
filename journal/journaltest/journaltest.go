// Package journaltest owns what a journal.Store must do: one suite that every store passes. Each
// sentence of the contract in package journal that a test can falsify is a subtest here, and what
// the contract leaves open is decided here, in one place for all stores. It knows no database; the
// tests of journal/sqlite and journal/postgres call Run.
package journaltest

import (
	"testing"
	"time"

	"reprise/journal"
)

// Harness is one empty store under test, with the two things a test needs that a caller does not.
type Harness struct {
	// Store is the store, open, with nothing in it. The test's cleanup belongs to whoever opened it.
	Store journal.Store
	// Reopen closes the store and opens it again on the same data, as after a restart of the program.
	// Nil when the data does not outlive the store.
	Reopen func() journal.Store
	// Advance moves the database's clock by d, which may be negative.
	Advance func(d time.Duration)
}

// Open makes a Harness. The suite calls it once a subtest; what it makes must not be seen by another
// call.
type Open func(t *testing.T) Harness

// Run checks a store against the whole contract.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	groups := []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"Rules", testRules},
		{"Create", testCreate},
		{"Begin", testBegin},
		{"Signal", testSignal},
		{"Cancel", testCancel},
		{"Resume", testResume},
		{"Hold", testHold},
		{"Claim", testClaim},
		{"Share", testShare},
		{"Takeover", testTakeover},
		{"Append", testAppend},
		{"Fence", testFence},
		{"Repeat", testRepeat},
		{"Transition", testTransition},
		{"Stash", testStash},
		{"Observe", testObserve},
		{"Links", testLinks},
		{"Checkpoint", testCheckpoint},
		{"Fork", testFork},
		{"Published", testPublished},
		{"Mail", testMail},
		{"Hints", testHints},
		{"Nodes", testNodes},
		{"Read", testRead},
		{"List", testList},
		{"Bytes", testBytes},
		{"Payloads", testPayloads},
		{"Prune", testPrune},
		{"Tenants", testTenants},
		{"Modules", testModules},
		{"Aliases", testAliases},
		{"Restart", testRestart},
		{"Concurrent", testConcurrent},
		{"Linear", testLinear},
		{"Model", testModel},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) { g.run(t, open) })
	}
}

// cases runs each test on a store of its own.
func cases(t *testing.T, open Open, tests []testCase) {
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open)) })
	}
}

type testCase struct {
	name string
	run  func(f *fixture)
}
