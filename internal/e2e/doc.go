// Package e2e holds the tests that need real processes: hosts that are killed with SIGKILL and frozen
// with SIGSTOP, a real shop behind HTTP, both stores. It has no code of its own.
package e2e
