package host_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// TestCheckpointsOutliveTheHost signals a Go program that waits for signals, each time on another host. Each goes on from
// the checkpoint that one before has written.
func TestCheckpointsOutliveTheHost(t *testing.T) {
	dir := t.TempDir()
	guest := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", guest, "./testguests/suite")
	cmd.Dir, cmd.Env = "../guest-sdk/go", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, said)
	}
	code, err := os.ReadFile(guest)
	if err != nil {
		t.Fatal(err)
	}
	const signals = 6
	var id journal.RunID
	var total host.CheckpointCounts
	for i := range signals + 1 {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "journal.db")})
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(host.Config{Store: store, Poll: 20 * time.Millisecond, HoldFor: 10 * time.Millisecond, CacheDir: filepath.Join(dir, "cache"),
			CheckpointEvery: 1, CheckpointVerify: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := &node{Host: h, t: t, store: store}
		if i == 0 {
			if _, err := h.PushModule(t.Context(), tenant.Default, "signals", code, ""); err != nil {
				t.Fatal(err)
			}
			run, _, err := h.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "signals", Entry: "signals", Input: fmt.Append(nil, signals-1)})
			if err != nil {
				t.Fatal(err)
			}
			id = run.ID
		} else {
			name := "note"
			if i == signals {
				name = "late"
			}
			if _, err := h.Signal(t.Context(), tenant.Default, id, fmt.Sprint(i), name, fmt.Appendf(nil, `"%d"`, i)); err != nil {
				t.Fatal(err)
			}
		}
		if i < signals {
			n.waits(id, int64(i)+1)
		} else if r := n.end(id); r.State != journal.Completed || string(r.Output) != `["1","2","3","4","5","6"]` {
			t.Errorf("got %s %s, output %s", r.State, r.Failure, r.Output)
		}
		if err := errors.Join(h.Stop(t.Context()), store.Close()); err != nil {
			t.Fatal(err)
		}
		c := h.Checkpoints()
		total.Thawed += c.Thawed
		total.Verified += c.Verified
		total.Different += c.Different
		if len(c.Fallbacks) > 0 {
			t.Errorf("signal %d: got fallbacks %v", i, c.Fallbacks)
		}
	}
	if total.Thawed != signals || total.Verified != signals || total.Different != 0 {
		t.Errorf("got %+v, want every turn but the first to go on from a checkpoint that is what a replay gives", total)
	}
}

// waits polls until a run waits with so many entries.
func (n *node) waits(id journal.RunID, entries int64) {
	n.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		v, err := n.Run(n.t.Context(), tenant.Default, id)
		if err != nil {
			n.t.Fatal(err)
		}
		if v.Run.State == journal.Waiting && v.Run.NextSeq >= entries {
			return
		}
		if v.Run.State.Terminal() || v.Run.State == journal.Blocked {
			n.t.Fatalf("got %s: %s %s", v.Run.State, v.Run.Reason, v.Run.Failure)
		}
	}
	n.t.Fatalf("the run does not come to %d entries", entries)
}
