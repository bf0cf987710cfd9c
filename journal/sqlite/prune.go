package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Bounds of one call: others wait for its transactions, some milliseconds each.
const (
	clearRows    = 2_000
	sweepAtOnce  = 50    // payloads
	namesLooked  = 1_000 // names of a payload that are looked at; with more it is looked at again
	retireAtMost = 200
)

// Prune implements journal.Pruner, in two transactions. Runs are taken away only when the rows of those before are gone.
func (s *Store) Prune(ctx context.Context, r journal.Retention, limit int) (p journal.Pruned, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.clear(&p)
		if err == nil && !p.More {
			err = t.retire(&p, r, min(limit, retireAtMost))
		}
		if err == nil && p.Runs > 0 {
			err = t.clear(&p)
		}
		return err
	})
	if err == nil {
		err = s.write(ctx, func(t *tx) error { return t.sweep(&p) })
	}
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	return p, nil
}

// finished finds what is to be removed of a state. Index runs_finished.
const finished = `SELECT n FROM runs WHERE state = ? AND finished_at IS NOT NULL AND removed = 0 AND finished_at <= ? ORDER BY finished_at LIMIT ?`

// remove hides a run: who has its id or key does not find it.
const remove = `UPDATE runs SET removed = 1, id = randomblob(16), key = '', idempotency_key = '' WHERE n = ?`

func (t *tx) retire(p *journal.Pruned, r journal.Retention, limit int) error {
	for _, state := range journal.States {
		keep := r.Of(state)
		if keep <= 0 || p.Runs >= limit {
			continue
		}
		ns, err := t.numbers(finished, state, micro(t.now.Add(-keep)), limit-p.Runs)
		if err != nil {
			return err
		}
		for _, n := range ns {
			if _, err := t.exec(remove, n); err != nil {
				return err
			}
		}
		p.Runs += len(ns)
	}
	if p.Runs > 0 {
		t.step(durable.PruneBefore, durable.PruneAfter)
	}
	p.More = p.More || limit > 0 && p.Runs == limit
	return nil
}

func (c *conn) numbers(text string, args ...any) (ns []int64, err error) {
	err = c.each(text, args, func(row scanner) (bool, error) {
		var n int64
		err := row.Scan(&n)
		ns = append(ns, n)
		return true, err
	})
	return ns, err
}

// Rows of a removed run, table by table. Indexes entries_by_seq, inbox_by_id, published_by_key, payload_names_run.
var clearing = []string{
	`DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE run = ? LIMIT ?)`,
	`DELETE FROM inbox WHERE rowid IN (SELECT rowid FROM inbox WHERE run = ? LIMIT ?)`,
	`DELETE FROM published WHERE rowid IN (SELECT rowid FROM published WHERE run = ? LIMIT ?)`,
}

const (
	// Index runs_removed.
	removed = `SELECT n FROM runs WHERE removed = 1 ORDER BY n LIMIT ?`

	namesOf    = `SELECT DISTINCT payload FROM payload_names WHERE run = ?`
	clearNames = `DELETE FROM payload_names WHERE run = ?`
	wake       = `UPDATE payloads SET check_at = ? WHERE n = ? AND check_at IS NULL`
)

// clear removes rows of removed runs, and then the runs.
func (t *tx) clear(p *journal.Pruned) error {
	ns, err := t.numbers(removed, retireAtMost)
	if err != nil {
		return err
	}
	for _, n := range ns {
		for _, text := range clearing {
			if p.Rows >= clearRows {
				break
			}
			rows, err := t.exec(text, n, clearRows-p.Rows)
			if err != nil {
				return err
			}
			p.Rows += int(rows)
		}
		if p.Rows >= clearRows {
			p.More = true
			return nil
		}
		if err := t.forget(n); err != nil {
			return err
		}
	}
	p.More = p.More || len(ns) == retireAtMost
	return nil
}

