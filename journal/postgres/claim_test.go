package postgres

import (
	"encoding/json"
	"fmt"
	"testing"

	"reprise/journal"
	"reprise/tenant"
)

// TestClaimDoesNotReadABacklog counts the rows that each step of a claim touches, with 100,000 due runs of one tenant and ten
// of another.
func TestClaimDoesNotReadABacklog(t *testing.T) {
	f := newFixture(t)
	node := f.register("n1")
	due := func(owner, state string, n int) {
		t.Helper()
		_, err := f.conn.Exec(t.Context(), `INSERT INTO reprise.runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, wake_at, created_at, updated_at)
			SELECT $1, gen_random_uuid(), '', '', 'w', 'd', '', $2, now() - interval '1 second', now(), now() FROM generate_series(1, $3)`, owner, state, n)
		f.must(err)
	}
	due("a", "ready", 50_000)
	due("a", "waiting", 50_000)
	due("b", "ready", 5)
	due("b", "waiting", 5)
	f.touches("no statistics", node)
	_, err := f.conn.Exec(t.Context(), `ANALYZE reprise.runs`)
	f.must(err)
	f.touches("statistics", node)
}

func (f *fixture) touches(name, node string) {
	f.Helper()
	const limit, most = 20, 2*20 + 10
	for _, w := range []journal.Want{
		{Limit: limit},
		{Limit: limit, PerTenant: 700, Held: map[tenant.ID]int{"a": 700}},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			tx, err := f.conn.Begin(f.Context())
			f.must(err)
			_, err = tx.Exec(f.Context(), "SET LOCAL plan_cache_mode = "+mode)
			f.must(err)
			var text []byte
			f.must(tx.QueryRow(f.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+claimSQL, claimArgs(node, w, 1, nil, (&outlook{}).next())...).Scan(&text))
			f.must(tx.Rollback(f.Context()))
			var plans []struct {
				Plan planNode
				JIT  json.RawMessage
			}
			f.must(json.Unmarshal(text, &plans))
			if len(plans) != 1 || plans[0].JIT != nil {
				f.Fatalf("%s, %v, %s: got %d plans, want one, that is not compiled", name, w, mode, len(plans))
			}
			plans[0].Plan.walk(func(n planNode) {
				if rows := (n.Rows + n.Removed) * n.Loops; rows > most {
					f.Errorf("%s, %v, %s: a step touches %v rows, want at most %d: %s", name, w, mode, rows, most, n)
				}
			})
		}
	}
}

// planNode is a step of EXPLAIN's answer.
type planNode struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Parent   string  `json:"Subplan Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Plans    []planNode
}

func (n planNode) walk(each func(planNode)) {
	each(n)
	for _, p := range n.Plans {
		p.walk(each)
	}
}

func (n planNode) String() string { return fmt.Sprintf("%s %s %s", n.Type, n.Index, n.Parent) }
