package exec

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/checkpoint"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// torture builds testdata/guests/torture once.
var torture = sync.OnceValues(func() ([]byte, error) { return builtGo("torture") })

// builtGo builds a guest of testdata/guests with the installed toolchain.
func builtGo(name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "reprise-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir, cmd.Env = filepath.Join("../../../testdata/guests", name), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the Go guest: %w\n%s", err, said)
	}
	return os.ReadFile(out)
}

// tortured is a run of the torture guest, whose effects fail once each, so that the run is suspended at each of them too.
func tortured(t *testing.T, c Checkpoints) *harness {
	t.Helper()
	code, err := torture()
	if err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, "echo", "1", nil)
	h.store.run.Digest, h.store.run.Entry = modules.DigestOf(code), "torture"
	h.store.mods[modules.DigestOf(code)] = code
	h.turner.cfg.Limits, h.turner.cfg.Checkpoints = abi.DefaultLimits(), c
	h.turner.cfg.Effects["test.ask"] = effect.Effect{Retry: abi.Retry{Attempts: 3, BackoffMS: 10}, Handler: effect.HandlerFunc(func(_ context.Context, r effect.Request) ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls = append(h.calls, fmt.Sprintf("%s %s %d", r.Input, r.IdempotencyKey, r.Attempt))
		fails := 1
		if strings.Contains(string(r.Input), "direct") { // two at a time, and the order of their outcomes is not to be an accident
			fails += int(r.IdempotencyKey[len(r.IdempotencyKey)-1] % 2)
		}
		if r.Attempt <= fails {
			return nil, abi.NewFailure("once", "at first")
		}
		return fmt.Appendf(nil, "%q", "answer to "+string(r.Input)), nil
	})}
	return h
}

// guestLines are what the guest has written to the host's log.
func (h *harness) guestLines() (lines []string) {
	for line := range strings.Lines(h.logs.String()) {
		if _, said, ok := strings.Cut(line, "msg="); ok && strings.Contains(line, "guest=true") {
			lines = append(lines, said)
		}
	}
	return lines
}

func distinct(lines []string) (out []string) {
	for _, l := range lines {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// TestGoesOnFromCheckpoints suspends a run at every wait, and lets it go on from its checkpoint, each of which is
// verified: everything is as in a run that replays.
func TestGoesOnFromCheckpoints(t *testing.T) {
	plain := tortured(t, Checkpoints{})
	want := plain.drive()
	plain.check(want, journal.Completed, string(want.Output))
	h := tortured(t, Checkpoints{Every: 1, Verify: 1})
	got := h.drive()
	h.check(got, journal.Completed, string(want.Output))
	if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
		t.Errorf("entries (-replayed +from checkpoints):\n%s", diff)
	}
	slices.Sort(plain.calls)
	slices.Sort(h.calls)
	if diff := cmp.Diff(plain.calls, h.calls); diff != "" {
		t.Errorf("effects (-replayed +from checkpoints):\n%s", diff)
	}
	// A replay writes again what came behind its last entry.
	if diff := cmp.Diff(distinct(plain.guestLines()), h.guestLines()); diff != "" {
		t.Errorf("log (-replayed +from checkpoints):\n%s", diff)
	}
	c := h.turner.Counts()
	if c.Thawed < 25 || c.Thawed != got.Token-1 || c.Verified != c.Thawed || c.Different != 0 || len(c.Fallbacks) != 0 || c.Skipped < 100 || c.WrittenBytes == 0 {
		t.Errorf("got %+v in %d turns", c, got.Token)
	}
	if h.store.cp != nil {
		t.Error("a run that has ended has a checkpoint")
	}
	h.replays()
}

// reseal changes the fields of a checkpoint, under a right checksum.
func reseal(t *testing.T, run journal.Run, c *journal.Checkpoint, change func(s *saved)) {
	t.Helper()
	p := checkpoint.NewPacker()
	s, err := openCheckpoint(p, run, *c)
	if err != nil {
		t.Fatal(err)
	}
	s.world, s.frozen.Patch = bytes.Clone(s.world), bytes.Clone(s.frozen.Patch)
	change(s)
	var w checkpoint.Writer
	w.Bytes(s.world)
	s.frozen.AppendTo(&w)
	if c.Packed, err = p.Seal(w.Fields()); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpointOfNoUse: whatever a checkpoint is, the run comes to the same end.
func TestCheckpointOfNoUse(t *testing.T) {
	tests := []struct {
		name   string
		verify int64
		change func(t *testing.T, h *harness)
		why    string // of the one fallback; empty for none
	}{
		{name: "a bit", why: "unusable", change: func(_ *testing.T, h *harness) { h.store.cp.Packed[len(h.store.cp.Packed)-9] ^= 4 }},
		{name: "cut off", why: "unusable", change: func(_ *testing.T, h *harness) { h.store.cp.Packed = h.store.cp.Packed[:100] }},
		{name: "none", why: "unusable", change: func(_ *testing.T, h *harness) { h.store.cp = nil }},
		{name: "key", why: "unusable", change: func(_ *testing.T, h *harness) { h.store.cp.Key += "x" }},
		{name: "position", why: "unusable", change: func(_ *testing.T, h *harness) { h.store.cp.Seq-- }},
		{name: "another run", why: "unusable", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.world[3]++ })
		}},
		{name: "memory", verify: 1, why: "different", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Patch[len(s.frozen.Patch)-1]++ })
		}},
		{name: "world", verify: 1, why: "different", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) {
				s.machine.logged++
				s.world = worldOf(t, h, s)
			})
		}},
		{name: "gas", verify: 1, why: "different", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Gas.Spent++ })
		}},
		{name: "stack pointer", why: "odd", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Globals[0] = 0xffff_fff0 })
		}},
		{name: "return addresses", why: "odd", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Patch = aroundStack(s.frozen) })
		}},
		{name: "trail", why: "odd", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) {
				s.machine.trail++
				s.world = worldOf(t, h, s)
			})
			h.store.run.CheckpointSeq = h.store.cp.Seq
		}},
		{name: "import", why: "odd", change: func(t *testing.T, h *harness) {
			reseal(t, h.store.run, h.store.cp, func(s *saved) { s.frozen.Import = "reprise_v1.random" })
		}},
		{name: "as it is", verify: 1, change: func(*testing.T, *harness) {}},
	}
	plain := tortured(t, Checkpoints{})
	want := plain.drive()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := tortured(t, Checkpoints{Every: 12, Verify: tt.verify})
			for h.snapshot().NextSeq < 20 {
				h.onward()
			}
			if r := h.snapshot(); r.CheckpointSeq < 12 || r.CheckpointSeq == r.NextSeq {
				t.Fatalf("got a checkpoint at %d of %d entries, want one, and entries behind it", r.CheckpointSeq, r.NextSeq)
			}
			tt.change(t, h)
			h.onward()
			c := h.turner.Counts()
			fallbacks := map[string]int64(nil)
			if tt.why != "" {
				fallbacks = map[string]int64{tt.why: 1}
			}
			if diff := cmp.Diff(fallbacks, c.Fallbacks); diff != "" {
				t.Errorf("fallbacks (-want +got):\n%s", diff)
			}
			h.check(h.drive(), journal.Completed, string(want.Output))
			if diff := cmp.Diff(plain.store.entries, h.store.entries); diff != "" {
				t.Errorf("entries (-replayed +went on):\n%s", diff)
			}
		})
	}
}

