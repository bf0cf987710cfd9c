package exec

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/journal"
)

// TestLogLimit: the lines up to the limit are written once, however often they are replayed; from the first that does
// not fit on they are counted.
func TestLogLimit(t *testing.T) {
	for n, lost := range map[int]int{10: 0, 11: 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			guest := limited(func(w sandbox.World) (string, error) {
				for i := range 9 {
					w.Log(abi.LogInfo, "log", fmt.Sprintf("line number %d", i)) // 14 bytes with its newline
				}
				w.Log(abi.LogInfo, "log", strings.Repeat("x", n))
				for i := range 2 {
					if _, _, err := ask(w, 1); err != nil { // an entry: what came before is not written again
						return "", err
					}
					s, err := w.Start(sandbox.Request{Kind: sandbox.OpSignal, Name: "go"})
					if err == nil {
						_, err = w.Wait([]int32{s}, -1, 1)
					}
					if err != nil {
						return "", err
					}
					w.Log(abi.LogInfo, "log", "")
					w.Log(abi.LogInfo, "log", fmt.Sprint("too late ", i))
				}
				_, _, err := ask(w, 1)
				return "done", err
			})
			h := newLimited(t, guest, func(l *abi.Limits) { l.LogBytes = 9*14 + 11 })
			for i := range 3 {
				h.drive()
				h.store.arrive(journal.Arrival{ID: fmt.Sprint("signal:", i), Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "go"})
			}
			h.check(h.snapshot(), journal.Completed, "done")
			logs := h.logs.String()
			for text, want := range map[string]int{"line number 3": 1, "line number 8": 1, strings.Repeat("x", 10): min(1, 11-n), "too late": 0,
				"the log has had its 137 bytes": 1, fmt.Sprintf("lines=%d limit_bytes=137", max(lost, 4)): 1} {
				if got := strings.Count(logs, text); got != want {
					t.Errorf("got %q %d times, want %d\n%s", text, got, want, logs)
				}
			}
		})
	}
}

func TestLogRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logLines{}
		g := newGuestLog(slog.New(slog.NewTextHandler(logs, nil)), 10_000)
		line := strings.Repeat("x", 999)
		write := func(n int) (written, said, told int) {
			before := logs.String()
			for range n {
				g.write(abi.LogInfo, "log", line)
			}
			fresh := logs.String()[len(before):]
			return strings.Count(fresh, line), strings.Count(fresh, "writes too much"), strings.Count(fresh, "of the guest were dropped")
		}
		for _, tt := range []struct {
			pause               time.Duration
			n                   int
			written, said, told int
		}{
			{0, 40, 40, 0, 0},             // a burst
			{0, 1000, 0, 1, 0},            // beyond it
			{time.Second, 10, 0, 0, 0},    // not half a burst yet
			{time.Second, 10, 10, 0, 1},   // half a burst
			{time.Second, 30, 20, 1, 0},   // what is left and what has come
			{time.Hour, 100, 40, 1, 1},    // never more than a burst
			{2 * time.Second, 1, 1, 0, 1}, // and so on
		} {
			time.Sleep(tt.pause)
			if written, said, told := write(tt.n); written != tt.written || said != tt.said || told != tt.told {
				t.Errorf("%d lines after %s: got %d written, %d and %d notes, want %d, %d and %d", tt.n, tt.pause, written, said, told, tt.written, tt.said, tt.told)
			}
		}
		any := newGuestLog(slog.New(slog.NewTextHandler(logs, nil)), 0)
		g = any
		if written, _, _ := write(1000); written != 1000 {
			t.Errorf("without a rate: got %d lines, want 1000", written)
		}
	})
}

// TestSlowLogTakesTheLongestLine: a low rate delays lines, it does not keep long ones out for ever.
func TestSlowLogTakesTheLongestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logLines{}
		g := newGuestLog(slog.New(slog.NewTextHandler(logs, nil)), 1)
		for i := range 10 {
			g.write(abi.LogInfo, "log", strings.Repeat("x", abi.MaxLogLine))
			if got := strings.Count(logs.String(), "xxx"); i == 0 && got == 0 {
				t.Fatal("the first line was dropped")
			}
			time.Sleep(24 * time.Hour)
		}
		if got := strings.Count(logs.String(), "guest=true"); got != 10 {
			t.Errorf("got %d lines, want 10", got)
		}
	})
}
