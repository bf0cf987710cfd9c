package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"reprise/abi"
	"reprise/host/internal/checkpoint"
	"reprise/journal"
)

// appendTo writes the machine as fields of a checkpoint. The same calls and entries always give the same bytes: what is live
// and unknown to the guest is left out. A turn finds that in the inbox.
func (m *machine) appendTo(w *checkpoint.Writer) error {
	w.Int(int64(m.issued))
	w.Uint(uint64(len(m.ops) - countNil(m.ops)))
	for _, o := range m.ops {
		if o != nil {
			o.appendTo(w)
		}
	}
	ready := slices.Clone(m.ready)
	ready = slices.DeleteFunc(ready, func(h int32) bool { return !m.untaken(h) }) // how many are skipped later shows to nobody
	w.Uint(uint64(len(ready)))
	for _, h := range ready {
		w.Int(int64(h))
	}
	w.Uint(m.trail)
	w.Time(m.started)
	w.Time(m.now)
	random, err := m.random.MarshalBinary()
	if err != nil {
		return fmt.Errorf("state of the random generator: %w", err)
	}
	w.Bytes(random)
	for _, b := range []bool{m.cancelAware, m.cancelled, m.cancelTaken} {
		w.Bool(b)
	}
	w.Uint(uint64(len(m.published)))
	for _, key := range sortedKeys(m.published) {
		w.String(key)
		w.Int(m.published[key])
	}
	w.Int(m.logged)
	w.Int(m.unlogged)
	return nil
}

func countNil(ops []*op) (n int) {
	for _, o := range ops {
		if o == nil {
			n++
		}
	}
	return n
}

// kinds are what an op may be, by the number that stands for it.
var kinds = []journal.Kind{journal.KindEffect, journal.KindActivity, journal.KindTimer, journal.KindSignal, journal.KindChild}

func (o *op) appendTo(w *checkpoint.Writer) {
	w.Int(int64(o.handle))
	w.Uint(uint64(slices.Index(kinds, o.kind)))
	w.String(o.name)
	w.Bytes(o.request)
	w.Bytes(o.options)
	w.Time(o.issuedAt)
	w.Time(o.due)
	w.Uint(uint64(o.status))
	w.Bytes(o.payload)
	w.Bool(o.taken)
}

// leastOp and leastPublished are how many bytes one takes at least.
const (
	leastOp        = 9
	leastPublished = 2
)

// readMachine reads what appendTo wrote, of a run with such limits. Whatever the fields are, the machine that it gives can be
// used; the reader knows whether it is one that was written.
func readMachine(r *checkpoint.Reader, limits abi.Limits) *machine {
	m := &machine{limits: limits, published: map[string]int64{}, random: new(rand.ChaCha8)}
	m.issued = int32(r.Within(0, limits.Requests))
	m.ops = make([]*op, m.issued)
	for range r.Count(leastOp) {
		o := readOp(r)
		if o.handle > m.issued || o.handle < 1 || m.ops[o.handle-1] != nil {
			r.Fail("handle %d", o.handle)
			break
		}
		m.ops[o.handle-1] = o
		m.held += o.size()
	}
	for _, o := range m.ops {
		if o != nil && o.pending() {
			m.waiting = append(m.waiting, o)
			m.open++
		}
	}
	for range r.Count(1) {
		m.ready = append(m.ready, int32(r.Within(int64(abi.CancelHandle), int64(m.issued))))
	}
	m.trail = r.Uint()
	m.started, m.now = r.Time(), r.Time()
	if err := m.random.UnmarshalBinary(r.Bytes()); err != nil && r.Err() == nil {
		r.Fail("state of the random generator: %v", err)
	}
	m.cancelAware, m.cancelled, m.cancelTaken = r.Bool(), r.Bool(), r.Bool()
	for range r.Count(leastPublished) {
		key := r.String()
		size := r.Within(0, limits.PublishedBytes)
		m.published[key] = size
		m.publishedBytes += size
	}
	m.logged, m.unlogged = r.Within(0, limits.LogBytes), r.Int()
	return m
}

// readOp reads an op. Its options were decoded when it was asked for, so they can be again.
func readOp(r *checkpoint.Reader) *op {
	o := &op{handle: int32(r.Within(1, abi.MaxRequests))}
	if k := r.Uint(); k < uint64(len(kinds)) {
		o.kind = kinds[k]
	} else {
		r.Fail("kind %d", k)
	}
	o.name, o.request, o.options = r.String(), r.Bytes(), r.Bytes()
	o.issuedAt, o.due = r.Time(), r.Time()
	o.status, o.payload, o.taken = abi.Status(r.Uint()), r.Bytes(), r.Bool()
	if o.status > abi.TimedOut {
		r.Fail("status %d", o.status)
	}
	if (o.kind == journal.KindEffect || o.kind == journal.KindActivity || o.kind == journal.KindChild) && o.pending() {
		var err error
		if o.opts, err = abi.DecodeOptions(o.options); err != nil {
			r.Fail("options: %v", err)
		}
	}
	return o
}
