package e2e

import (
	"log/slog"
	"testing"
	"time"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/journal/sqlite"
	"reprise/tenant"
)

// TestScriptIsAsked asks a script while it waits, from its journal and from checkpoints, and looks whether it notices.
func TestScriptIsAsked(t *testing.T) {
	wasm, err := script()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, every := range map[string]int64{"from the journal": -1, "from a checkpoint": 1} {
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(ctx, sqlite.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			h, err := host.New(host.Config{Store: store, CacheDir: cacheDir, Poll: 5 * time.Millisecond, CheckpointEvery: every, CheckpointVerify: 1,
				Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Start(ctx); err != nil {
				t.Fatal(err)
			}
			defer h.Stop(ctx)
			if _, err := h.PushModule(ctx, tenant.Default, "flow", wasm, ""); err != nil {
				t.Fatal(err)
			}
			run, _, err := h.StartRun(ctx, tenant.Default, host.StartRun{Workflow: "flow", Entry: "asked"})
			if err != nil {
				t.Fatal(err)
			}
			for i, payload := range []string{"4", "8", "30"} {
				settled(t, h, run.ID, int64(i+1))
				ask(t, h, run.ID, i)
				if _, err := h.Signal(ctx, tenant.Default, run.ID, payload, "add", []byte(payload)); err != nil {
					t.Fatal(err)
				}
			}
			if run, err = h.Result(ctx, tenant.Default, run.ID, patience); err != nil || string(run.Output) != "[4,8,30]" {
				t.Errorf("got %s %s %s, %v", run.State, run.Output, run.Failure, err)
			}
			if c := h.Checkpoints(); c.Different != 0 || (c.Written > 0) != (every > 0) {
				t.Errorf("got %+v, want checkpoints like their replays, or none", c)
			}
		})
	}
}

// settled waits until a run is suspended behind so many entries.
func settled(t *testing.T, h *host.Host, id journal.RunID, entries int64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		v, err := h.Run(t.Context(), tenant.Default, id)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the run is %s with %d entries: %v", v.Run.State, v.Run.NextSeq, err)
		}
		if v.Run.State == journal.Waiting && v.Run.NextSeq == entries {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// ask asks everything when the run has seen so many signals.
func ask(t *testing.T, h *host.Host, id journal.RunID, seen int) {
	t.Helper()
	for _, tc := range []struct{ name, input, want, code string }{
		{"sum", "", []string{`{"sum":0,"at":true}`, `{"sum":4,"at":true}`, `{"sum":12,"at":true}`}[seen], ""},
		{"breaks", "", "", "no_answer"},
		{"sum", "100", []string{`{"sum":100,"at":true}`, `{"sum":104,"at":true}`, `{"sum":112,"at":true}`}[seen], ""},
		{"waits", "", "", "error"},
		{"asks", "", "", abi.CodeMisuse},
		{"other", "", "", "unknown_query"},
		{"sum", "{", "", "invalid_input"},
	} {
		out, failure, err := h.Query(t.Context(), tenant.Default, id, tc.name, []byte(tc.input))
		if err != nil {
			t.Errorf("%s(%s): %v", tc.name, tc.input, err)
		} else if failure != nil && failure.Code != tc.code || failure == nil && tc.code != "" || string(out) != tc.want {
			t.Errorf("%s(%s): got %s, %v, want %s%s", tc.name, tc.input, out, failure, tc.want, tc.code)
		}
	}
}
