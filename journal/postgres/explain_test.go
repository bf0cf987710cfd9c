package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/tenant"
)

// watcher keeps the parameters of each statement that was sent, by its text.
type watcher struct {
	mu   sync.Mutex
	args map[string][]any
}

func (w *watcher) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(d.SQL, defaultSchema+".") {
		w.args[d.SQL] = d.Args
	}
	return ctx
}

func (w *watcher) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// filling is enough rows for the planner to prefer an index wherever it has the choice: one tenant has most of them, runs in every state,
// large payloads, and many others have some.
var filling = []string{
	`INSERT INTO reprise.modules (tenant, digest, size, shape, manifest, imports, created_at)
		SELECT t, 'sha256:' || n, 1, 'command', '{}', '[]', now() FROM unnest(ARRAY['acme', 'other']) t, generate_series(1, 1000) n`,
	`INSERT INTO reprise.module_bytes (tenant, digest, bytes) SELECT tenant, digest, 'x' FROM reprise.modules m WHERE m.digest LIKE 'sha256:%'  ON CONFLICT DO NOTHING`,
	`INSERT INTO reprise.aliases (tenant, name, version, digest, set_at)
		SELECT t, 'w' || n, v, 'sha256:' || n, now() FROM unnest(ARRAY['acme', 'other']) t, generate_series(1, 500) n, generate_series(1, 3) v`,
	`INSERT INTO reprise.runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, owner, wake_at, created_at, updated_at, finished_at)
		SELECT t, gen_random_uuid(), CASE WHEN n % 10 = 0 THEN convert_to('k' || n, 'UTF8') ELSE '' END, CASE WHEN n % 3 = 0 THEN convert_to('i' || n, 'UTF8') ELSE '' END,
			'w' || n % 500, 'd', '', s, CASE WHEN s = 'running' THEN '$NODE' ELSE '' END, now() + CASE WHEN s = 'waiting' THEN interval '1 day' ELSE '0' END, now(), now(),
			CASE WHEN s IN ('completed', 'failed') THEN now() END
		FROM unnest(ARRAY['acme', 'other']) t, generate_series(1, 30000) n,
			LATERAL (SELECT CASE WHEN n % 100 < 70 THEN 'completed' WHEN n % 100 < 75 THEN 'running' WHEN n % 100 < 80 THEN 'ready'
				WHEN n % 1000 = 999 THEN 'blocked' WHEN n % 100 = 98 THEN 'failed' ELSE 'waiting' END AS s) s`,
	`INSERT INTO reprise.entries (tenant, run, seq, trail, token, at, op, issued, status, kind, name)
		SELECT r.tenant, r.no, n, 0, 1, now(), 1, 1, 1, 'effect', 'e' FROM reprise.runs r, generate_series(100, 104) n WHERE r.workflow <> 'order'`,
	`INSERT INTO reprise.inbox (tenant, run, pos, at, op, open, kind, id, name)
		SELECT r.tenant, r.no, n, now(), -1, n = 1002, 'signal', convert_to('x' || n, 'UTF8'), 'n' FROM reprise.runs r, generate_series(1000, 1002) n WHERE r.workflow <> 'order'`,
	`INSERT INTO reprise.checkpoints (tenant, run, seq, key, packed) SELECT r.tenant, r.no, 1, 'k', 'x' FROM reprise.runs r WHERE r.workflow <> 'order'`,
	`INSERT INTO reprise.published (tenant, run, at, key) SELECT r.tenant, r.no, now(), 'p' FROM reprise.runs r WHERE r.workflow <> 'order'`,
	`INSERT INTO reprise.payloads (tenant, digest, size, codec, bytes, check_at)
		SELECT t, sha256(convert_to(n::text, 'UTF8')), 70000, 0, 'x', CASE WHEN n % 50 = 0 THEN now() + interval '1 hour' END
		FROM unnest(ARRAY['acme', 'other']) t, generate_series(1, 20000) n`,
	`INSERT INTO reprise.payload_names (tenant, digest, place, run, id)
		SELECT p.tenant, p.digest, 0, 1000000 + n * 10000 + row_number() OVER () % 10000, '' FROM reprise.payloads p, generate_series(1, 3) n`,
	`INSERT INTO reprise.removed (tenant, run) SELECT 'acme', n FROM generate_series(2000001, 2005000) n`,
	`ANALYZE`,
}

