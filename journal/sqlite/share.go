package sqlite

import (
	"cmp"
	"math"
	"slices"

	"reprise/journal"
	"reprise/tenant"
)

// candidate is a run that may be claimed.
type candidate struct {
	n      int64
	due    int64
	tenant tenant.ID
	owner  string // the dead one, of a running run
	rank   int    // how many runs of its tenant the node has when it gets this one
}

// lost finds the runs of dead owners; a node owns a bounded number. Index runs_owned.
const lost = `SELECT r.n, r.due_at, r.tenant, r.owner FROM nodes d CROSS JOIN runs r
	WHERE r.state = 'running' AND r.owner = d.id AND (d.ended_at IS NOT NULL OR d.expires_at <= ?2) ORDER BY r.due_at, r.n LIMIT ?1`

// peek finds all that is due, when it is at most a limit. A ready run is due whatever the clock says, for the
// clock may have gone back since. Indexes runs_ready, runs_due, runs_owned.
const peek = `
	SELECT * FROM (SELECT n, due_at, tenant, '' AS owner FROM runs WHERE state = 'ready' LIMIT ?1)
	UNION ALL
	SELECT * FROM (SELECT n, due_at, tenant, '' FROM runs WHERE state = 'waiting' AND due_at <= ?2 ORDER BY due_at LIMIT ?1)
	UNION ALL
	SELECT * FROM (` + lost + `)`

// dueTenants goes from tenant to tenant that has a ready run or a timer. Indexes runs_ready, runs_due_of.
const dueTenants = `
	WITH RECURSIVE walk(tenant) AS (
		SELECT min(t) FROM (SELECT min(tenant) AS t FROM runs WHERE state = 'ready'
			UNION ALL SELECT min(tenant) FROM runs WHERE state = 'waiting' AND due_at IS NOT NULL)
		UNION ALL
		SELECT (SELECT min(t) FROM (SELECT min(r.tenant) AS t FROM runs r WHERE r.state = 'ready' AND r.tenant > w.tenant
			UNION ALL SELECT min(r.tenant) FROM runs r WHERE r.state = 'waiting' AND r.due_at IS NOT NULL AND r.tenant > w.tenant))
		FROM walk w WHERE w.tenant IS NOT NULL
	)
	SELECT tenant FROM walk WHERE tenant IS NOT NULL`

// oldest finds the oldest due of a tenant. Indexes runs_ready, runs_due_of.
const oldest = `
	SELECT * FROM (
		SELECT * FROM (SELECT n, due_at, tenant, '' AS owner FROM runs WHERE state = 'ready' AND tenant = ?3 ORDER BY due_at, n LIMIT ?1)
		UNION ALL
		SELECT * FROM (SELECT n, due_at, tenant, '' FROM runs WHERE state = 'waiting' AND due_at <= ?2 AND due_at IS NOT NULL AND tenant = ?3
			ORDER BY due_at, n LIMIT ?1)
	) ORDER BY due_at, n LIMIT ?1`

// candidates finds the runs to claim, oldest due first. When no more is due than is wanted it is one query; else
// one for each tenant, so that the work does not grow with a tenant's backlog.
func (t *tx) candidates(w journal.Want) ([]candidate, error) {
	due, err := t.dueRuns(peek, w.Limit+1, micro(t.now))
	if err != nil || len(due) <= w.Limit {
		return share(due, w), err
	}
	var tenants []tenant.ID
	err = t.each(dueTenants, nil, func(row scanner) (bool, error) {
		var id tenant.ID
		err := row.Scan(&id)
		tenants = append(tenants, id)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if due, err = t.dueRuns(lost, math.MaxInt64, micro(t.now)); err != nil {
		return nil, err
	}
	for _, id := range tenants {
		own, err := t.dueRuns(oldest, min(w.Limit, roomOf(id, w)), micro(t.now), id)
		if err != nil {
			return nil, err
		}
		due = append(due, own...)
	}
	return share(due, w), nil
}

func (t *tx) dueRuns(text string, args ...any) (cs []candidate, err error) {
	err = t.each(text, args, func(row scanner) (bool, error) {
		var c candidate
		err := row.Scan(&c.n, &c.due, &c.tenant, &c.owner)
		cs = append(cs, c)
		return true, err
	})
	return cs, err
}

// roomOf is how many more runs of a tenant the node may have.
func roomOf(id tenant.ID, w journal.Want) int {
	if w.PerTenant <= 0 {
		return math.MaxInt
	}
	return max(w.PerTenant-w.Held[id], 0)
}

// share picks what the claim takes of what is due: it gives out the first places of all tenants before the
// second ones, and so on.
func share(due []candidate, w journal.Want) []candidate {
	slices.SortFunc(due, older)
	taken := map[tenant.ID]int{}
	kept := due[:0]
	for _, c := range due {
		if taken[c.tenant] == roomOf(c.tenant, w) {
			continue
		}
		taken[c.tenant]++
		c.rank = w.Held[c.tenant] + taken[c.tenant]
		kept = append(kept, c)
	}
	slices.SortStableFunc(kept, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	kept = kept[:min(len(kept), w.Limit)]
	slices.SortFunc(kept, older)
	return kept
}

func older(a, b candidate) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.n, b.n)) }
