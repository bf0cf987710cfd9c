package fleet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"reprise/host"
	"reprise/host/effect"
	"reprise/journal"
	"reprise/tenant"
)

// deaf is a store all of whose hints are lost.
type deaf struct{ journal.Store }

func (deaf) Hints() <-chan struct{} { return nil }

// TestEveryHintLost: two hosts find by polling alone whatever one of them, or nobody, was told of.
func TestEveryHintLost(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		a, b := s.boot("a", deaf{s.open()}, nil), s.boot("b", deaf{s.open()}, nil)
		a.push("steps", "timer", "signal", "cancelaware", "activity")
		for i := range 6 {
			from, to := a, b
			if i%2 == 1 {
				from, to = b, a
			}
			step, timer, signal := from.start("steps", "3"), from.start("timer", "150000000"), from.start("signal", "")
			cancelled, activity := from.start("cancelaware", fmt.Sprint(time.Hour.Nanoseconds())), from.start("activity", "xy")
			from.until(signal, journal.Waiting)
			from.until(cancelled, journal.Waiting)
			to.signal(signal, "go", "now")
			if _, err := to.Cancel(t.Context(), tenant.Default, cancelled, "enough"); err != nil {
				t.Fatal(err)
			}
			to.ends(step, journal.Completed, "[1][2][3]")
			to.ends(timer, journal.Completed, "done")
			from.ends(signal, journal.Completed, "now")
			from.ends(cancelled, journal.Cancelled, "")
			from.ends(activity, journal.Completed, "xyxy")
		}
	})
}

// TestSignalToARunThatIsHeld: an effect is in flight, so the run is not given up, and its owner is not told of the signal.
func TestSignalToARunThatIsHeld(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		asked, answer := make(chan struct{}, 1), make(chan struct{})
		a := s.boot("a", deaf{s.open()}, func(c *host.Config) {
			c.Effects = effect.Registry{"test.step": {Handler: effect.HandlerFunc(func(ctx context.Context, _ effect.Request) ([]byte, error) {
				asked <- struct{}{}
				select {
				case <-answer:
					return []byte("[a]"), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})}}
		})
		a.push("later")
		run := a.start("later", "")
		<-asked
		before := a.row(run)
		a.signal(run, "go", "now ")
		until(t, "the signal to be seen", func() bool { return a.row(run).NextSeq > before.NextSeq })
		if r := a.row(run); r.State != journal.Running || r.Token != before.Token {
			t.Errorf("got %s under token %d, want running still under %d", r.State, r.Token, before.Token)
		}
		close(answer)
		a.ends(run, journal.Completed, "now [a]")
	})
}