// everything calls every method in a way that sends each statement, and notes the statements.
func everything(t *testing.T) (*fixture, map[string][]any) {
	w := &watcher{args: map[string][]any{}}
	b := newTestbed(t)
	b.cfg.tracer = w
	f := newFixtureOn(t, b)
	ctx, s := t.Context(), f.s
	ignore := func(any, error) {} // what counts is the statement
	large := bytes.Repeat([]byte("payload "), 20_000)
	ls := f.ownedMany(3)
	l := ls[0]
	ignore(s.Commit(ctx, l, journal.Batch{Entries: entries(0, 2)}))
	ignore(s.Commit(ctx, l, journal.Batch{Entries: entries(0, 2)}))
	ignore(s.Commit(ctx, l, journal.Batch{Published: []journal.Published{{Key: "k"}}, Observed: []string{"x"}}))
	ignore(s.execGroup(ctx, s.pool, []*commit{{lease: ls[1], batch: journal.Batch{Entries: entries(0, 1)}}, {lease: ls[2], batch: journal.Batch{Entries: entries(0, 1)}}}))
	b2 := largeBatch(large)
	b2.Entries = nil
	ignore(s.Commit(ctx, l, b2))
	r := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, IdempotencyKey: "again", Key: "key"}
	for range 2 {
		_, _, err := s.Create(ctx, r)
		f.must(err)
	}
	r.ID, r.IdempotencyKey, r.Key, r.Input = journal.NewRunID(), "", "", large
	_, _, err := s.Create(ctx, r)
	f.must(err)
	for range 2 {
		ignore(s.Signal(ctx, acme, l.Run, "s1", "paid", nil))
		ignore(s.Signal(ctx, acme, l.Run, "s2", "paid", large))
	}
	ignore(s.Run(ctx, acme, l.Run))
	ignore(s.Run(ctx, acme, r.ID))
	ignore(s.Entries(ctx, acme, l.Run, 0, 10))
	ignore(s.Entries(ctx, acme, ls[1].Run, 0, 10))
	ignore(s.Arrivals(ctx, acme, l.Run, 0))
	ignore(s.Published(ctx, acme, l.Run))
	ignore(s.Checkpoint(ctx, acme, l.Run))
	forked := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest}
	for _, from := range []journal.RunID{l.Run, journal.NewRunID()} {
		_, _, _ = s.Fork(ctx, forked, journal.Fork{From: from, Entries: 1, Checkpoint: &journal.Checkpoint{Seq: 1}})
	}
	_, err = s.Commit(ctx, ls[1], journal.Batch{Entries: entries(1, 1), Checkpoint: &journal.Checkpoint{Seq: 2, Packed: []byte("x")}})
	f.must(err)
	_, err = s.Commit(ctx, ls[1], journal.Batch{Next: &journal.Transition{State: journal.Completed}})
	f.must(err)
	f.forgotten(ls[1])
	for _, filter := range lists {
		ignore(s.Runs(ctx, acme, filter))
	}
	ignore(s.RequestCancel(ctx, acme, l.Run, "stop"))
	ignore(s.RequestCancel(ctx, acme, r.ID, "stop"))
	ignore(s.Resume(ctx, acme, l.Run))
	ignore(s.Mail(ctx, l.Node, map[journal.RunID]int64{l.Run: 0}))
	ignore(s.Heartbeat(ctx, l.Node, ttl))
	ignore(s.ListNodes(ctx))
	ignore(s.Now(ctx))
	_, _, err = s.SetAlias(ctx, acme, "order", f.digest)
	f.must(err)
	ignore(s.Alias(ctx, acme, "order"))
	begins := func() *begin {
		return &begin{run: journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest}, node: l.Node}
	}
	for _, bs := range [][]*begin{{begins()}, {begins(), begins()}} {
		got, err := s.beginMany(ctx, bs)
		f.must(err)
		if len(got) != len(bs) {
			f.Fatalf("got %d runs, want %d", len(got), len(bs))
		}
	}
	child := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, ParentOp: 1}
	ignore(s.Commit(ctx, ls[2], journal.Batch{Children: []journal.Run{child}}))
	child.Parent = ls[2].Run
	f.must(s.inTx(ctx, func(tx pgx.Tx) error {
		return errors.Join(s.succeed(ctx, tx, ls[2], child.ID), s.unlink(ctx, tx, child))
	}))
	ignore(s.AliasHistory(ctx, acme, "order"))
	ignore(s.Aliases(ctx, acme))
	ignore(s.Module(ctx, acme, f.digest))
	ignore(s.Modules(ctx, acme))
	ignore(s.ModuleBytes(ctx, acme, f.digest))
	f.must(s.DeleteRun(ctx, acme, r.ID))
	f.b.advance(t, 2*time.Hour)
	ignore(s.Prune(ctx, journal.Retention{Completed: time.Hour, Failed: time.Hour}, 10))
	node := f.register("n2")
	ignore(s.Claim(ctx, node, journal.Want{Limit: 10, Held: map[tenant.ID]int{acme: 1}}))
	f.must(s.Unregister(ctx, node))
	ignore(s.Hold(ctx, "why", 10))
	// A store sends these only when it must.
	for sql, args := range map[string][]any{
		runThereSQL: {string(acme), uuidOf(l.Run)}, runSQL: {string(acme), uuidOf(l.Run)},
		inTheWaySQL: {string(acme), uuidOf(r.ID), []byte("again"), []byte("key")},
	} {
		if w.args[sql] == nil {
			w.args[sql] = args
		}
	}
	takeArrays(f.conn.TypeMap())
	for _, sql := range filling {
		_, err := f.conn.Exec(ctx, strings.ReplaceAll(sql, "$NODE", node))
		f.must(err)
	}
	return f, w.args
}

