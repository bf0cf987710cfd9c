package sqlite

import (
	"context"
	"fmt"

	"reprise/journal"
	"reprise/tenant"
)

// keepCheckpoint replaces a run's checkpoint, or removes it when the run ends. Primary key.
func (t *tx) keepCheckpoint(n int64, b journal.Batch) error {
	ends := b.Next != nil && b.Next.State.Terminal()
	if !ends && b.Checkpoint == nil {
		return nil
	}
	seq := int64(0)
	if ends {
		gone, err := t.exec(`DELETE FROM checkpoints WHERE run = ?`, n)
		if err != nil || gone == 0 {
			return err
		}
	} else {
		c := b.Checkpoint
		seq = c.Seq
		if _, err := t.exec(`INSERT OR REPLACE INTO checkpoints (run, seq, key, packed) VALUES (?, ?, ?, ?)`, n, c.Seq, c.Key, blob(c.Packed)); err != nil {
			return err
		}
	}
	_, err := t.exec(`UPDATE runs SET checkpoint_seq = ? WHERE n = ?`, seq, n)
	return err
}

// Checkpoint implements journal.Reader. Primary key.
func (s *Store) Checkpoint(ctx context.Context, t tenant.ID, id journal.RunID) (c journal.Checkpoint, err error) {
	found := false
	err = s.read(ctx, func(conn *conn) (err error) {
		found, err = conn.row(`SELECT seq, key, packed FROM checkpoints WHERE run = `+numberOf, []any{t, id[:]}, &c.Seq, &c.Key, &c.Packed)
		return err
	})
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	if err != nil {
		return journal.Checkpoint{}, fmt.Errorf("checkpoint of run %s: %w", id, err)
	}
	return c, nil
}
