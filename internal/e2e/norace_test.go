//go:build !race

package e2e

// raceDetector says whether the tests, and so the hosts of most of them, have the race detector.
const raceDetector = false
