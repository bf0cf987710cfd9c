package pgtest

import (
	"net/url"
	"testing"

	"reprise/internal/pgserver"
)

// Pooler starts a PgBouncer in transaction mode before the server of a DSN in URL form, and returns what leads a DSN
// of any of the server's databases through it. It is gone when the test ends.
func Pooler(t testing.TB, dsn string) (through func(dsn string) string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Port() == "" {
		t.Fatal("the DSN is not a URL with a host and a port, which a pooler needs")
	}
	p, err := pgserver.NewPooler(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return func(dsn string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = p.Addr()
		return u.String()
	}
}
