package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How often somebody is told.
const (
	lookEvery  = time.Minute      // at the server
	lookAtMost = 2 * time.Second  // for the answers; who asked has other things to do
	warnEvery  = 10 * time.Minute // of the same thing
)

// deadRatio is how many dead rows there are to a live one when a table's are told of, if they are deadRows or more: fewer are what
// autovacuum leaves from one round to the next.
const (
	deadRatio = 5
	deadRows  = 50_000
)

// oldSnapshotSQL finds the transaction that has kept rows from being removed for the longest: of a session, which has a snapshot or has written
// something, or prepared. A role without pg_read_all_stats does not see when sessions of other roles began.
const oldSnapshotSQL = `
SELECT s.pid, s.name, s.role, s.state, extract(epoch FROM clock_timestamp() - s.since)::float8 FROM (
  SELECT a.pid, a.application_name AS name, coalesce(a.usename, '') AS role, coalesce(a.state, '') AS state, a.xact_start AS since
  FROM pg_catalog.pg_stat_activity a
  WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
    AND a.pid <> pg_backend_pid()
  UNION ALL
  SELECT 0, x.gid, x.owner, 'prepared', x.prepared FROM pg_catalog.pg_prepared_xacts x WHERE x.database = current_database()
) s WHERE s.since <= clock_timestamp() - $1::interval ORDER BY s.since LIMIT 1`

// deadRowsSQL finds the table with the most rows that cannot be, or were not, removed.
const deadRowsSQL = `
SELECT t.relname, t.n_dead_tup, t.n_live_tup FROM pg_catalog.pg_stat_user_tables t
WHERE t.schemaname = $1 AND t.n_dead_tup >= $2 AND t.n_dead_tup > $3 * t.n_live_tup ORDER BY t.n_dead_tup DESC LIMIT 1`

// snapshots watches for what keeps dead rows from being removed. Nothing fails by that, but tables grow, and who looks for work reads
// what is dead: an operator must end it.
type snapshots struct {
	mu     sync.Mutex
	looked time.Time
	warned map[string]time.Time // by what was told
	full   string               // table that had too many dead rows when it was looked at last
}

// lookAtSnapshots warns of a transaction that is open for long, and of tables that are mostly dead rows. It asks at most once a minute,
// and is silent when it gets no answer: others tell that the database is away.
func (s *Store) lookAtSnapshots(ctx context.Context) {
	w := &s.snapshots
	if !w.mu.TryLock() {
		return // another call is looking
	}
	defer w.mu.Unlock()
	if !w.looked.IsZero() && time.Since(w.looked) < lookEvery {
		return
	}
	w.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, lookAtMost)
	defer cancel()
	s.warnOfTransaction(ctx)
	s.warnOfDeadRows(ctx)
}

func (s *Store) warnOfTransaction(ctx context.Context) {
	var pid int32
	var name, role, state string
	var seconds float64
	if err := s.pool.QueryRow(ctx, oldSnapshotSQL, s.cfg.OldTransaction).Scan(&pid, &name, &role, &state, &seconds); err != nil {
		return
	}
	fix := fmt.Sprintf("end it with SELECT pg_terminate_backend(%d), and give its role an idle_in_transaction_session_timeout", pid)
	if pid == 0 {
		fix = "COMMIT PREPARED or ROLLBACK PREPARED it"
	}
	if !s.snapshots.worthTelling(fmt.Sprint(pid, " ", name)) {
		return
	}
	s.log.Warn("a transaction is open for long: rows that are replaced cannot be removed while it lasts, and finding work takes longer and longer",
		"pid", pid, "application_name", name, "role", role, "state", state, "age", (time.Duration(seconds) * time.Second).String(), "fix", fix)
}

// warnOfDeadRows tells of a table that it has found twice in a row: one that has just been emptied is about to be vacuumed.
func (s *Store) warnOfDeadRows(ctx context.Context) {
	var table string
	var dead, live int64
	err := s.pool.QueryRow(ctx, deadRowsSQL, s.cfg.Schema, s.cfg.deadRows, deadRatio).Scan(&table, &dead, &live)
	again := err == nil && table == s.snapshots.full
	s.snapshots.full = table
	if !again || !s.snapshots.worthTelling("table "+table) {
		return
	}
	s.log.Warn("a table is mostly dead rows: finding work takes longer and longer", "table", s.cfg.Schema+"."+table, "dead", dead, "live", live,
		"fix", "see who keeps them: old transactions in pg_stat_activity, pg_prepared_xacts, pg_replication_slots; and that autovacuum runs; then VACUUM it")
}

// worthTelling says whether the same was not told lately.
func (w *snapshots) worthTelling(what string) bool {
	if at, told := w.warned[what]; told && time.Since(at) < warnEvery {
		return false
	}
	if len(w.warned) >= 100 || w.warned == nil {
		w.warned = map[string]time.Time{}
	}
	w.warned[what] = time.Now()
	return true
}
