//go:build race

package attack

// What the race detector makes larger and slower, at most.
const (
	raceDetector = true
	raceMemory   = 6
	raceTime     = 15
)
