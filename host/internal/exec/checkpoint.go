package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/host/internal/checkpoint"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// Checkpoints says when runs are written as checkpoints, and how far these are trusted.
type Checkpoints struct {
	// Every is how many entries a run goes on from its begin, or its last checkpoint, before a suspension writes one; 0 for
	// never. What is shorter is replayed in less time than the database takes for the checkpoint.
	Every int64
	// Verify replays beside one of so many runs that go on from a checkpoint, and compares; 0 for none.
	Verify int64
}

// checkpointKey names everything that a checkpoint is bound to but its journal: the module, what is done to modules, and the
// image that its memory is relative to. It does not depend on the engine.
func checkpointKey(x *execution, f *sandbox.Frozen) string {
	return fmt.Sprintf("1/%s/%d/%s/%s", x.digest, x.pin.Pipeline, f.Kind, f.Image)
}

// saved is a run as a checkpoint has it.
type saved struct {
	seq     int64
	pin     pinned
	written int64 // bytes of the entries before seq
	machine *machine
	frozen  *sandbox.Frozen
	world   []byte // the fields of all but the instance
	packed  int
}

// worldFields writes what the host knows of a run that has seen all entries before seq.
func (x *execution) worldFields(seq, written int64) ([]byte, error) {
	var w checkpoint.Writer
	w.Int(seq)
	w.Bytes(x.run.ID[:])
	w.Bytes(x.pin.encode())
	w.Int(written)
	if err := x.m.appendTo(&w); err != nil {
		return nil, err
	}
	return w.Fields(), nil
}

// checkpoint makes one of the run as it waits now. Returns checkpoint.ErrNoUse when it would be too large.
func (x *execution) checkpoint(p *checkpoint.Packer, f *sandbox.Frozen) (*journal.Checkpoint, error) {
	return x.checkpointAt(p, f, x.rec.seq, x.rec.written)
}

// checkpointAt is checkpoint for a run that has seen so many entries, of so many bytes.
func (x *execution) checkpointAt(p *checkpoint.Packer, f *sandbox.Frozen, seq, written int64) (*journal.Checkpoint, error) {
	world, err := x.worldFields(seq, written)
	if err != nil {
		return nil, err
	}
	var w checkpoint.Writer
	w.Bytes(world)
	f.AppendTo(&w)
	packed, err := p.Seal(w.Fields())
	if err != nil {
		return nil, err
	}
	if len(packed) > journal.MaxCheckpoint {
		return nil, fmt.Errorf("%w: it would have %d bytes", checkpoint.ErrNoUse, len(packed))
	}
	return &journal.Checkpoint{Seq: seq, Key: checkpointKey(x, f), Packed: packed}, nil
}

// openCheckpoint reads a checkpoint of a run. Returns checkpoint.ErrNoUse.
func openCheckpoint(p *checkpoint.Packer, run journal.Run, c journal.Checkpoint) (*saved, error) {
	fields, err := p.Open(c.Packed)
	if err != nil {
		return nil, err
	}
	s, err := readSaved(fields, run)
	if err != nil {
		return nil, err
	}
	s.packed = len(c.Packed)
	x := execution{digest: run.Digest, pin: s.pin}
	switch {
	case c.Key != checkpointKey(&x, s.frozen):
		return nil, fmt.Errorf("%w: it is of %.200q", checkpoint.ErrNoUse, c.Key)
	case c.Seq != s.seq || s.seq < 1 || s.seq > run.NextSeq:
		return nil, fmt.Errorf("%w: it stands at seq %d, %d is said, the journal has %d entries", checkpoint.ErrNoUse, s.seq, c.Seq, run.NextSeq)
	}
	return s, nil
}

func readSaved(fields []byte, run journal.Run) (*saved, error) {
	r := checkpoint.NewReader(fields)
	s := &saved{world: r.Bytes()}
	s.frozen = sandbox.ReadFrozen(r)
	if err := r.Done(); err != nil {
		return nil, err
	}
	r = checkpoint.NewReader(s.world)
	s.seq = r.Int()
	if id := r.Bytes(); !bytes.Equal(id, run.ID[:]) {
		r.Fail("it is of another run")
	}
	var err error
	if s.pin, err = decodePinned(r.Bytes()); err != nil {
		r.Fail("%v", err)
		return nil, r.Done()
	}
	s.written = r.Within(0, s.pin.Limits.JournalBytes)
	s.machine = readMachine(r, s.pin.Limits)
	return s, r.Done()
}

// saved finds the checkpoint that the turn can go on from; nil when it has to replay from the first entry.
func (u *Turn) saved(rec *recorder, mod program) *saved {
	if u.claim.Run.CheckpointSeq == 0 || u.replays {
		return nil
	}
	begin := time.Now()
	var c journal.Checkpoint
	err := rec.persist(func(ctx context.Context) (err error) {
		c, err = u.t.cfg.Store.Checkpoint(ctx, u.claim.Run.Tenant, u.claim.Run.ID)
		return err
	})
	var s *saved
	if err == nil {
		s, err = openCheckpoint(u.t.packer, u.claim.Run, c)
	}
	if err == nil && s.pin.Pipeline != modules.PipelineVersion {
		err = fmt.Errorf("%w: modules are prepared by another version", checkpoint.ErrNoUse)
	}
	if err != nil {
		u.distrust("unusable", err)
		return nil
	}
	if u.t.counts.opened(s.seq, s.packed, time.Since(begin), u.t.cfg.Checkpoints.Verify) && !u.verified(rec, mod, s) {
		return nil
	}
	return s
}

