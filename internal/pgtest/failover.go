package pgtest

import (
	"testing"
)

// Standby starts a cluster that follows this one asynchronously; it is gone when the test ends.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.server.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the standby's log ends with:\n%s", s.LogTail())
		}
		s.Close()
	})
	return &Cluster{s}
}

// Promote makes a standby a primary of its own.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	if err := c.server.Promote(); err != nil {
		t.Fatal(err)
	}
}

// Exec runs statements as the superuser in the database postgres.
func (c *Cluster) Exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := runSQL(c.DSN("postgres"), sql); err != nil {
			t.Fatal(err)
		}
	}
}
