package conformance

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConformance runs every program in every language: undisturbed, frozen in every wait, and killed at every wait and every
// commit. The first language's journals are those that all others must have.
func TestConformance(t *testing.T) {
	var reference map[string][]string
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			wasm, err := l.module(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cache := filepath.Join(t.TempDir(), "cache")
			s := newStage(t, l, wasm, cache, false)
			calm := s.undisturbed()
			if reference == nil {
				reference = journals(calm)
			} else if diff := cmp.Diff(reference, journals(calm)); diff != "" {
				t.Errorf("journals are not those of %s (-want +got):\n%s", languages[0].name, diff)
			}
			s.killed(calm)
			newStage(t, l, wasm, cache, true).frozen(calm)
		})
	}
}

// journals are those that are equal in all languages.
func journals(of map[string]outcome) map[string][]string {
	all := map[string][]string{}
	for _, p := range runnable() {
		if !p.wild {
			all[p.name+p.input] = of[p.name+p.input].Journal
		}
	}
	return all
}

// undisturbed runs each program once. What it gives is by program and input.
func (s *stage) undisturbed() map[string]outcome {
	s.t.Helper()
	var mu sync.Mutex
	all := map[string]outcome{}
	s.together(len(runnable()), func(i int) error {
		p := runnable()[i]
		o, err := s.play(p, nil)
		if err != nil {
			return fmt.Errorf("%s(%s): %w", p.name, p.input, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all[p.name+p.input] = o
		return nil
	})
	return all
}

// killed runs each program as often as it can die.
func (s *stage) killed(calm map[string]outcome) {
	s.t.Helper()
	type attempt struct {
		p program
		c cut
	}
	deaths := []death{lost, unanswered, stolen}
	if raceDetector { // an owner that is not told runs beside the one that took over
		deaths = []death{stolen}
	}
	var attempts []attempt
	for _, p := range runnable() {
		attempts = append(attempts, attempt{p, cut{stolen, 0}})
		attempts = append(attempts, attempt{p, cut{unanswered, always}})
		for at := range calm[p.name+p.input].Commits {
			for _, how := range deaths {
				attempts = append(attempts, attempt{p, cut{how, at + 1}})
			}
		}
	}
	var mu sync.Mutex
	died := 0
	s.together(len(attempts), func(i int) error {
		a := attempts[i]
		o, err := s.play(a.p, &a.c)
		if err != nil {
			return fmt.Errorf("%s(%s), commit %d is %s: %w", a.p.name, a.p.input, a.c.at, a.c.how, err)
		}
		if diff := cmp.Diff(calm[a.p.name+a.p.input].Journal, o.Journal); diff != "" {
			return fmt.Errorf("%s(%s), commit %d is %s: the journal is not as undisturbed (-want +got):\n%s", a.p.name, a.p.input, a.c.at, a.c.how, diff)
		}
		mu.Lock()
		defer mu.Unlock()
		if o.Died {
			died++
		}
		return nil
	})
	s.t.Logf("%d of %d runs died", died, len(attempts))
	if died < len(attempts)*9/10 { // how much of a run is one commit is a matter of time
		s.t.Errorf("%d of %d runs died as they should, want nearly all", died, len(attempts))
	}
}

// frozen runs each program on a host that writes a checkpoint when a run is suspended, goes on from it, and compares that with a
// replay.
func (s *stage) frozen(calm map[string]outcome) {
	s.t.Helper()
	for name, o := range s.undisturbed() {
		if diff := cmp.Diff(calm[name].Journal, o.Journal); diff != "" {
			s.t.Errorf("%s: the journal is not as undisturbed (-want +got):\n%s", name, diff)
		}
	}
	if c := s.host.Checkpoints(); c.Written == 0 || c.Thawed == 0 || c.Verified == 0 || c.Different != 0 {
		s.t.Errorf("got %+v, want checkpoints that were written, gone on from, and like their replays", c)
	}
}

// together does n things at once, some at a time, and fails the test with what went wrong.
func (s *stage) together(n int, do func(i int) error) {
	s.t.Helper()
	const atOnce = 8
	var wg sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range n {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := do(i); err != nil {
				s.t.Error(err)
			}
		})
	}
	wg.Wait()
}
