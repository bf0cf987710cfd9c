//go:build race

package parked

// raceDetector multiplies what everything takes.
const raceDetector = true

// runs is how many wait at once.
const runs = 1000
