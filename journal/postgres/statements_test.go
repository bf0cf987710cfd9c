package postgres

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/modules"
)

// counter notes each statement; every one is a round trip.
type counter struct {
	mu  sync.Mutex
	sql []string
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.Contains(d.SQL, "pg_notify") { // hints follow on their own
		c.sql = append(c.sql, d.SQL)
	}
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *counter) of(do func()) []string {
	c.mu.Lock()
	c.sql = nil
	c.mu.Unlock()
	do()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sql)
}

// TestStatementsPerCall fixes what a call costs in round trips.
func TestStatementsPerCall(t *testing.T) {
	count := &counter{}
	b := newTestbed(t)
	b.cfg.tracer = count
	f := newFixtureOn(t, b)
	ls := f.ownedMany(2)
	l, other := ls[0], ls[1]
	ctx := t.Context()
	for _, c := range []struct {
		name string
		want int
		do   func() error
	}{
		{"commit of one entry", 1, func() error { _, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(0, 1)}); return err }},
		{"commit of 500 entries", 1, func() error { _, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(1, 500)}); return err }},
		{"signal", 1, func() error { _, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", nil); return err }},
		{"signal again", 2, func() error { _, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", nil); return err }},
		{"commit of everything", 1, func() error {
			_, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(501, 1), Stash: []journal.Arrival{{ID: "op:9", Kind: journal.ArrivalDone}},
				Observed: []string{"signal:s1"}, Published: []journal.Published{{Key: "k"}}, Next: &journal.Transition{State: journal.Ready}})
			return err
		}},
		{"commit with a checkpoint", 1, func() error {
			_, err := f.s.Commit(ctx, other, journal.Batch{Checkpoint: &journal.Checkpoint{Seq: 1, Key: "k", Packed: []byte("x")}})
			return err
		}},
		{"checkpoint", 1, func() error { _, err := f.s.Checkpoint(ctx, acme, other.Run); return err }},
		{"fenced commit", 2, func() error {
			if _, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(502, 1)}); err == nil {
				t.Error("commit after the lease was given up: got no error, want one")
			}
			return nil
		}},
		{"claim", 1, func() error { _, err := f.s.Claim(ctx, l.Node, journal.Want{Limit: 10}); return err }},
		{"claim of nothing", 1, func() error { _, err := f.s.Claim(ctx, l.Node, journal.Want{Limit: 10}); return err }},
		{"mail", 1, func() error { _, err := f.s.Mail(ctx, l.Node, map[journal.RunID]int64{l.Run: 0}); return err }},
		{"heartbeat", 1, func() error { _, err := f.s.Heartbeat(ctx, l.Node, ttl); return err }},
		{"create", 1, func() error { f.create(); return nil }},
		{"run", 1, func() error { _, err := f.s.Run(ctx, acme, l.Run); return err }},
		{"a whole journal", 1, func() error { _, err := f.s.Entries(ctx, acme, l.Run, 0, 1000); return err }},
		{"an empty journal", 2, func() error { _, err := f.s.Entries(ctx, acme, other.Run, 0, 1000); return err }},
		{"cancel", 4, func() error { _, err := f.s.RequestCancel(ctx, acme, other.Run, "stop"); return err }},
		{"alias", 1, func() error { _, _, err := f.s.SetAlias(ctx, acme, "order", f.digest); return err }},
		{"module", 1, func() error {
			_, err := f.s.PutModule(ctx, modules.Module{Tenant: acme, Digest: modules.DigestOf([]byte("x")), Shape: modules.Reactor}, []byte("x"))
			return err
		}},
	} {
		got := count.of(func() {
			if err := c.do(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
		if len(got) != c.want {
			t.Errorf("%s: got %d statements, want %d:\n%s", c.name, len(got), c.want, strings.Join(got, "\n;"))
		}
	}
}

// TestEveryExecMode runs each method's statements in the modes that a pooler in transaction mode needs.
func TestEveryExecMode(t *testing.T) {
	for _, mode := range []string{"exec", "cache_describe", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			b := newTestbed(t)
			b.cfg.DSN += "&default_query_exec_mode=" + mode
			f := newFixtureOn(t, b)
			ctx := t.Context()
			l := f.owned()
			_, err := f.s.Signal(ctx, acme, l.Run, "s1", "paid", nil)
			f.must(err)
			_, err = f.s.Mail(ctx, l.Node, map[journal.RunID]int64{l.Run: 0})
			f.must(err)
			state, err := f.s.Commit(ctx, l, journal.Batch{Entries: entries(0, 2), Stash: []journal.Arrival{{ID: "op:9", Kind: journal.ArrivalDone}},
				Observed: []string{"signal:s1"}, Published: []journal.Published{{Key: "k"}}, Next: &journal.Transition{State: journal.Waiting}})
			f.must(err)
			if state != journal.Ready {
				t.Errorf("commit: got %s, want ready", state)
			}
			if _, err := f.s.Commit(ctx, l, journal.Batch{}); err == nil {
				t.Error("commit without a lease: got no error, want one")
			}
			if got := len(f.entries(l.Run)); got != 2 {
				t.Errorf("entries: got %d, want 2", got)
			}
			_, err = f.s.RequestCancel(ctx, acme, l.Run, "stop")
			f.must(err)
			as, err := f.s.Arrivals(ctx, acme, l.Run, 0)
			f.must(err)
			ps, err := f.s.Published(ctx, acme, l.Run)
			f.must(err)
			page, err := f.s.Runs(ctx, acme, journal.Filter{State: journal.Ready, Limit: 1})
			f.must(err)
			if len(as) != 2 || len(ps) != 1 || len(page.Runs) != 1 {
				t.Errorf("got %d arrivals, %d values, %d runs, want 2, 1, 1", len(as), len(ps), len(page.Runs))
			}
			_, err = f.s.Heartbeat(ctx, l.Node, ttl)
			f.must(err)
			_, _, err = f.s.SetAlias(ctx, acme, "order", f.digest)
			f.must(err)
			_, err = f.s.Aliases(ctx, acme)
			f.must(err)
			_, err = f.s.Modules(ctx, acme)
			f.must(err)
			_, err = f.s.ListNodes(ctx)
			f.must(err)
		})
	}
}

