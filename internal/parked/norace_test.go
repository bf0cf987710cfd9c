//go:build !race

package parked

// raceDetector multiplies what everything takes.
const raceDetector = false

// runs is how many wait at once.
const runs = 10_000