// distrust makes the turn replay from the first entry, and counts why.
func (u *Turn) distrust(why string, err error) {
	u.replays = true
	u.t.counts.fallback(why)
	u.log().Warn("the checkpoint is not used; the run is replayed from its first entry", "why", why, "error", err)
}

// checkpointOf makes a Frozen a checkpoint; nil when that cannot be or is not worth it. A run is suspended without one, too.
func (u *Turn) checkpointOf(x *execution, end sandbox.Ending) *journal.Checkpoint {
	if end.Frozen == nil {
		u.t.counts.fallback("not_frozen")
		u.log().Warn("the guest could not be frozen; its run will be replayed", "error", end.Cause)
		return nil
	}
	begin := time.Now()
	c, err := x.checkpoint(u.t.packer, end.Frozen)
	if err != nil {
		why := "failed"
		if errors.Is(err, checkpoint.ErrNoUse) {
			why = "too_large"
		}
		u.t.counts.fallback(why)
		u.log().Debug("no checkpoint", "why", why, "error", err)
		return nil
	}
	u.t.counts.froze(len(c.Packed), time.Since(begin))
	return c
}

// errTrapped says that a guest which went on from a checkpoint trapped. It is replayed before that is believed.
var errTrapped = errors.New("the guest trapped after it went on from a checkpoint")

// doubts says that the guest was thawed, and that nobody has looked yet whether a replay comes to the same.
func (u *Turn) doubts() bool { return u.thawed && !u.replays }

// doubtful says whether a turn that went on from a checkpoint ended in a way that may be the checkpoint's fault.
func doubtful(err error) bool {
	if errors.Is(err, errCorrupt) || errors.Is(err, errTrapped) || errors.Is(err, sandbox.ErrUnusable) {
		return true
	}
	var odd *NondeterminismError
	return errors.As(err, &odd)
}

// verified replays the run beside up to where its checkpoint stands and compares. When the two are not the same, the
// replay is right.
func (u *Turn) verified(rec *recorder, mod program, s *saved) bool {
	begin := time.Now()
	different, err := u.differs(rec, mod, s)
	u.t.counts.add(func(n *Counts) { n.Verifying += time.Since(begin) })
	switch {
	case err != nil && rec.ctx.Err() != nil:
		return true // the turn will see it
	case errors.As(err, new(*NondeterminismError)):
		different = "what the guest asks for"
	case err != nil:
		u.log().Warn("a checkpoint could not be compared with a replay", "error", err)
		return true
	case different == "":
		u.t.counts.add(func(n *Counts) { n.Verified++ })
		return true
	}
	u.t.counts.add(func(n *Counts) { n.Verified++; n.Different++ })
	u.log().Error("A CHECKPOINT IS NOT WHAT REPLAY GIVES", "differs", different, "seq", s.seq, "error", err)
	u.distrust("different", fmt.Errorf("%w: %s", checkpoint.ErrNoUse, different))
	return false
}

// differs says what of a checkpoint is unlike a replay; empty when nothing is.
func (u *Turn) differs(rec *recorder, mod program, s *saved) (string, error) {
	var entries []journal.Entry
	err := rec.persist(func(ctx context.Context) (err error) {
		entries, err = u.t.history(ctx, u.claim.Run, 0, s.seq)
		return err
	})
	if err != nil {
		return "", err
	}
	x := newExecution(u.claim.Run, u.claim.Run.Digest, s.pin, entries)
	x.freezes = true
	if err := x.begin(); err != nil {
		return "", err
	}
	end := mod.Run(rec.ctx, x, "")
	if end.Frozen == nil {
		if end.Cause != nil {
			return "", end.Cause
		}
		return "the guest ends before it comes to where the checkpoint stands", nil
	}
	written := int64(0)
	for _, e := range entries {
		written += entrySize(e)
	}
	world, err := x.worldFields(x.cur.seen(), written)
	if err != nil {
		return "", err
	}
	return difference(s, world, end.Frozen), nil
}

func difference(s *saved, world []byte, f *sandbox.Frozen) string {
	got, want := s.frozen, f
	switch {
	case !bytes.Equal(s.world, world):
		return "what the host knows of the run"
	case got.Size != want.Size || !bytes.Equal(got.Patch, want.Patch):
		return "the guest's memory"
	case !slices.Equal(got.Globals, want.Globals) || !slices.Equal(got.Frames, want.Frames):
		return "the guest's globals or frames"
	}
	var a, b checkpoint.Writer
	got.AppendTo(&a)
	want.AppendTo(&b)
	if !bytes.Equal(a.Fields(), b.Fields()) {
		return "the guest's gas, streams or pending call"
	}
	return ""
}
