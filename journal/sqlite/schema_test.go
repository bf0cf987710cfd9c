package sqlite

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/journal"
)

// TestChecks compares the lists in the schema with the contract's.
func TestChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	store, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var states []string
	for _, s := range journal.States {
		states = append(states, string(s))
	}
	for _, c := range []struct {
		table, column string
		want          []string
	}{
		{"runs", "state", states},
		{"entries", "kind", constants(t, "Kind")},
		{"inbox", "kind", constants(t, "ArrivalKind")},
	} {
		if d := cmp.Diff(c.want, checkList(t, db, c.table, c.column)); d != "" {
			t.Errorf("check of %s.%s (-contract +schema):\n%s", c.table, c.column, d)
		}
	}
}

func checkList(t *testing.T, db *sql.DB, table, column string) (list []string) {
	t.Helper()
	var ddl string
	if err := db.QueryRow(`SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&ddl); err != nil {
		t.Fatalf("schema of %s: %v", table, err)
	}
	in := regexp.MustCompile(`CHECK \(` + column + ` IN \(([^)]*)\)`).FindStringSubmatch(ddl)
	if in == nil {
		t.Fatalf("no check of %s.%s in the schema", table, column)
	}
	for _, word := range strings.Split(in[1], ", ") {
		list = append(list, strings.Trim(word, "'"))
	}
	return list
}

// constants lists the values of the constants of a type of package journal, in the source's order.
func constants(t *testing.T, typeName string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../journal.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typeName {
			v, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		return true
	})
	return values
}

// TestPlans checks that what is asked often finds its rows by an index, however many runs there are.
func TestPlans(t *testing.T) {
	s := open(t, Config{})
	c := <-s.writer
	defer func() { s.writer <- c }()
	list := func(f journal.Filter) string { q, _ := listQuery("acme", f, 1, 1); return q }
	for _, q := range []struct {
		name, text string
		want       []string // indexes
	}{
		{"claim", peek, []string{"runs_ready", "runs_due", "runs_owned"}},
		{"claim: tenants", dueTenants, []string{"runs_ready", "runs_due_of"}},
		{"claim: runs of a tenant", oldest, []string{"runs_ready (tenant=?)", "runs_due_of (tenant=? AND due_at>? AND due_at<?)"}},
		{"run", wholeRun + `WHERE r.tenant = ? AND r.id = ?`, []string{"(tenant=? AND id=?)"}},
		{"idempotency key", wholeRun + `WHERE r.tenant = ? AND r.idempotency_key = ? AND r.idempotency_key <> ''`, []string{"runs_by_idempotency_key"}},
		{"open key", wholeRun + `WHERE r.tenant = ? AND r.key = ? AND r.key <> '' AND r.finished_at IS NULL`, []string{"runs_by_open_key"}},
		{"list", list(journal.Filter{}), []string{"runs_by_tenant"}},
		{"list by state", list(journal.Filter{State: "ready"}), []string{"runs_by_state"}},
		{"list by workflow", list(journal.Filter{Workflow: "w"}), []string{"runs_by_workflow"}},
		{"list by key", list(journal.Filter{Key: "k"}), []string{"runs_by_key"}},
		{"entries", `SELECT ` + entryColumns + entryFlags + largeSizes + ` FROM entries e WHERE run = ` + numberOf + ` AND seq >= ? ORDER BY seq LIMIT ?`,
			[]string{"entries_by_seq (run=? AND seq>?)", "sqlite_autoindex_runs_1 (tenant=? AND id=?)", "sqlite_autoindex_payloads_1 (tenant=? AND digest=?)"}},
		{"retire", finished, []string{"runs_finished (state=? AND finished_at>? AND finished_at<?)"}},
		{"clear", removed, []string{"runs_removed"}},
		{"clear entries", clearing[0], []string{"entries_by_seq (run=?)"}},
		{"clear inbox", clearing[1], []string{"inbox_by_id (run=?)"}},
		{"clear published", clearing[2], []string{"published_by_key (run=?)"}},
		{"clear names", clearNames, []string{"payload_names_run (run=?)"}},
		{"sweep", unsure, []string{"payloads_check"}},
		{"sweep: kept names", staysNamed, []string{"PRIMARY KEY (payload=? AND place=?)"}},
		{"sweep: loose names", looseNames, []string{"PRIMARY KEY (payload=? AND place>?)", "inbox_by_id (run=? AND id=?)", "published_by_key (run=? AND key=?)"}},
		{"newest alias", newestAlias, []string{"(tenant=? AND name=?)"}},
	} {
		got := c.plan(t, q.text)
		for _, index := range q.want {
			if !strings.Contains(got, index) {
				t.Errorf("%s: want index %s in the plan\n%s", q.name, index, got)
			}
		}
		if wholeTable.MatchString(got) {
			t.Errorf("%s: the plan reads a whole table\n%s", q.name, got)
		}
		if strings.HasPrefix(q.name, "list") && strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s: the plan sorts\n%s", q.name, got)
		}
	}
}
