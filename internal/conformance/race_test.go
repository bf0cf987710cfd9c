//go:build race

package conformance

// raceDetector says that the race detector is on, which makes a host several times as slow.
const raceDetector = true