// onward lets the run go on from a wait.
func (h *harness) onward() {
	h.t.Helper()
	h.store.mu.Lock()
	if r := h.store.run; r.State == journal.Waiting && h.store.now.Before(r.WakeAt) {
		h.store.now = r.WakeAt
	}
	h.store.mu.Unlock()
	h.turn()
}

func worldOf(t *testing.T, h *harness, s *saved) []byte {
	t.Helper()
	x := &execution{run: h.store.run, pin: s.pin, m: s.machine}
	world, err := x.worldFields(s.seq, s.written)
	if err != nil {
		t.Fatal(err)
	}
	return world
}

// aroundStack adds garbage where the guest's innermost return addresses are to a patch.
func aroundStack(f *sandbox.Frozen) []byte {
	sp := uint32(f.Globals[0])
	var out []byte
	for p := f.Patch; len(p) > 0; {
		at, n := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:])
		body := bytes.Clone(p[8 : 8+n])
		for i := range body {
			if a := at + uint32(i); a >= sp && a < sp+4096 {
				body[i] = 0xa5
			}
		}
		out = append(append(out, p[:8]...), body...)
		p = p[8+n:]
	}
	return out
}

// FuzzCheckpointFields reads fields that a checksum was right for and that nobody has written. What is taken for a checkpoint can be used.
func FuzzCheckpointFields(f *testing.F) {
	run := journal.Run{ID: journal.RunID{1}}
	m := newMachine(run.ID[:])
	o := &op{kind: journal.KindEffect, name: "test.step", request: []byte("1"), options: []byte(`{"timeout_ms":30}`)}
	m.add(o)
	m.add(&op{kind: journal.KindTimer})
	m.add(&op{kind: journal.KindSignal, name: "go"})
	m.settle(o, abi.OK, []byte("one"))
	m.drop(3)
	m.publish("key", []byte("value"))
	x := &execution{run: run, pin: pinned{Pipeline: modules.PipelineVersion, Limits: abi.DefaultLimits()}, m: m}
	world, err := x.worldFields(7, 100)
	if err != nil {
		f.Fatal(err)
	}
	var w checkpoint.Writer
	w.Bytes(world)
	(&sandbox.Frozen{Kind: modules.FreezeGo, Export: "reprise_run", Size: 1 << 16, Globals: []uint64{1, 2}, Args: []uint64{3}}).AppendTo(&w)
	f.Add(w.Fields())
	f.Fuzz(func(t *testing.T, fields []byte) {
		s, err := readSaved(fields, run)
		if err != nil {
			if !errors.Is(err, checkpoint.ErrNoUse) {
				t.Fatalf("got %v, want ErrNoUse", err)
			}
			return
		}
		m := s.machine
		for h := range m.issued {
			if o := m.get(h + 1); o != nil && o.pending() {
				m.settle(o, abi.OK, nil)
			}
		}
		for m.completed() {
			m.take()
		}
		m.add(&op{kind: journal.KindTimer})
		m.publish("key", []byte("value"))
		if len(m.pendingOps()) != 1 || m.open != 1 {
			t.Errorf("got %d pending, %d open, want 1", len(m.pendingOps()), m.open)
		}
		if err := m.appendTo(&checkpoint.Writer{}); err != nil {
			t.Error(err)
		}
	})
}
