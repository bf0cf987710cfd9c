package exec

import (
	"errors"
	"fmt"

	"reprise/host/internal/checkpoint"
	"reprise/host/internal/sandbox"
	"reprise/journal"
)

// errEvicted asks for the instance because others need its memory. The turn goes on without it and keeps the run: its effects
// are in flight.
var errEvicted = fmt.Errorf("evicted: %w", sandbox.ErrFreeze)

var _ sandbox.Evictable = (*execution)(nil)

// Evict is part of sandbox.Evictable.
func (x *execution) Evict() {
	if x.rec != nil && x.rec.freezable {
		x.rec.evict.Store(true)
		x.rec.nudge()
	}
}

// evicted is an instance that waits for its turn's news in a few bytes.
type evicted struct{ packed []byte }

// pack keeps an instance as few bytes.
func (t *Turner) pack(f *sandbox.Frozen) (evicted, error) {
	var w checkpoint.Writer
	f.AppendTo(&w)
	b, err := t.packer.Seal(w.Fields())
	return evicted{b}, err
}

func (t *Turner) unpack(e evicted) (*sandbox.Frozen, error) {
	fields, err := t.packer.Open(e.packed)
	if err != nil {
		return nil, err
	}
	r := checkpoint.NewReader(fields)
	f := sandbox.ReadFrozen(r)
	return f, r.Done()
}

// outside carries a turn on whose instance was frozen, until there is something for the guest to see; then it
// returns the instance. When that could not be frozen the run begins again, as if it had asked for memory itself.
func (u *Turn) outside(x *execution, end sandbox.Ending) (*sandbox.Frozen, error) {
	if end.Frozen == nil {
		u.t.counts.fallback("not_frozen")
		return nil, fmt.Errorf("%w: %w", sandbox.ErrPressure, end.Cause)
	}
	kept, err := u.t.pack(end.Frozen)
	if err != nil {
		u.stays = true
		u.t.counts.fallback("too_large")
		return nil, fmt.Errorf("%w: %w", sandbox.ErrPressure, err)
	}
	u.t.counts.add(func(n *Counts) { n.Evicted++; n.EvictedBytes += int64(len(kept.packed)) })
	if err = x.rec.idle(); errors.Is(err, errFreezing) {
		f, oerr := u.t.unpack(kept)
		if oerr != nil {
			return nil, oerr
		}
		return nil, u.suspend(x, sandbox.Ending{Cause: err, Frozen: f})
	}
	if err != nil {
		return nil, err
	}
	u.t.counts.add(func(n *Counts) { n.Returned++ })
	return u.t.unpack(kept)
}

// suspend ends a turn whose run waits, with its instance as a checkpoint when there is one.
func (u *Turn) suspend(x *execution, end sandbox.Ending) error {
	return x.rec.leave(x.rec.leaving, u.checkpointOf(x, end))
}

// idle does what next does, but for showing: it returns when the wait that the guest was evicted in has something to see.
func (r *recorder) idle() error {
	w := r.resting
	for {
		r.evict.Store(false) // there is nothing more to give
		if err := r.keepSmall(); err != nil {
			return err
		}
		if err := r.collect(); err != nil {
			return err
		}
		if r.shows(w) {
			return nil
		}
		launched, err := r.launch()
		if err != nil {
			return err
		}
		if launched {
			continue
		}
		if err := r.block(w); err != nil {
			return err
		}
	}
}

// shows says whether take would give something, or end the run.
func (r *recorder) shows(w waitSet) bool {
	if i, _, err := r.firstArrival(w); err != nil || i >= 0 {
		return true
	}
	_, at, timed := w.nextTimer(r.x.m)
	return timed && !at.After(r.t.cfg.Clock.Now()) || r.room(journal.Entry{}) != nil
}
