package exec

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// memStore is a journal of one run in memory, with a clock that the test moves. It can fail on purpose.
type memStore struct {
	mu      sync.Mutex
	now     time.Time
	run     journal.Run
	entries []journal.Entry
	inbox   []journal.Arrival
	seenIDs map[string]bool
	pub     map[string]string
	mods    map[modules.Digest][]byte
	aliases map[string]modules.Digest
	cp      *journal.Checkpoint
	commits int
	mailPos int64            // newest position that came from outside
	clock   func() time.Time // instead of now, when set
	// released is what gave the lease up last: a repeat of it is told so.
	released   journal.Batch
	releasedBy int64
	// onCommit may fail a commit before (lost) or after (lost acknowledgement) it is written.
	onCommit func(n int) (before, after error)
	onBatch  func(b journal.Batch) error // may refuse a commit
	// unreadable is what reading entries fails with, unclaimable what the input's reading did.
	unreadable, unclaimable error
}

func newMemStore(run journal.Run) *memStore {
	return &memStore{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), run: run, seenIDs: map[string]bool{}, pub: map[string]string{},
		mods: map[modules.Digest][]byte{}, aliases: map[string]modules.Digest{}}
}

func (s *memStore) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.time()
}

func (s *memStore) time() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return s.now
}

func (s *memStore) claim() journal.Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.State, s.run.Token, s.run.Attempts, s.run.Owner = journal.Running, s.run.Token+1, s.run.Attempts+1, "n1"
	return journal.Claim{Lease: journal.Lease{Tenant: s.run.Tenant, Run: s.run.ID, Node: "n1", Token: s.run.Token}, Run: s.run, Unreadable: s.unclaimable}
}

func (s *memStore) Commit(_ context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits++
	var after error
	if s.onCommit != nil {
		var before error
		if before, after = s.onCommit(s.commits); before != nil {
			return "", before
		}
	}
	if s.onBatch != nil {
		if err := s.onBatch(b); err != nil {
			return "", err
		}
	}
	if s.run.State != journal.Running || s.run.Token != l.Token {
		if s.releasedBy == l.Token && s.run.Token == l.Token && cmp.Equal(s.released, b) {
			return s.run.State, after
		}
		return "", journal.ErrFenced
	}
	if len(b.Entries) > 0 && b.Entries[0].Seq < int64(len(s.entries)) {
		for i, e := range b.Entries {
			if at := int(b.Entries[0].Seq) + i; at >= len(s.entries) || b.Next != nil || !s.entries[at].Same(e) || s.entries[at].Token != l.Token {
				return "", journal.ErrConflict
			}
		}
		return s.run.State, after
	}
	for _, e := range b.Entries {
		if e.Seq != int64(len(s.entries)) {
			return "", journal.ErrConflict
		}
		e.Token = l.Token
		s.entries = append(s.entries, e)
	}
	s.run.NextSeq = int64(len(s.entries))
	for _, a := range b.Stash {
		s.stash(a)
	}
	for _, id := range b.Observed {
		s.inbox = slices.DeleteFunc(s.inbox, func(o journal.Arrival) bool { return o.ID == id })
		s.seenIDs[id] = true
	}
	for _, p := range b.Published {
		s.pub[p.Key] = string(p.Value)
	}
	if c := b.Checkpoint; c != nil {
		if c.Seq > s.run.NextSeq || len(c.Packed) > journal.MaxCheckpoint {
			return "", journal.ErrConflict
		}
		s.cp, s.run.CheckpointSeq = c, c.Seq
	}
	if b.Next != nil {
		s.transition(b.Next)
		s.released, s.releasedBy = b, l.Token
	}
	return s.run.State, after
}

// stash writes or replaces an arrival by id; one that is there unchanged, or was observed, stays.
func (s *memStore) stash(a journal.Arrival) {
	i := slices.IndexFunc(s.inbox, func(o journal.Arrival) bool { return o.ID == a.ID })
	switch {
	case i < 0 && s.seenIDs[a.ID]:
		return
	case i >= 0:
		old := s.inbox[i]
		if old.Kind == a.Kind && old.Status == a.Status && string(old.Payload) == string(a.Payload) && old.Attempt == a.Attempt && old.RetryAt.Equal(a.RetryAt) {
			return
		}
		s.inbox = slices.Delete(s.inbox, i, i+1)
	}
	s.put(a)
}

func (s *memStore) transition(next *journal.Transition) {
	s.run.State, s.run.WakeAt, s.run.Waiting, s.run.Reason = next.State, next.WakeAt, next.Waiting, next.Reason
	s.run.Output, s.run.Failure, s.run.Owner = next.Output, next.Failure, ""
	if !next.KeepAttempts {
		s.run.Attempts = 0
	}
	if next.State.Terminal() {
		s.cp, s.run.CheckpointSeq = nil, 0
	}
	if next.State == journal.Waiting && s.mailPos > next.SeenPos {
		s.run.State = journal.Ready
	}
}

func (s *memStore) put(a journal.Arrival) {
	s.run.InboxPos++
	a.Pos, a.At = s.run.InboxPos, s.time()
	s.inbox = append(s.inbox, a)
}

// arrive queues something from outside, as a host's API would.
func (s *memStore) arrive(a journal.Arrival) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accept(a)
}

func (s *memStore) accept(a journal.Arrival) int64 {
	if s.seenIDs[a.ID] {
		return s.run.InboxPos
	}
	s.seenIDs[a.ID] = true
	s.put(a)
	s.mailPos = s.run.InboxPos
	if s.run.State == journal.Waiting {
		s.run.State = journal.Ready
	}
	return s.run.InboxPos
}

func (s *memStore) Entries(_ context.Context, _ tenant.ID, _ journal.RunID, from int64, limit int) ([]journal.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreadable != nil {
		return nil, s.unreadable
	}
	rest := s.entries[min(int(from), len(s.entries)):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (s *memStore) Arrivals(_ context.Context, _ tenant.ID, _ journal.RunID, after int64) ([]journal.Arrival, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []journal.Arrival
	for _, a := range s.inbox {
		if a.Pos > after {
			out = append(out, a)
		}
	}
	return out, nil
}

func (s *memStore) Checkpoint(context.Context, tenant.ID, journal.RunID) (journal.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cp == nil {
		return journal.Checkpoint{}, journal.ErrNotFound
	}
	return *s.cp, nil
}

func (s *memStore) Module(ctx context.Context, t tenant.ID, d modules.Digest) (modules.Module, error) {
	_, err := s.ModuleBytes(ctx, t, d)
	return modules.Module{Tenant: t, Digest: d}, err
}

func (s *memStore) ModuleBytes(_ context.Context, t tenant.ID, d modules.Digest) ([]byte, error) {
	b, ok := s.mods[d]
	if !ok || t != s.run.Tenant {
		return nil, fmt.Errorf("%w: %s", modules.ErrNotFound, d)
	}
	return b, nil
}

func (s *memStore) Alias(_ context.Context, _ tenant.ID, name string) (modules.Alias, error) {
	d, ok := s.aliases[name]
	if !ok {
		return modules.Alias{}, modules.ErrNotFound
	}
	return modules.Alias{Name: name, Digest: d, Version: 1}, nil
}
