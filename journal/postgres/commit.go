package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reprise/journal"
	"reprise/journal/internal/durable"
)

var errClosed = errors.New("the store is closed")

// commit is one batch on its way to a writer.
type commit struct {
	lease   journal.Lease
	batch   journal.Batch // normalised
	packed  *packed       // its large payloads
	release int64
	done    chan result // of one
}

// result is what the writer's statement said of a commit.
type result struct {
	state   journal.State
	written bool // false: the fence did not let it pass
	ended   journal.Ended
	forget  bool // the run has ended and had a checkpoint
	err     error
}

// Commit implements journal.Claimer. The batch joins those that other calls commit at the same moment
// in one statement; what the statement did not take is looked into afterwards.
func (s *Store) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	state, err := s.commit(ctx, l, b)
	if err != nil {
		return "", fmt.Errorf("commit %s token %d: %w", l.Run, l.Token, err)
	}
	switch {
	case state == journal.Ready, b.Linked():
		s.tell()
	case state == journal.Waiting:
		s.hint() // the next timer may be an earlier one now
	}
	return state, nil
}

func (s *Store) commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	b, err := normalise(b)
	if err != nil {
		return "", err
	}
	before, after := durable.Commit(b)
	before.Hit()
	release := releaseHash(l, b)
	packed := pack(b)
	for range maxTries {
		c := &commit{lease: l, batch: b, packed: packed, release: release, done: make(chan result, 1)}
		write := s.submit
		if b.Linked() {
			write = s.link
		}
		r := write(ctx, c)
		if r.written && b.Next != nil && b.Next.Ended != nil && !r.ended.At.IsZero() {
			*b.Next.Ended = r.ended
		}
		if r.err == nil && !r.written {
			r.state, r.err = s.explain(ctx, l, b, release)
		}
		if errors.Is(r.err, errHolds) {
			continue // what stood in the way is gone
		}
		if r.err == nil {
			after.Hit()
		}
		return r.state, r.err
	}
	return "", errHolds
}

// submit hands a commit to a writer and waits for its result. A caller that gives up does not stop the
// writer: then nothing is known of the commit.
func (s *Store) submit(ctx context.Context, c *commit) result {
	select {
	case s.commits <- c:
	case <-ctx.Done():
		return result{err: ctx.Err()}
	case <-s.ctx.Done():
		return result{err: errClosed}
	}
	select {
	case r := <-c.done:
		return r
	case <-ctx.Done():
		return result{err: ctx.Err()}
	case <-s.ctx.Done():
		return result{err: errClosed}
	}
}

// errHolds says that the fence would let the commit pass now.
var errHolds = errors.New("the lease holds, but the commit was not taken")

// Primary keys of runs and nodes.
const explainSQL = `
SELECT r.state, r.token, r.next_seq, r.release,
  r.state = 'running' AND r.owner = $3 AND r.token = $4 AND EXISTS (
    SELECT FROM reprise.nodes n WHERE n.id = $3 AND NOT n.ended AND n.timeline = reprise.reprise_timeline() AND n.expires_at > reprise.reprise_now())
FROM reprise.runs r WHERE r.tenant = $1 AND r.id = $2`

// explain says why the fence did not let a commit pass: it is a repeat, or it has no right, or it does
// not continue the journal.
func (s *Store) explain(ctx context.Context, l journal.Lease, b journal.Batch, release int64) (journal.State, error) {
	var state journal.State
	var token, nextSeq, released int64
	var holds bool
	err := s.retry(ctx, true, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, s.in(explainSQL), string(l.Tenant), uuidOf(l.Run), l.Node, l.Token).
			Scan(&state, &token, &nextSeq, &released, &holds)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", journal.ErrFenced
	case err != nil:
		return "", err
	case release != 0 && release == released && token == l.Token && state != journal.Running:
		return state, nil // it gave up the lease itself, and nobody has claimed the run since
	case !holds:
		return "", journal.ErrFenced
	case len(b.Entries) == 0 || nextSeq == b.Entries[0].Seq:
		return "", errHolds
	}
	there, err := s.sameEntries(ctx, l, b.Entries)
	if err != nil {
		return "", err
	}
	if there && b.Next == nil {
		return journal.Running, nil
	}
	return "", fmt.Errorf("entries from seq %d on, where the journal goes on at %d: %w", b.Entries[0].Seq, nextSeq, journal.ErrConflict)
}

// sameEntries says whether entries are in the journal, with this content and written under this lease.
func (s *Store) sameEntries(ctx context.Context, l journal.Lease, es []journal.Entry) (bool, error) {
	for len(es) > 0 {
		got, err := s.Entries(ctx, l.Tenant, l.Run, es[0].Seq, len(es))
		if err != nil {
			return false, err
		}
		if len(got) == 0 {
			return false, nil
		}
		for i, e := range got {
			if e.Token != l.Token || !e.Same(es[i]) {
				return false, nil
			}
		}
		es = es[len(got):]
	}
	return true, nil
}
