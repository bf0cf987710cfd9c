package sqlite

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/journal"
	"reprise/journal/journaltest"
)

// TestMain also makes this test's program the second process that some tests need.
func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(childMain(role, os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

// movableClock is the machine's clock, moved.
type movableClock struct{ by atomic.Int64 }

func (c *movableClock) now() time.Time          { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *movableClock) advance(d time.Duration) { c.by.Add(int64(d)) }

func open(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSuiteOnFile(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Harness {
		clock := &movableClock{}
		c := Config{Path: filepath.Join(t.TempDir(), "journal.db"), Clock: clock.now}
		s := open(t, c)
		return journaltest.Harness{Store: s, Advance: clock.advance, Reopen: func() journal.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, c)
			return s
		}}
	})
}

func TestSuiteInMemory(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Harness {
		clock := &movableClock{}
		return journaltest.Harness{Store: open(t, Config{Clock: clock.now}), Advance: clock.advance}
	})
}
