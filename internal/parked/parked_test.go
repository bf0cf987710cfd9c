package parked

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"reprise/internal/pgtest"
)

// What is promised of runs that wait.
const (
	mostMemory = 300 // MiB that the host takes, with all of them parked and while all of them wake
	within     = time.Minute
)

// TestTenThousandRunsWaitForTimers kills the host under them and starts it again when all are due.
func TestTenThousandRunsWaitForTimers(t *testing.T) {
	dsn := pgtest.Database(t)
	stores := []struct {
		name, journal string
		due           func() // moves the clock of the database
	}{
		{"sqlite", filepath.Join(t.TempDir(), "reprise.db"), func() {}},
		{"postgres", dsn, func() {
			pgtest.Exec(t, dsn, fmt.Sprintf(`CREATE OR REPLACE FUNCTION reprise.reprise_now() RETURNS timestamptz LANGUAGE sql VOLATILE
				AS $$ SELECT clock_timestamp() + interval '%d seconds' $$`, int(2*forHowLong.Seconds())))
		}},
	}
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			first := start(t, rolePark, s.journal, 0)
			parked := settled(t, first)
			first.small(t, "parked")
			first.kill()
			s.due()
			second := start(t, roleWake, s.journal, 2*forHowLong)
			took := settled(t, second)
			second.small(t, "woken")
			second.hears("stopped")
			if took > within && !raceDetector {
				t.Errorf("all were done %s after the restart, want within %s", took, within)
			}
			t.Logf("%d runs parked in %s and woken in %s", runs, parked.Round(time.Millisecond), took.Round(time.Millisecond))
		})
	}
}

// settled waits until the host has done its part, checks that it is one node, and says how long it took.
func settled(t *testing.T, p *process) time.Duration {
	t.Helper()
	var nodes, ms int
	if _, err := fmt.Sscan(p.hears("settled"), &nodes, &ms); err != nil {
		t.Fatal(err)
	}
	if nodes != 1 {
		t.Errorf("got %d nodes, want one heartbeat for all runs", nodes)
	}
	return time.Duration(ms) * time.Millisecond
}

// small checks the memory of a host.
func (p *process) small(t *testing.T, what string) {
	t.Helper()
	now, peak := p.resident()
	if peak > mostMemory && !raceDetector {
		t.Errorf("%s: the host took up to %d MiB, want at most %d", what, peak, mostMemory)
	}
	t.Logf("%s: the host takes %d MiB, at most %d", what, now, peak)
}
