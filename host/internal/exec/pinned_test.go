package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
)

// pausing publishes before and after a signal as many bytes as the run may, and says how many.
func pausing(w sandbox.World) (string, error) {
	limit := w.Entry().Limits.PublishedBytes
	if err := w.Publish("", make([]byte, limit)); err != nil {
		return "", err
	}
	s, err := w.Start(sandbox.Request{Kind: sandbox.OpSignal, Name: "go"})
	if err == nil {
		_, err = w.Wait([]int32{s}, -1, 1)
	}
	if err == nil {
		err = w.Publish("", make([]byte, limit))
	}
	if err == nil && w.Publish("", make([]byte, limit+1)) == nil {
		err = errors.New("more was published than is allowed")
	}
	return fmt.Sprint(limit), err
}

func (h *harness) send() {
	h.store.arrive(journal.Arrival{ID: "signal:1", Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "go"})
}

// TestLimitsAreOfTheRun: a run keeps the limits that it began with, on a host that gives less or more.
func TestLimitsAreOfTheRun(t *testing.T) {
	for name, then := range map[string]abi.Limits{"less": one(), "more": abi.DefaultLimits()} {
		t.Run(name, func(t *testing.T) {
			h := newLimited(t, pausing, func(l *abi.Limits) { l.PublishedBytes = 100 })
			if r := h.drive(); r.State != journal.Waiting {
				t.Fatalf("got %s (%s), want waiting", r.State, r.Reason)
			}
			p, err := decodePinned(h.store.entries[0].Options)
			if err != nil || p.Pipeline != modules.PipelineVersion || p.Limits.PublishedBytes != 100 || p.Limits.Gas != 20_000_000 || p.Limits.Depth != abi.MaxDepth {
				t.Errorf("got %s in entry 0, %v", h.store.entries[0].Options, err)
			}
			h.turner.cfg.Limits = then
			h.send()
			h.check(h.drive(), journal.Completed, "100")
		})
	}
}

// TestOtherPipeline: a run that began on modules that were prepared otherwise waits for a host that prepares them so.
func TestOtherPipeline(t *testing.T) {
	h := newLimited(t, pausing, func(l *abi.Limits) { l.PublishedBytes = 100 })
	h.drive()
	mine := h.store.entries[0].Options
	h.store.entries[0].Options = []byte(strings.Replace(string(mine), fmt.Sprintf(`"pipeline":%d`, modules.PipelineVersion), fmt.Sprintf(`"pipeline":%d`, modules.PipelineVersion+1), 1))
	h.send()
	r := h.drive()
	if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "pipeline_changed: ") || r.NextSeq != 1 || len(h.store.inbox) != 1 {
		t.Fatalf("got %s %q at seq %d with %d arrivals, want blocked at 1 with the signal", r.State, r.Reason, r.NextSeq, len(h.store.inbox))
	}
	var pipeline *PipelineError
	if _, err := h.turner.Replay(context.Background(), r, r.Digest); !errors.As(err, &pipeline) {
		t.Errorf("replay: got %v, want a PipelineError", err)
	}
	h.store.entries[0].Options = mine
	h.store.run.State = journal.Ready
	h.check(h.drive(), journal.Completed, "100")
}

func TestOptionsOfEntry0(t *testing.T) {
	good := string(pinned{Pipeline: modules.PipelineVersion, Limits: abi.DefaultLimits()}.encode())
	if _, err := decodePinned([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]string{
		"no JSON":          "x",
		"another type":     "[]",
		"cut":              good[:len(good)-1],
		"followed":         good + "{}",
		"unknown field":    strings.Replace(good, "{", `{"x":1,`, 1),
		"unknown limit":    strings.Replace(good, `"gas"`, `"gaz"`, 1),
		"missing limit":    strings.Replace(good, fmt.Sprintf(`"depth":%d,`, abi.MaxDepth), "", 1),
		"negative limit":   strings.Replace(good, `"gas":`, `"gas":-`, 1),
		"above a ceiling":  strings.Replace(good, `"depth":`, `"depth":1`, 1),
		"outside its type": strings.Replace(good, `"depth":`, `"depth":99999999999`, 1),
		"no pipeline":      strings.Replace(good, `"pipeline"`, `"pipe"`, 1),
		"pipeline 0":       strings.Replace(good, fmt.Sprintf(`"pipeline":%d`, modules.PipelineVersion), `"pipeline":0`, 1),
		"only limits":      good[strings.Index(good[1:], "{")+1 : len(good)-1],
	} {
		t.Run(name, func(t *testing.T) {
			h := newLimited(t, pausing, func(l *abi.Limits) { l.PublishedBytes = 100 })
			h.drive()
			h.store.entries[0].Options = []byte(options)
			h.send()
			if r := h.drive(); r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "corrupt_history: ") || len(h.store.inbox) != 1 {
				t.Errorf("got %s %q with %d arrivals, want blocked as corrupt_history with the signal", r.State, r.Reason, len(h.store.inbox))
			}
		})
	}
}

// TestEntry0WithoutOptions: journals of before entry 0 had any were written under the first pipeline and the ceilings.
func TestEntry0WithoutOptions(t *testing.T) {
	h := newLimited(t, pausing, func(*abi.Limits) {})
	h.drive()
	h.store.entries[0].Options = nil
	h.send()
	h.turner.cfg.Limits = one()
	r := h.drive()
	if modules.PipelineVersion != firstPipeline {
		if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "pipeline_changed: ") {
			t.Errorf("got %s %q, want blocked by the pipeline", r.State, r.Reason)
		}
		return
	}
	h.check(r, journal.Completed, fmt.Sprint(abi.MaxPublishedBytes))
}

// TestActivityHasTheLimitsOfItsRun, and its own gas.
func TestActivityHasTheLimitsOfItsRun(t *testing.T) {
	var got abi.Limits
	guest := limited(func(w sandbox.World) (string, error) {
		if w.Entry().Kind == abi.EntryActivity {
			got = w.Entry().Limits
			return "", w.Publish("k", make([]byte, 100))
		}
		h, err := w.Start(sandbox.Request{Kind: sandbox.OpActivity, Name: "act"})
		if err != nil {
			return "", err
		}
		return waitFor(w, h)
	})
	h := newLimited(t, guest, func(l *abi.Limits) { l.PublishedBytes, l.Depth = 100, 7 })
	h.check(h.drive(), journal.Completed, abi.CodeMisuse)
	want := h.turner.cfg.Limits
	want.Gas = abi.MaxActivityGas
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
