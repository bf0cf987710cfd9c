package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/modules"
)

// Create implements journal.Starter.
func (s *Store) Create(ctx context.Context, r journal.Run) (out journal.Run, created bool, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		out, created, err = t.create(r)
		return err
	})
	if err != nil {
		return out, false, fmt.Errorf("create run %s: %w", r.ID, err)
	}
	return out, created, nil
}

func (t *tx) create(r journal.Run) (journal.Run, bool, error) {
	earlier, found, err := t.inTheWay(r)
	if err != nil {
		return journal.Run{}, false, err
	}
	if found {
		if sameStart(earlier.Run, r) {
			return earlier.Run, false, nil
		}
		return earlier.Run, false, journal.ErrConflict
	}
	if found, err := t.hasModule(r.Tenant, r.Digest); err != nil {
		return journal.Run{}, false, err
	} else if !found {
		return journal.Run{}, false, modules.ErrNotFound
	}
	if err := t.insertRun(r); err != nil {
		return journal.Run{}, false, err
	}
	t.step(durable.CreateBefore, durable.CreateAfter)
	t.hint = true
	return journal.Run{Tenant: r.Tenant, ID: r.ID, Key: r.Key, IdempotencyKey: r.IdempotencyKey, Workflow: r.Workflow,
		Digest: r.Digest, Entry: r.Entry, Input: r.Input, State: journal.Ready, CreatedAt: t.now, UpdatedAt: t.now}, true, nil
}

// inTheWay finds the run that has r's idempotency key, id, or key while it is open, in this order: a
// repeated start must find itself and not be told that its own key is taken.
func (t *tx) inTheWay(r journal.Run) (run, bool, error) {
	if r.IdempotencyKey != "" {
		// Index runs_by_idempotency_key.
		o, found, err := t.oneRun(wholeRun+`WHERE r.tenant = ? AND r.idempotency_key = ? AND r.idempotency_key <> ''`, r.Tenant, r.IdempotencyKey)
		if found || err != nil {
			return o, found, err
		}
	}
	// The unique index on (tenant, id).
	o, found, err := t.oneRun(wholeRun+`WHERE r.tenant = ? AND r.id = ?`, r.Tenant, r.ID[:])
	if found || err != nil || r.Key == "" {
		return o, found, err
	}
	// Index runs_by_open_key.
	return t.oneRun(wholeRun+`WHERE r.tenant = ? AND r.key = ? AND r.key <> '' AND r.finished_at IS NULL`, r.Tenant, r.Key)
}

// sameStart says whether o is the start that r repeats: under the same idempotency key, or, when its
// answer was lost, under the same id. The digest may have moved on with the workflow's name.
func sameStart(o, r journal.Run) bool {
	again := o.ID == r.ID || r.IdempotencyKey != ""
	return again && o.IdempotencyKey == r.IdempotencyKey && o.Workflow == r.Workflow && o.Entry == r.Entry && o.Key == r.Key &&
		bytes.Equal(o.Input, r.Input)
}

func (t *tx) insertRun(r journal.Run) error {
	now := micro(t.now)
	var n int64
	_, err := t.row(`INSERT INTO runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, due_at, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'ready', ?, ?, ?) RETURNING n`,
		[]any{r.Tenant, r.ID[:], r.Key, r.IdempotencyKey, r.Workflow, r.Digest, r.Entry, now, now, now}, &n)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO inputs (run, bytes) VALUES (?, ?)`, n, blob(r.Input))
	return err
}
