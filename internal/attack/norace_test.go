//go:build !race

package attack

// What the race detector makes larger and slower, at most.
const (
	raceDetector = false
	raceMemory   = 1
	raceTime     = 1
)
