package harness

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake takes a fixed time for a workflow. Its time is that of a bubble of synctest, so that results are exact.
type fake struct {
	takes   time.Duration // a workflow, or each step if it has steps
	failAt  int64         // the workflow that fails
	started atomic.Int64
}

var errFake = errors.New("workflow failed")

func (f *fake) Run(ctx context.Context, w Work) error {
	if f.started.Add(1) == f.failAt {
		return errFake
	}
	select {
	case <-time.After(f.takes * time.Duration(max(1, w.Steps))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) Close() error { return nil }

func TestMeasureCountsEnds(t *testing.T) {
	tests := []struct {
		name  string
		takes time.Duration
		cell  Cell
		want  int
	}{
		// Ends at 0.3, 0.6, ... s: those from 1.0 to 2.0 s are at 1.2, 1.5 and 1.8, the first of which began before the window.
		{"one in flight", 300 * time.Millisecond, Cell{InFlight: 1, Warm: 1, Seconds: 1}, 3},
		{"four in flight", 300 * time.Millisecond, Cell{InFlight: 4, Warm: 1, Seconds: 1}, 12},
		// A workflow as long as the window: it began in the warm-up and goes on after its end.
		{"longer than the window", 1500 * time.Millisecond, Cell{InFlight: 2, Warm: 1, Seconds: 2}, 2},
		// The warm-up lasts until the second end at 6 s, so the window is from 6 to 9.5 s.
		{"warm-up waits for a turn", 3 * time.Second, Cell{InFlight: 1, Warm: 1, Seconds: 3.5}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Measure(t.Context(), &fake{takes: tt.takes}, tt.cell)
				if err != nil {
					t.Fatalf("Measure: %v", err)
				}
				if r.Workflows != tt.want {
					t.Errorf("got %d workflows, want %d", r.Workflows, tt.want)
				}
				if got, want := r.WorkflowsS, float64(tt.want)/tt.cell.Seconds; got != want {
					t.Errorf("got %v workflows a second, want %v", got, want)
				}
				if want := float64(tt.takes.Milliseconds()); r.P50 != want || r.P99 != want {
					t.Errorf("got p50 %v, p99 %v ms, want %v", r.P50, r.P99, want)
				}
			})
		})
	}
}

// Four workflows of four steps in lockstep would all end at 4 s and at 6 s, and none of them between 4.25 and 5.75 s.
func TestMeasureSpreadsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Measure(t.Context(), &fake{takes: time.Second / 2}, Cell{Work: Work{Steps: 4}, InFlight: 4, Warm: 4.25, Seconds: 1.5})
		if err != nil {
			t.Fatalf("Measure: %v", err)
		}
		if r.Workflows != 3 || r.P50 != 2000 || r.StepsS(Work{Steps: 4}) != 8 {
			t.Errorf("got %d workflows, p50 %v ms, %v steps a second; want 3, 2000, 8", r.Workflows, r.P50, r.StepsS(Work{Steps: 4}))
		}
	})
}

// 16 are begun at 0 s, 32 are in flight from 0.1 s, 64 from 0.2 s, and 100 from 0.3 s.
func TestMeasureBeginsLittleByLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: time.Second / 10}
		go func() {
			for i, want := range []int64{16, 16 + 32, 16 + 32 + 64, 16 + 32 + 64 + 100} {
				time.Sleep(time.Second / 20)
				synctest.Wait()
				if got := f.started.Load(); got != want {
					t.Errorf("in turn %d: got %d workflows begun, want %d", i, got, want)
				}
				time.Sleep(time.Second / 20)
			}
		}()
		if _, err := Measure(t.Context(), f, Cell{InFlight: 100, Warm: 1.05, Seconds: 1}); err != nil {
			t.Fatalf("Measure: %v", err)
		}
	})
}

func TestMeasureRunsSoMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: time.Second}
		r, err := Measure(t.Context(), f, Cell{InFlight: 4, Workflows: 10})
		if err != nil {
			t.Fatalf("Measure: %v", err)
		}
		if r.Workflows != 10 || f.started.Load() != 10 || r.Seconds != 3 {
			t.Errorf("got %d workflows of %d started in %v s, want 10 of 10 in 3 s", r.Workflows, f.started.Load(), r.Seconds)
		}
	})
}

func TestMeasureFails(t *testing.T) {
	tests := []struct {
		name   string
		system *fake
		want   string
	}{
		{"a workflow that fails", &fake{takes: time.Millisecond, failAt: 5}, errFake.Error()},
		{"nothing ended", &fake{takes: time.Hour}, "no workflow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if _, err := Measure(t.Context(), tt.system, Cell{InFlight: 2, Warm: 1, Seconds: 1}); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got error %v, want %q", err, tt.want)
				}
			})
		})
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := Median(nil); got != 0 {
		t.Errorf("of nothing: got %v, want 0", got)
	}
}
