package postgres

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/internal/pgtest"
	"reprise/journal"
	"reprise/modules"
)

const benchRuns, benchEntries = 100_000, 10

// BenchmarkPrune removes 100,000 runs of ten entries each while another goroutine commits, fills the tables again and removes again. It says how fast
// rows go, what a commit takes meanwhile, and how large the tables are after the second time, against the first.
func BenchmarkPrune(b *testing.B) {
	cluster := pgtest.Start(b, pgtest.Options{Durable: true})
	for b.Loop() {
		benchPrune(b, cluster.Database(b))
	}
}

func benchPrune(b *testing.B, dsn string) {
	ctx := b.Context()
	s, err := Open(ctx, Config{DSN: dsn})
	must(b, err)
	defer s.Close()
	conn, err := pgx.Connect(ctx, dsn)
	must(b, err)
	defer conn.Close(context.Background())
	wasm := []byte("\x00asm\x01\x00\x00\x00")
	_, err = s.PutModule(ctx, modules.Module{Tenant: acme, Digest: modules.DigestOf(wasm), Size: 8, Shape: modules.Command}, wasm)
	must(b, err)
	var sizes [2]int64
	for round := range sizes {
		fillEnded(b, conn)
		sizes[round] = sizeOf(b, conn)
		meanwhile := commitUntil(b, s, func() {
			began, rows, calls, longest := time.Now(), 0, 0, time.Duration(0)
			for more := true; more; calls++ {
				at := time.Now()
				p, err := s.Prune(ctx, journal.Retention{Completed: time.Microsecond}, 500)
				must(b, err)
				rows, more = rows+p.Rows, p.More
				longest = max(longest, time.Since(at))
			}
			b.ReportMetric(float64(rows)/time.Since(began).Seconds(), "rows/s")
			b.ReportMetric(float64(longest.Milliseconds()), "longest-call-ms")
			b.Logf("round %d: %d rows in %s, %d calls, the longest %s", round, rows, time.Since(began).Round(time.Millisecond), calls, longest.Round(time.Millisecond))
		})
		slices.Sort(meanwhile)
		b.Logf("round %d: %d commits meanwhile, median %s, 99 %% %s, longest %s", round, len(meanwhile), meanwhile[len(meanwhile)/2],
			meanwhile[len(meanwhile)*99/100], meanwhile[len(meanwhile)-1])
		b.ReportMetric(float64(meanwhile[len(meanwhile)*99/100].Microseconds())/1000, "commit-p99-ms")
		_, err := conn.Exec(ctx, `VACUUM reprise.entries, reprise.runs, reprise.inbox`) // what autovacuum would do by then
		must(b, err)
	}
	b.Logf("tables and indexes: %d MiB when full, %d MiB when full again", sizes[0]>>20, sizes[1]>>20)
	b.ReportMetric(float64(sizes[1])/float64(sizes[0]), "size-again")
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func fillEnded(b *testing.B, conn *pgx.Conn) {
	for _, sql := range []string{
		`INSERT INTO reprise.runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, created_at, updated_at, finished_at, next_seq)
			SELECT 'acme', gen_random_uuid(), '', '', 'w', 'd', '', 'completed', now(), now(), now(), $2::int FROM generate_series(1, $1::int) WHERE $2::int > 0`,
		`INSERT INTO reprise.entries (tenant, run, seq, trail, token, at, op, issued, status, kind, name, request_held, payload_held)
			SELECT r.tenant, r.no, n, 0, 1, now(), 1, 1, 1, 'effect', 'e', convert_to(repeat('r', 60), 'UTF8'), convert_to(repeat('p', 100), 'UTF8')
			FROM reprise.runs r, generate_series(1, $2::int) n WHERE r.state = 'completed' AND $1::int > 0`,
	} {
		_, err := conn.Exec(b.Context(), sql, benchRuns, benchEntries)
		must(b, err)
	}
	_, err := conn.Exec(b.Context(), `ANALYZE`)
	must(b, err)
}

func sizeOf(b *testing.B, conn *pgx.Conn) (n int64) {
	must(b, conn.QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'reprise' AND c.relkind = 'r'`).Scan(&n))
	return n
}

// commitUntil commits entries to one run until do has ended, and says how long each commit took.
func commitUntil(b *testing.B, s *Store, do func()) (took []time.Duration) {
	ctx := b.Context()
	digest := modules.DigestOf([]byte("\x00asm\x01\x00\x00\x00"))
	_, _, err := s.Create(ctx, journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: digest})
	must(b, err)
	node, err := s.Register(ctx, "bench", time.Hour)
	must(b, err)
	cs, err := s.Claim(ctx, node.ID, journal.Want{Limit: 1})
	must(b, err)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for seq := int64(0); ; seq++ {
			select {
			case <-stop:
				return
			default:
			}
			at := time.Now()
			if _, err := s.Commit(ctx, cs.Claims[0].Lease, journal.Batch{Entries: entries(seq, 1)}); err != nil {
				b.Error(err)
				return
			}
			took = append(took, time.Since(at))
		}
	})
	do()
	close(stop)
	wg.Wait()
	_, err = s.Commit(ctx, cs.Claims[0].Lease, journal.Batch{Next: &journal.Transition{State: journal.Blocked}})
	must(b, err)
	return took
}
