package exec

import (
	"context"
	"errors"
	"fmt"

	"reprise/host/internal/checkpoint"
	"reprise/journal"
	"reprise/modules"
)

// ErrForkAt says that a run cannot be forked at that entry.
var ErrForkAt = errors.New("the run cannot be forked there")

// Fork prepares a copy of a run under another id: its first entries, of which none is terminal, and its checkpoint, when that is no
// further. entries 0 are all that there are. The copy finds what the run asked for and what came of it, and asks anew, under its own idempotency
// keys, for what was in flight. Returns ErrForkAt, and a *PipelineError when no host of this version could carry it on.
func (t *Turner) Fork(ctx context.Context, run journal.Run, id journal.RunID, entries int64) (journal.Fork, error) {
	f := journal.Fork{From: run.ID, Entries: entries}
	if entries == 0 {
		f.Entries = run.NextSeq
	}
	if f.Entries < 1 || f.Entries > run.NextSeq {
		return f, fmt.Errorf("%w: it has %d entries", ErrForkAt, run.NextSeq)
	}
	last, err := t.entry(ctx, run, f.Entries-1)
	if err != nil {
		return f, err
	}
	if last.Kind.Terminal() {
		if f.Entries--; entries > 0 || f.Entries == 0 {
			return f, fmt.Errorf("%w: entry %d is its end", ErrForkAt, last.Seq)
		}
	}
	first, err := t.entry(ctx, run, 0)
	if err != nil {
		return f, err
	}
	pin, err := decodePinned(first.Options)
	if err != nil {
		return f, err
	}
	if pin.Pipeline != modules.PipelineVersion {
		return f, &PipelineError{Run: pin.Pipeline, Host: modules.PipelineVersion}
	}
	was := pin.encode()
	if pin.Origin == nil {
		pin.Origin = &origin{Run: run.ID.String(), Key: run.Key}
	}
	f.Options = pin.encode()
	if run.CheckpointSeq > 0 && run.CheckpointSeq <= f.Entries {
		if f.Checkpoint, err = t.forkedCheckpoint(ctx, run, id, pin, int64(len(f.Options)-len(was))); err != nil {
			t.counts.fallback("fork")
			t.cfg.Logger.Debug("a fork has no checkpoint", "run", run.ID.String(), "error", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return f, err
	}
	t.counts.add(func(n *Counts) {
		if n.Forked++; f.Checkpoint != nil {
			n.ForkedThawed++
		}
	})
	return f, nil
}

// entry reads one.
func (t *Turner) entry(ctx context.Context, run journal.Run, seq int64) (journal.Entry, error) {
	es, err := t.cfg.Store.Entries(ctx, run.Tenant, run.ID, seq, 1)
	if err != nil {
		return journal.Entry{}, err
	}
	if len(es) != 1 || es[0].Seq != seq {
		return journal.Entry{}, fmt.Errorf("%w: there is no entry %d", errCorrupt, seq)
	}
	return es[0], nil
}

// forkedCheckpoint is a run's checkpoint as one of its copy, whose entry 0 has some bytes more.
func (t *Turner) forkedCheckpoint(ctx context.Context, run journal.Run, id journal.RunID, pin pinned, more int64) (*journal.Checkpoint, error) {
	c, err := t.cfg.Store.Checkpoint(ctx, run.Tenant, run.ID)
	if err != nil {
		return nil, err
	}
	s, err := openCheckpoint(t.packer, run, c)
	if err != nil {
		return nil, err
	}
	if len(s.machine.published) > 0 {
		return nil, fmt.Errorf("%w: what the run had published by then is not in it", checkpoint.ErrNoUse)
	}
	run.ID = id
	x := &execution{run: run, digest: run.Digest, pin: pin, m: s.machine}
	return x.checkpointAt(t.packer, s.frozen, s.seq, s.written+more)
}
