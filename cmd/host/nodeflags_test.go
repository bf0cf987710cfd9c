package main

import (
	"testing"
	"time"

	"reprise/journal"
)

func TestSetRetention(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]journal.Retention{
		"30d":           {Completed: 30 * day, Failed: 30 * day, Cancelled: 30 * day},
		"90m":           {Completed: 90 * time.Minute, Failed: 90 * time.Minute, Cancelled: 90 * time.Minute},
		"failed=90d":    {Failed: 90 * day},
		"completed=1ms": {Completed: time.Millisecond},
		"cancelled=1h":  {Cancelled: time.Hour},
	} {
		var got journal.Retention
		if err := setRetention(&got, text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "0d", "-1d", "-1h", "1.5d", "d", "=1d", "failed=", "blocked=1d", "300000d", "1d=failed"} {
		var got journal.Retention
		if err := setRetention(&got, text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}
