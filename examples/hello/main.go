// Command hello is the smallest workflow: it greets, and it may take its time.
package main

import (
	"context"
	"fmt"
	"time"

	"reprise/guest-sdk/go"
)

// Greeting is the input.
type Greeting struct {
	Name  string `json:"name"`
	After string `json:"after"` // how long to wait first, for example "10s" or "24h"
}

func init() { reprise.Workflow("hello", Hello) }

// Hello waits for as long as it is told, whatever happens to the host meanwhile, and greets.
func Hello(ctx context.Context, in Greeting) (string, error) {
	if in.After != "" {
		wait, err := time.ParseDuration(in.After)
		if err != nil {
			return "", reprise.Failf("bad_duration", "after: %v", err)
		}
		if err := reprise.Sleep(ctx, wait); err != nil {
			return "", err
		}
	}
	if in.Name == "" {
		in.Name = "world"
	}
	return fmt.Sprintf("Hello, %s!", in.Name), nil
}

func main() { reprise.Main() }
