package sqlite

import (
	"errors"
	"fmt"

	"reprise/abi"
	"reprise/journal"
	"reprise/journal/internal/payload"
	"reprise/modules"
	"reprise/tenant"
)

// optional is the stored form of an id that may be absent.
func optional(id journal.RunID) []byte {
	if id == (journal.RunID{}) {
		return []byte{}
	}
	return id[:]
}

// link writes what a batch changes of other runs. Its own run is written already.
func (t *tx) link(r leasedRun, l journal.Lease, b journal.Batch, set *payload.Set) error {
	var self journal.Run
	var parent []byte
	// Primary key.
	if _, err := t.row(`SELECT parent, parent_op, depth, abandoned FROM runs WHERE n = ?`, []any{r.n}, &parent, &self.ParentOp, &self.Depth, &self.Abandoned); err != nil {
		return err
	}
	copy(self.Parent[:], parent)
	for _, c := range b.Children {
		c.Parent, c.Depth = l.Run, self.Depth+1
		if err := t.follow(l.Tenant, c, set); err != nil {
			return fmt.Errorf("child %d: %w", c.ParentOp, err)
		}
	}
	if n := b.Next; n != nil && n.Successor != nil {
		s := *n.Successor
		s.Parent, s.ParentOp, s.Depth, s.Abandoned = self.Parent, self.ParentOp, self.Depth, self.Abandoned
		if err := t.follow(l.Tenant, s, set); err != nil {
			return fmt.Errorf("successor: %w", err)
		}
		if err := t.succeed(r.n, l.Tenant, s.ID); err != nil {
			return fmt.Errorf("successor: %w", err)
		}
	}
	for _, id := range b.Cancels {
		if err := t.cancelChild(l.Tenant, id); err != nil {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
	}
	if b.Next != nil && b.Next.Parent && r.State.Terminal() {
		return t.tellParent(r.n)
	}
	return nil
}

// succeed lets a run that was made go on for the one of a number. What waits in that one's inbox goes over: signals, in their order, and
// a request to end that nobody has seen. Indexes inbox_open, inbox_by_id.
func (t *tx) succeed(old int64, owner tenant.ID, id journal.RunID) error {
	n, err := t.runNumber(owner, id)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE runs SET successor = ? WHERE n = ?`, id[:], old); err != nil {
		return err
	}
	moved, err := t.exec(`INSERT OR IGNORE INTO inbox (run, id, pos, kind, op, name, status, payload, payload_large, digest, attempt, retry_at, at)
		SELECT ?, id, row_number() OVER (ORDER BY pos), kind, op, name, status, payload, payload_large, digest, attempt, retry_at, at
		FROM inbox WHERE run = ? AND open = 1 AND kind = 'signal' ORDER BY pos`, n, old)
	if err == nil && moved > 0 {
		_, err = t.exec(`INSERT OR IGNORE INTO payload_names (payload, place, run, id)
			SELECT p.payload, p.place, ?, p.id FROM payload_names p JOIN inbox i ON i.run = ? AND i.id = p.id AND i.payload_large = 1
			WHERE p.run = ? AND p.place = ?`, n, n, old, placeInbox)
	}
	if err == nil && moved > 0 {
		_, err = t.exec(`UPDATE runs SET inbox_pos = ?, mail_pos = ?, queued = o.queued, queued_bytes = o.queued_bytes
			FROM (SELECT queued, queued_bytes FROM runs WHERE n = ?) o WHERE n = ?`, moved, moved, old, n)
	}
	if err != nil {
		return err
	}
	var reason []byte
	asked, err := t.row(`SELECT payload FROM inbox WHERE run = ? AND id = 'cancel' AND open = 1`, []any{old}, &reason)
	if err != nil || !asked {
		return err
	}
	r, err := t.readableRun(owner, id)
	if err == nil {
		err = t.cancel(r, string(reason))
	}
	return err
}

// follow makes a run that follows from another, ready, unless it is there. The unique index on (tenant, id).
func (t *tx) follow(owner tenant.ID, r journal.Run, set *payload.Set) error {
	var n int64
	if there, err := t.row(`SELECT n FROM runs WHERE tenant = ? AND id = ?`, []any{owner, r.ID[:]}, &n); err != nil || there {
		return err
	}
	if there, err := t.hasModule(owner, r.Digest); err != nil || !there {
		return errors.Join(err, modules.ErrNotFound)
	}
	r.Tenant, r.State, r.Owner, r.Token, r.Attempts, r.NextSeq = owner, journal.Ready, "", 0, 0, 0
	t.hint = true
	return t.insertRun(r, set)
}

// parentGone is why a child is asked to end.
const parentGone = "its parent has ended, or has given it up"

// cancelChild asks a run to end, or who goes on for it.
func (t *tx) cancelChild(owner tenant.ID, id journal.RunID) error {
	for {
		r, err := t.readableRun(owner, id)
		if errors.Is(err, journal.ErrNotFound) {
			return nil
		}
		if err == nil && r.State == journal.Continued && r.Successor != id {
			id = r.Successor
			continue
		}
		if err == nil {
			err = t.cancel(r, parentGone)
		}
		if errors.Is(err, journal.ErrState) {
			return nil
		}
		return err
	}
}

// endBound asks the children to end that end with a run. Index runs_bound.
func (t *tx) endBound(r run) error {
	var ids []journal.RunID
	err := t.each(`SELECT id FROM runs WHERE tenant = ? AND parent = ? AND parent <> x'' AND finished_at IS NULL AND abandoned = 0`, []any{r.Tenant, r.ID[:]},
		func(row scanner) (bool, error) {
			var id []byte
			err := row.Scan(&id)
			ids = append(ids, journal.RunID(id))
			return true, err
		})
	for _, id := range ids {
		if err == nil {
			err = t.cancelChild(r.Tenant, id)
		}
	}
	return err
}

// tellParent puts the end of a run into its parent's inbox, if that waits for it. Index inbox_by_id.
func (t *tx) tellParent(n int64) error {
	child, _, err := t.oneRun(wholeRun+`WHERE r.n = ?`, n)
	if err != nil {
		return err
	}
	parent, err := t.receiver(child.Tenant, child.Parent)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return err
	case parent.State.Terminal():
		return nil
	}
	a := journal.Arrival{ID: fmt.Sprintf("op:%d", child.ParentOp), Kind: journal.ArrivalDone, Op: child.ParentOp, Status: journal.Outcome(child.State), Payload: child.Output}
	if a.Status != abi.OK {
		a.Payload = child.Failure
	}
	var open int64
	waits, err := t.row(`SELECT open FROM inbox WHERE run = ? AND id = ? AND open = 1 AND kind = 'child'`, []any{parent.n, a.ID}, &open)
	if err != nil || !waits {
		return err
	}
	k := keeper{tx: t, owner: child.Tenant, run: parent.n, set: packOne(a.Payload)}
	held, large, err := k.held(a.Payload, placeInbox, a.ID)
	if err != nil {
		return err
	}
	pos := parent.InboxPos + 1
	_, err = t.exec(`UPDATE inbox SET pos = ?, kind = 'done', name = '', status = ?, payload = ?, payload_large = ?, digest = ?, at = ? WHERE run = ? AND id = ?`,
		pos, a.Status, held, large, arrivalDigest(a), micro(t.now), parent.n, a.ID)
	if err == nil {
		_, err = t.exec(`UPDATE runs SET inbox_pos = ?, mail_pos = ?, updated_at = ? WHERE n = ?`, pos, pos, micro(t.now), parent.n)
	}
	if err == nil && parent.State == journal.Waiting {
		err = t.makeReady(parent.n)
	}
	t.hint = true
	return err
}
