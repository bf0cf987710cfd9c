package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/modules"
)

// Create implements journal.Starter.
func (s *Store) Create(ctx context.Context, r journal.Run) (out journal.Run, created bool, err error) {
	input := packOne(r.Input)
	err = s.write(ctx, func(t *tx) (err error) {
		out, created, err = t.create(r, input, "")
		return err
	})
	if err != nil {
		return out, false, fmt.Errorf("create run %s: %w", r.ID, err)
	}
	return out, created, nil
}

// create makes the run, for a node that is live as its first claim would, or for "" ready.
func (t *tx) create(r journal.Run, input *payload.Set, node string) (journal.Run, bool, error) {
	earlier, found, err := t.inTheWay(r)
	if err != nil {
		return journal.Run{}, false, err
	}
	if found {
		same := sameStart(earlier, r)
		whole, _, err := t.oneRun(wholeRun+`WHERE r.n = ?`, earlier.n)
		if !same {
			err = errors.Join(journal.ErrConflict, err)
		}
		return whole.Run, false, err
	}
	if found, err := t.hasModule(r.Tenant, r.Digest); err != nil {
		return journal.Run{}, false, err
	} else if !found {
		return journal.Run{}, false, modules.ErrNotFound
	}
	made := journal.Run{Tenant: r.Tenant, ID: r.ID, Key: r.Key, IdempotencyKey: r.IdempotencyKey, Workflow: r.Workflow,
		Digest: r.Digest, Entry: r.Entry, Input: r.Input, State: journal.Ready, CreatedAt: t.now, UpdatedAt: t.now}
	if node != "" {
		made.State, made.Owner, made.Token, made.Attempts, made.NextSeq = journal.Running, node, 1, 1, 1
	}
	if err := t.insertRun(made, input); err != nil {
		return journal.Run{}, false, err
	}
	t.step(durable.CreateBefore, durable.CreateAfter)
	t.hint = made.State == journal.Ready
	return made, true, nil
}

// inTheWay finds the run that has r's idempotency key, id, or key while it is open, in this order: a
// repeated start must find itself and not be told that its own key is taken.
func (t *tx) inTheWay(r journal.Run) (run, bool, error) {
	if r.IdempotencyKey != "" {
		// Index runs_by_idempotency_key.
		o, found, err := t.heldRun(wholeRun+`WHERE r.tenant = ? AND r.idempotency_key = ? AND r.idempotency_key <> ''`, r.Tenant, r.IdempotencyKey)
		if found || err != nil {
			return o, found, err
		}
	}
	// The unique index on (tenant, id).
	o, found, err := t.heldRun(wholeRun+`WHERE r.tenant = ? AND r.id = ?`, r.Tenant, r.ID[:])
	if found || err != nil || r.Key == "" {
		return o, found, err
	}
	// Index runs_by_open_key.
	return t.heldRun(wholeRun+`WHERE r.tenant = ? AND r.key = ? AND r.key <> '' AND r.finished_at IS NULL`, r.Tenant, r.Key)
}

// sameStart says whether o is the start that r repeats: under the same idempotency key, or, when its
// answer was lost, under the same id. The digest may have moved on with the workflow's name.
func sameStart(o run, r journal.Run) bool {
	input := r.Input
	if o.large.input {
		input = payload.Digest(input)
	}
	again := o.ID == r.ID || r.IdempotencyKey != ""
	return again && o.IdempotencyKey == r.IdempotencyKey && o.Workflow == r.Workflow && o.Entry == r.Entry && o.Key == r.Key &&
		bytes.Equal(o.Input, input)
}

func (t *tx) insertRun(r journal.Run, input *payload.Set) error {
	now := micro(t.now)
	var n int64
	_, err := t.row(`INSERT INTO runs (tenant, id, key, idempotency_key, workflow, digest, entry, state, owner, token, attempts, next_seq, due_at, created_at, updated_at,
			parent, parent_op, depth, abandoned)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`,
		[]any{r.Tenant, r.ID[:], r.Key, r.IdempotencyKey, r.Workflow, r.Digest, r.Entry, r.State, r.Owner, r.Token, r.Attempts, r.NextSeq, now, now, now,
			optional(r.Parent), r.ParentOp, r.Depth, r.Abandoned}, &n)
	if err != nil {
		return err
	}
	k := keeper{tx: t, owner: r.Tenant, run: n, set: input}
	held, large, err := k.held(r.Input, placeKept, "")
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO inputs (run, bytes, large) VALUES (?, ?, ?)`, n, held, large)
	return err
}