func TestChecksEqualTheGoTables(t *testing.T) {
	f := newFixture(t)
	var states, terminal []string
	for _, s := range journal.States {
		states = append(states, string(s))
		if s.Terminal() {
			terminal = append(terminal, string(s))
		}
	}
	consts := constants(t, "../journal.go", "../../modules/modules.go")
	for _, c := range []struct {
		constraint string
		want       []string
	}{
		{"runs_state", states},
		{"runs_finished", terminal},
		{"entries_kind", consts["Kind"]},
		{"inbox_kind", consts["ArrivalKind"]},
		{"modules_shape_check", consts["Shape"]},
	} {
		var def string
		f.must(f.conn.QueryRow(t.Context(), `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1`, c.constraint).Scan(&def))
		var got []string
		for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(def, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-Go +SQL):\n%s", c.constraint, d)
		}
	}
}

// constants reads the values of typed string constants from Go files, by type.
func constants(t *testing.T, files ...string) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Type == nil {
				return true
			}
			name, ok := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				if lit, isLit := v.(*ast.BasicLit); ok && isLit && lit.Kind == token.STRING {
					value, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					found[name.Name] = append(found[name.Name], value)
				}
			}
			return true
		})
	}
	return found
}

// TestRunColumnsAreAllOfARun guards against a field of Run that is not read back.
func TestRunColumnsAreAllOfARun(t *testing.T) {
	var w runRow
	large := reflect.TypeOf(w.r.large).NumField()
	if got, want := len(w.into()), reflect.TypeFor[journal.Run]().NumField()+large; got != want {
		t.Errorf("columns: got %d, want %d: one for each field of Run, and %d that say what is a digest", got, want, large)
	}
}
