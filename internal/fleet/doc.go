// Package fleet holds the tests of several hosts on one journal in one process: hints that are lost, clocks that
// jump, journals and modules that somebody has damaged. It has no code of its own.
package fleet
