package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reprise/journal"
	"reprise/tenant"
)

// Primary keys. A checkpoint that the run's row does not name is none.
const checkpointSQL = `
SELECT c.seq, c.key, c.packed FROM reprise.runs r JOIN reprise.checkpoints c ON c.tenant = r.tenant AND c.run = r.no
WHERE r.tenant = $1 AND r.id = $2 AND r.finished_at IS NULL AND c.seq = r.checkpoint_seq`

// Checkpoint implements journal.Reader.
func (s *Store) Checkpoint(ctx context.Context, t tenant.ID, run journal.RunID) (c journal.Checkpoint, err error) {
	err = s.retry(ctx, true, func(ctx context.Context) error {
		err := s.pool.QueryRow(ctx, s.in(checkpointSQL), string(t), uuidOf(run)).Scan(&c.Seq, &c.Key, &c.Packed)
		if errors.Is(err, pgx.ErrNoRows) {
			err = journal.ErrNotFound
		}
		return err
	})
	if err != nil {
		return journal.Checkpoint{}, fmt.Errorf("checkpoint of run %s: %w", run, err)
	}
	return c, nil
}

// Primary keys.
const forgetCheckpointsSQL = `
DELETE FROM reprise.checkpoints c
USING unnest($1::text[], $2::uuid[]) AS k(tenant, id) JOIN reprise.runs r ON r.tenant = k.tenant AND r.id = k.id
WHERE r.finished_at IS NOT NULL AND c.tenant = r.tenant AND c.run = r.no`

// forgetCheckpoints removes the checkpoints of runs that have ended. It is no part of the statement that ended them, because every
// other commit would pay for it; nobody finds them any more. What is left when it fails goes with the run.
func (s *Store) forgetCheckpoints(ended []journal.Lease) {
	tenants, ids := make([]string, len(ended)), make([]pgtype.UUID, len(ended))
	for i, l := range ended {
		tenants[i], ids[i] = string(l.Tenant), uuidOf(l.Run)
	}
	err := s.retry(s.ctx, true, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, s.in(forgetCheckpointsSQL), tenants, ids)
		return err
	})
	if err != nil && s.ctx.Err() == nil {
		s.log.Debug("checkpoints of runs that have ended are left", "runs", len(ended), "error", err)
	}
}
