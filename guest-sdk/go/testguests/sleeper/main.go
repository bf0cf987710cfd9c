// Command sleeper sleeps for the duration in its input, a JSON string such as "24h", and returns what
// it saw of the clock: {"slept":"24h0m0s"}.
package main

import (
	"context"
	"time"

	"reprise/guest-sdk/go"
)

// Slept is the result.
type Slept struct {
	Slept string `json:"slept"` // rounded down to seconds
}

func init() { reprise.Workflow("sleeper", Sleep) }

// Sleep calls time.Sleep, as any program does.
func Sleep(_ context.Context, duration string) (Slept, error) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return Slept{}, reprise.Failf("bad_duration", "%v", err)
	}
	start := time.Now()
	time.Sleep(d)
	return Slept{time.Since(start).Truncate(time.Second).String()}, nil
}

func main() { reprise.Main() }