var lists = map[string]journal.Filter{
	"all":      {},
	"ended":    {State: journal.Failed},
	"held":     {State: journal.Blocked},
	"ready":    {State: journal.Ready},
	"running":  {State: journal.Running},
	"workflow": {Workflow: "w7"},
	"key":      {Key: "k10"},
}

func list(name string) string {
	sql, _ := listSQL(acme, lists[name], newest, 101)
	return sql
}

// TestEveryPlan plans every statement that the store sends over full tables, as it is planned for its parameters and as it is planned for any. No
// plan reads a large table whole, and each uses the indexes that are said to be there for it.
func TestEveryPlan(t *testing.T) {
	f, sent := everything(t)
	want := map[string]struct {
		name    string
		indexes []string
	}{
		oneSQL:               {"commit", []string{"runs_pkey"}},
		entriesOnlySQL:       {"commits", []string{"runs_pkey"}},
		wholeSQL:             {"whole commit", []string{"runs_pkey", "inbox_pkey"}},
		largeSQL:             {"commit of large payloads", []string{"runs_pkey", "inbox_pkey", "payloads_pkey"}},
		explainSQL:           {"explain commit", []string{"runs_pkey"}},
		createSQL:            {"create", []string{"modules_pkey"}},
		beginOneSQL:          {"begin", []string{"modules_pkey", "aliases_pkey"}},
		beginSQL:             {"begins", []string{"modules_pkey", "aliases_pkey"}},
		createLargeSQL:       {"create with a large input", []string{"modules_pkey", "payloads_pkey"}},
		inTheWaySQL:          {"in the way", []string{"runs_idempotency_key", "runs_key", "runs_pkey"}},
		signalSQL:            {"signal", []string{"runs_pkey", "inbox_pkey"}},
		signalLargeSQL:       {"large signal", []string{"runs_pkey", "inbox_pkey", "payloads_pkey"}},
		explainSignalSQL:     {"explain signal", []string{"runs_pkey", "inbox_pkey", "inbox_open"}},
		lockRunSQL:           {"lock run", []string{"runs_pkey"}},
		cancelAtOnceSQL:      {"cancel at once", []string{"runs_pkey"}},
		cancelRequestSQL:     {"cancel", []string{"runs_pkey"}},
		selfSQL:              {"parent of a run", []string{"runs_pkey"}},
		succeedSQL:           {"succeed", []string{"runs_pkey", "inbox_open", "payloads_pkey"}},
		unseenCancelSQL:      {"unseen cancellation", []string{"runs_pkey"}},
		boundSQL:             {"bound children", []string{"runs_bound"}},
		lockOpenSQL:          {"lock open run", []string{"runs_pkey"}},
		tellParentSQL:        {"tell parent", []string{"runs_pkey", "inbox_pkey"}},
		resumeSQL:            {"resume", []string{"runs_pkey"}},
		runSQL:               {"run", []string{"runs_pkey"}},
		manyRunsSQL:          {"runs", []string{"runs_pkey"}},
		runThereSQL:          {"run is there", []string{"runs_pkey"}},
		entriesSQL:           {"entries", []string{"runs_pkey", "entries_pkey", "payloads_pkey"}},
		arrivalsSQL:          {"arrivals", []string{"runs_pkey", "inbox_open"}},
		publishedSQL:         {"published", []string{"runs_pkey", "published_pkey"}},
		checkpointSQL:        {"checkpoint", []string{"runs_pkey", "checkpoints_pkey"}},
		forkSQL:              {"fork", []string{"runs_pkey", "modules_pkey", "entries_pkey", "payload_names_run"}},
		forkedSQL:            {"how far a run is", []string{"runs_pkey"}},
		forgetCheckpointsSQL: {"forget checkpoints", []string{"runs_pkey", "checkpoints_pkey"}},
		payloadsSQL:          {"payloads", []string{"payloads_pkey"}},
		list("all"):          {"list", []string{"runs_pkey"}},
		list("ended"):        {"list ended", []string{"runs_ended"}},
		list("held"):         {"list held", []string{"runs_held"}},
		list("ready"):        {"list ready", nil}, // many are: the newest are found sooner by runs_pkey
		list("running"):      {"list running", nil},
		list("workflow"):     {"list by workflow", []string{"runs_workflow"}},
		list("key"):          {"list by key", []string{"runs_of_key"}},
		claimSQL:             {"claim", []string{"runs_pkey", "runs_ready", "runs_waiting", "runs_waiting_of", "runs_running"}},
		mailSQL:              {"mail", []string{"runs_running"}},
		sweepNodesSQL:        {"sweep nodes", []string{"runs_running"}},
		listNodesSQL:         {"nodes", []string{"runs_running"}},
		retireSQL:            {"retire", []string{"runs_finished"}},
		clearSQL:             {"clear", []string{"removed_pkey", "entries_pkey", "inbox_pkey", "published_pkey", "payload_names_run", "payloads_pkey", "checkpoints_pkey"}},
		endNodesSQL:          {"end nodes", nil}, // nodes are few
		holdRunningSQL:       {"hold running", []string{"runs_pkey", "runs_running"}},
		holdWaitingSQL:       {"hold waiting", []string{"runs_pkey", "runs_held"}},
		holdReadySQL:         {"hold ready", []string{"runs_pkey", "runs_ready"}},
		sweepPickSQL:         {"sweep: pick", []string{"payloads_check"}},
		sweepSQL:             {"sweep", []string{"payload_names_pkey", "inbox_pkey", "published_pkey", "payloads_pkey"}},
		deleteRunSQL:         {"delete", []string{"runs_pkey"}},
		setAliasSQL:          {"set alias", []string{"aliases_pkey", "modules_pkey"}},
		aliasHistorySQL:      {"history", []string{"aliases_pkey"}},
		manyAliasesSQL:       {"aliases", []string{"aliases_pkey"}},
		listAliasesSQL:       {"list aliases", nil}, // half of the table is the tenant's
		moduleSQL:            {"module", []string{"modules_pkey"}},
		moduleBytesSQL:       {"module bytes", []string{"module_bytes_pkey"}},
		listModulesSQL:       {"list modules", nil},
		putModuleSQL:         {"put module", nil},
		endNamesakesSQL:      {"end namesakes", nil}, // nodes are few
		registerSQL:          {"register", nil},
		heartbeatSQL:         {"heartbeat", nil},
		unregisterSQL:        {"unregister", nil},
		nowSQL:               {"now", nil},
	}
	for sql := range sent {
		if _, ok := want[sql]; !ok {
			t.Errorf("a statement is not in the table of this test:\n%s", sql)
		}
	}
	for sql, w := range want {
		args, ok := sent[sql]
		if !ok {
			t.Errorf("%s: the statement was not sent", w.name)
			continue
		}
		f.checkPlan(w.name+", for these parameters", f.explain(sql, args...), w.indexes)
		// What a statement is planned as for any parameters does not depend on them.
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ")
		execute := "EXECUTE q"
		if len(args) > 0 {
			execute += " (" + nulls + ")"
		}
		for _, text := range []string{"SET plan_cache_mode = force_generic_plan", "PREPARE q AS " + sql} {
			_, err := f.conn.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
			f.must(err)
		}
		f.checkPlan(w.name+", for any parameters", f.explain(execute), w.indexes)
		_, err := f.conn.Exec(t.Context(), "DEALLOCATE q", pgx.QueryExecModeSimpleProtocol)
		f.must(err)
	}
}

