// Package parked holds the tests and the benchmark of ten thousand runs that wait for timers: what they cost
// while they wait, and how soon they go on. It has no code of its own.
package parked
