package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"reprise/journal"
	"reprise/journal/internal/durable"
	"reprise/journal/internal/payload"
	"reprise/tenant"
)

// Commit implements journal.Claimer.
func (s *Store) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (state journal.State, err error) {
	set := pack(b)
	err = s.write(ctx, func(t *tx) (err error) {
		state, err = t.commit(l, b, set)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("commit to run %s: %w", l.Run, err)
	}
	return state, nil
}

func (t *tx) commit(l journal.Lease, b journal.Batch, set *payload.Set) (journal.State, error) {
	r, held, err := t.leased(l)
	if err != nil {
		return "", err
	}
	if !held {
		return repeatReleased(r, l, b)
	}
	if b.Next != nil && (b.Next.State == journal.Running || !r.State.Can(b.Next.State)) {
		return "", journal.ErrState
	}
	if !dense(b.Entries) {
		return "", journal.ErrConflict
	}
	if c := b.Checkpoint; c != nil && len(c.Packed) > journal.MaxCheckpoint {
		return "", fmt.Errorf("a checkpoint of %d bytes, more than %d: %w", len(c.Packed), journal.MaxCheckpoint, journal.ErrQuota)
	}
	if len(b.Entries) > 0 && b.Entries[0].Seq != r.NextSeq {
		return t.repeatHeld(l.Tenant, r, b)
	}
	if len(b.Entries)+len(b.Stash)+len(b.Observed)+len(b.Published) == 0 && b.Next == nil && b.Checkpoint == nil && !b.Linked() {
		return r.State, nil // it asked whether the lease holds
	}
	if err := t.writeBatch(&r, l, b, set); err != nil {
		return "", err
	}
	if b.Linked() {
		if err := t.link(r, l, b, set); err != nil {
			return "", err
		}
	}
	t.step(durable.Commit(b))
	t.hint = t.hint || r.State == journal.Ready
	return r.State, nil
}

// leasedRun is what a commit needs to know of its run.
type leasedRun struct {
	State      journal.State
	NextSeq    int64
	inboxPos   int64
	mailPos    int64
	token      int64
	cancel     bool
	n          int64
	releasedBy []byte // digest of the batch that gave up the lease of this token
}

// leased reads the run of a lease, by the unique index on (tenant, id), and says whether the lease
// holds. Returns journal.ErrFenced when there is no such run.
func (t *tx) leased(l journal.Lease) (r leasedRun, held bool, err error) {
	var owner string
	var live bool
	found, err := t.row(`SELECT r.n, r.state, r.owner, r.token, r.released_by, r.next_seq, r.inbox_pos, r.mail_pos, r.cancel_requested,
			coalesce(d.ended_at IS NULL AND d.expires_at > ?, 0)
		FROM runs r LEFT JOIN nodes d ON d.id = r.owner WHERE r.tenant = ? AND r.id = ?`,
		[]any{micro(t.now), l.Tenant, l.Run[:]},
		&r.n, &r.State, &owner, &r.token, &r.releasedBy, &r.NextSeq, &r.inboxPos, &r.mailPos, &r.cancel, &live)
	if err == nil && !found {
		err = journal.ErrFenced
	}
	return r, r.State == journal.Running && owner == l.Node && r.token == l.Token && live, err
}

func dense(es []journal.Entry) bool {
	for i := range es {
		if es[i].Seq != es[0].Seq+int64(i) {
			return false
		}
	}
	return true
}

// repeatHeld answers a commit whose entries do not start where the journal ends: a repeat, if it kept
// the lease and wrote just these.
func (t *tx) repeatHeld(owner tenant.ID, r leasedRun, b journal.Batch) (journal.State, error) {
	same := false
	if b.Next == nil {
		var err error
		if same, err = t.recorded(owner, r, b.Entries); err != nil {
			return "", err
		}
	}
	if !same {
		return "", journal.ErrConflict
	}
	return r.State, nil
}

// repeatReleased answers a commit whose lease does not hold: a repeat, if it is the one that gave the
// lease up and nobody has claimed the run since. It is true however the node stands now.
func repeatReleased(r leasedRun, l journal.Lease, b journal.Batch) (journal.State, error) {
	if r.State == journal.Running || r.token != l.Token || b.Next == nil || !bytes.Equal(r.releasedBy, releaseDigest(b)) {
		return "", journal.ErrFenced
	}
	return r.State, nil
}

// recorded says whether these entries are there, written under the run's token. Index entries_by_seq.
func (t *tx) recorded(owner tenant.ID, r leasedRun, es []journal.Entry) (bool, error) {
	var held []heldEntry
	err := t.each(`SELECT `+entryColumns+entryFlags+` FROM entries WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?`,
		[]any{r.n, es[0].Seq, len(es)}, func(row scanner) (bool, error) {
			e, err := scanEntry(row)
			held = append(held, e)
			return true, err
		})
	if err != nil || len(held) != len(es) {
		return false, err
	}
	got, err := t.wholeEntries(owner, held)
	if err != nil {
		return false, err
	}
	for i, want := range es {
		want.At = fromMicro(micro(want.At)) // as it was stored
		if got[i].Token != r.token || !got[i].Same(want) {
			return false, nil
		}
	}
	return true, nil
}
