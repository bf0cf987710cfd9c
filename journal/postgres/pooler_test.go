package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/journal/journaltest"
)

// TestStoreThroughAPooler is the whole suite through PgBouncer in transaction mode, without a word of it in the
// settings: the store finds out.
func TestStoreThroughAPooler(t *testing.T) {
	dsn := pgtest.Database(t)
	through := pgtest.Pooler(t, dsn)(dsn)
	journaltest.Run(t, func(t *testing.T) journaltest.Harness {
		b := newSchema(through)
		b.direct = dsn
		return b.harness(t)
	})
}

// TestPooler: behind a pooler there are no notifications and the server's timeouts are of a transaction.
func TestPooler(t *testing.T) {
	b := newTestbed(t)
	b.direct, b.cfg.DSN = b.cfg.DSN, pgtest.Pooler(t, b.cfg.DSN)(b.cfg.DSN)
	var log bytes.Buffer
	b.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := b.open(t)
	if !s.pooled || !s.deaf || !strings.Contains(log.String(), "polling") {
		t.Errorf("got pooled %v, deaf %v, log %q; want the pooler found", s.pooled, s.deaf, log.String())
	}
	for name, mode := range map[string]string{"default": "", "of an operator": "&default_query_exec_mode=cache_describe"} {
		t.Run(name, func(t *testing.T) {
			b := &testbed{cfg: b.cfg, direct: b.direct}
			b.cfg.DSN += mode
			f := newFixtureOn(t, b)
			l := f.owned()
			_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}})
			f.must(err)
			f.whole(l, 1)
		})
	}
	err := s.inTx(t.Context(), func(tx pgx.Tx) error {
		for _, name := range timeoutNames {
			var got string
			if err := tx.QueryRow(t.Context(), `SELECT current_setting($1)`, name).Scan(&got); err != nil {
				return err
			}
			if got != "15s" {
				t.Errorf("%s in a transaction: got %s, want 15s", name, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// Work of another process is found by asking.
	other := b.open(t)
	n, err := other.Register(context.Background(), "n9", ttl)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, b)
	r := f.create()
	got, err := other.Claim(t.Context(), n.ID, journal.Want{Limit: 1})
	if err != nil || len(got.Claims) != 1 || got.Claims[0].Run.ID != r.ID {
		t.Errorf("claim: got %v, %v, want run %s", got.Claims, err, r.ID)
	}
}
