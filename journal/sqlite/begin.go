package sqlite

import (
	"context"
	"errors"
	"fmt"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// Begin implements journal.Starter. A caller that goes away has its part withdrawn or waits for it, so that no run is left to
// a node that does not know of it.
func (s *Store) Begin(ctx context.Context, r journal.Run, node string, first journal.Entry) (out journal.Run, created bool, err error) {
	input := packOne(r.Input)
	err = s.write(ctx, func(t *tx) (err error) {
		if err := t.stands(r); err != nil {
			return err
		}
		owner := node
		if err := t.requireLive(node); errors.Is(err, journal.ErrNodeLapsed) {
			owner = ""
		} else if err != nil {
			return err
		}
		if out, created, err = t.create(r, input, owner); err != nil || !created || owner == "" {
			return err
		}
		return t.first(out, first)
	})
	if err != nil {
		return out, false, fmt.Errorf("begin run %s: %w", r.ID, err)
	}
	return out, created, nil
}

// stands returns journal.ErrMoved unless the run's workflow is its digest or a name that stands for it.
func (t *tx) stands(r journal.Run) error {
	if r.Workflow == string(r.Digest) {
		return nil
	}
	newest, err := t.aliases(newestAlias, r.Tenant, r.Workflow)
	switch {
	case err != nil:
		return err
	case len(newest) == 0:
		return modules.ErrNotFound
	case newest[0].Digest != r.Digest:
		return journal.ErrMoved
	}
	return nil
}

// first writes entry 0 of a run that was just made.
func (t *tx) first(r journal.Run, first journal.Entry) error {
	var n int64
	// The unique index on (tenant, id).
	if _, err := t.row(`SELECT n FROM runs WHERE tenant = ? AND id = ?`, []any{r.Tenant, r.ID[:]}, &n); err != nil {
		return err
	}
	first.Seq, first.Kind, first.Op, first.Status, first.At = 0, journal.KindStarted, journal.NoOp, abi.OK, r.CreatedAt
	k := keeper{tx: t, owner: r.Tenant, run: n}
	return k.insertEntries(r.Token, []journal.Entry{first})
}