// forget removes the last of a run. A payload that it named is looked at soon.
func (t *tx) forget(n int64) error {
	payloads, err := t.numbers(namesOf, n)
	if err != nil {
		return err
	}
	for _, text := range []string{clearNames, `DELETE FROM inputs WHERE run = ?`, `DELETE FROM results WHERE run = ?`, `DELETE FROM checkpoints WHERE run = ?`, `DELETE FROM runs WHERE n = ?`} {
		if _, err := t.exec(text, n); err != nil {
			return err
		}
	}
	for _, n := range payloads {
		if _, err := t.exec(wake, micro(t.now), n); err != nil {
			return err
		}
	}
	return nil
}

const (
	// Index payloads_check.
	unsure = `SELECT n FROM payloads WHERE check_at <= ? ORDER BY check_at LIMIT ?`

	// Primary key of payload_names.
	staysNamed = `SELECT 1 FROM payload_names WHERE payload = ? AND place = 0 LIMIT 1`

	// Primary key of payload_names, indexes inbox_by_id and published_by_key.
	looseNames = `SELECT n.place, n.run, n.id, CASE n.place
			WHEN 1 THEN EXISTS (SELECT 1 FROM inbox i WHERE i.run = n.run AND i.id = n.id AND i.payload_large = 1 AND i.payload = ?2)
			ELSE EXISTS (SELECT 1 FROM published v WHERE v.run = n.run AND v.key = n.id AND v.value_large = 1 AND v.value = ?2) END
		FROM payload_names n WHERE n.payload = ?1 AND n.place > 0 LIMIT ?3`

	forgetName = `DELETE FROM payload_names WHERE payload = ? AND place = ? AND run = ? AND id = ?`
)

// sweep removes payloads that no row names. What a row that may change names is looked at again later; what a row that stays names,
// when its run is removed.
func (t *tx) sweep(p *journal.Pruned) error {
	ns, err := t.numbers(unsure, micro(t.now), sweepAtOnce)
	if err != nil {
		return err
	}
	for _, n := range ns {
		if err := t.sweepOne(n, p); err != nil {
			return err
		}
	}
	p.More = p.More || len(ns) == sweepAtOnce
	return nil
}

func (t *tx) sweepOne(n int64, p *journal.Pruned) error {
	var one int
	stays, err := t.row(staysNamed, []any{n}, &one)
	if err != nil {
		return err
	}
	if stays {
		_, err := t.exec(`UPDATE payloads SET check_at = NULL WHERE n = ?`, n)
		return err
	}
	named, err := t.looselyNamed(n)
	if err != nil {
		return err
	}
	if named {
		_, err := t.exec(`UPDATE payloads SET check_at = ? WHERE n = ?`, micro(t.now.Add(payload.Grace)), n)
		return err
	}
	var size int64
	if _, err := t.row(`DELETE FROM payload_bytes WHERE payload = ? RETURNING length(bytes)`, []any{n}, &size); err != nil {
		return err
	}
	p.Payloads++
	p.Bytes += size
	_, err = t.exec(`DELETE FROM payloads WHERE n = ?`, n)
	return err
}

// looselyNamed says whether a row that may change names a payload, and forgets the names of rows that do not any more.
func (t *tx) looselyNamed(n int64) (named bool, err error) {
	var digest []byte
	if _, err := t.row(`SELECT digest FROM payloads WHERE n = ?`, []any{n}, &digest); err != nil {
		return false, err
	}
	type name struct {
		place, run int64
		id         string
		holds      bool
	}
	var names []name
	err = t.each(looseNames, []any{n, digest, namesLooked}, func(row scanner) (bool, error) {
		var m name
		err := row.Scan(&m.place, &m.run, &m.id, &m.holds)
		names = append(names, m)
		return true, err
	})
	if err != nil {
		return false, err
	}
	for _, m := range names {
		if m.holds {
			named = true
		} else if _, err := t.exec(forgetName, n, m.place, m.run, m.id); err != nil {
			return false, err
		}
	}
	return named || len(names) == namesLooked, nil
}

// DeleteRun implements journal.Pruner.
func (s *Store) DeleteRun(ctx context.Context, owner tenant.ID, id journal.RunID) error {
	err := s.write(ctx, func(t *tx) error {
		r, err := t.receiver(owner, id)
		if err != nil {
			return err
		}
		if !r.State.Terminal() {
			return journal.ErrState
		}
		t.step(durable.DeleteBefore, durable.DeleteAfter)
		_, err = t.exec(remove, r.n)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	return nil
}