// large are the tables that no statement may read whole.
var large = []string{"runs", "entries", "inbox", "published", "payloads", "payload_names", "module_bytes", "checkpoints"}

func (f *fixture) explain(sql string, args ...any) (plan []byte) {
	f.Helper()
	if err := f.conn.QueryRow(f.Context(), "EXPLAIN (FORMAT JSON) "+sql, args...).Scan(&plan); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return plan
}

func (f *fixture) checkPlan(name string, text []byte, indexes []string) {
	f.Helper()
	var plans []struct{ Plan planNode }
	f.must(json.Unmarshal(text, &plans))
	used := map[string]bool{}
	plans[0].Plan.walk(func(n planNode) {
		used[n.Index] = true
		if n.Type == "Seq Scan" && slices.Contains(large, n.Relation) {
			f.Errorf("%s: the plan reads all of %s:\n%s", name, n.Relation, text)
		}
	})
	for _, index := range indexes {
		if !used[index] {
			f.Errorf("%s: the plan does not use %s:\n%s", name, index, text)
		}
	}
	if strings.HasPrefix(name, "commit") && used["runs_running"] {
		f.Errorf("%s: the plan reads all runs of the node", name)
	}
}

// TestAppendsAreHeapOnly: a commit that keeps the lease writes no index of runs.
func TestAppendsAreHeapOnly(t *testing.T) {
	f := newFixture(t)
	l := f.owned()
	const n = 200
	var before, after struct{ all, hot int64 }
	const stats = `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'reprise' AND relname = 'runs'`
	conn := f.observer()
	read := func(into *struct{ all, hot int64 }) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), stats).Scan(&into.all, &into.hot); err != nil {
			t.Fatal(err)
		}
	}
	f.flushStatistics()
	read(&before)
	for seq := range int64(n) {
		_, err := f.s.Commit(t.Context(), l, journal.Batch{Entries: entries(seq, 1)})
		f.must(err)
	}
	f.waitFor("the statistics of the updates", func() bool {
		f.flushStatistics()
		read(&after)
		return after.all-before.all >= n
	})
	// A page is full now and then, and the row goes to another.
	if all, hot := after.all-before.all, after.hot-before.hot; hot < all*9/10 {
		t.Errorf("updates: got %d of %d heap-only, want nearly all", hot, all)
	}
}

// flushStatistics has the store's connections report what they did.
func (f *fixture) flushStatistics() {
	f.Helper()
	f.s.pool.Reset() // a server process reports when it ends
}
