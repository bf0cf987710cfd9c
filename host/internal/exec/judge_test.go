package exec

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing/synctest"

	"reprise/journal"
)

// judge checks a run that has come to rest: its journal says what the world did, it replays, and it
// resumes from each of its prefixes.
func (s *simulation) judge() error {
	if c := s.turner.Counts(); c.Different > 0 || len(c.Fallbacks) > 0 {
		return fmt.Errorf("checkpoints: %+v", c)
	}
	for _, check := range []func() error{s.judgeSignals, s.judgeOutcomes, s.judgeInbox, s.judgePublished, s.judgeReplay, s.judgePrefixes} {
		if err := check(); err != nil {
			return err
		}
	}
	return s.err()
}

// judgeSignals: each signal once, in order of arrival by name, none left out.
func (s *simulation) judgeSignals() error {
	seen := map[string][]string{}
	for _, e := range s.store.entries {
		if e.Kind == journal.KindSignal {
			seen[e.Name] = append(seen[e.Name], string(e.Payload))
		}
	}
	for name, got := range seen {
		if want := s.signals[name]; len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			return fmt.Errorf("signal %s: got %q, want the first of %q", name, got, want)
		}
	}
	return nil
}

// judgeOutcomes: each handle completes once, a timer not before it is due.
func (s *simulation) judgeOutcomes() error {
	done := map[int32]bool{}
	for _, e := range s.store.entries {
		if e.Op == journal.NoOp {
			continue
		}
		if done[e.Op] {
			return fmt.Errorf("handle %d completed twice", e.Op)
		}
		done[e.Op] = true
		if e.Kind == journal.KindTimer && string(dueText(e.At)) < string(e.Request) {
			return fmt.Errorf("timer %d due at %s fired at %s", e.Op, e.Request, dueText(e.At))
		}
	}
	return nil
}

// judgeInbox: what an entry shows is not in the inbox any more.
func (s *simulation) judgeInbox() error {
	for _, e := range s.store.entries {
		for _, a := range s.store.inbox {
			if a.Op == e.Op && a.Op > 0 {
				return fmt.Errorf("entry %d shows handle %d, and the inbox still has %s", e.Seq, e.Op, a.ID)
			}
		}
	}
	return nil
}

// judgePublished: readers see what the guest that ended has published last.
func (s *simulation) judgePublished() error {
	if s.row().State == journal.Completed && !maps.Equal(s.shown, s.store.pub) {
		return fmt.Errorf("published: got %v, want %v", s.store.pub, s.shown)
	}
	return nil
}

func (s *simulation) judgeReplay() error {
	r := s.row()
	rep, err := s.turner.Replay(context.Background(), r, r.Digest)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if rep.Mismatch != nil {
		return fmt.Errorf("replay: %s", rep.Mismatch.Error())
	}
	want := "live"
	if r.State.Terminal() {
		want = string(r.State)
	}
	if rep.Ending != want || rep.Entries != r.NextSeq {
		return fmt.Errorf("replay: got %s after %d entries, want %s after %d", rep.Ending, rep.Entries, want, r.NextSeq)
	}
	return nil
}

// judgePrefixes: a journal that ends after any entry is carried on, and what it has stays.
func (s *simulation) judgePrefixes() error {
	all, row := s.store.entries, s.row()
	for n := range all {
		code, _ := s.turner.load(context.Background(), "", "")
		o := newSimulation(code.(played).script)
		o.auto = true
		o.store.entries = slices.Clone(all[:n])
		o.store.run.NextSeq, o.store.run.Token = int64(n), row.Token
		err := o.finish()
		for i := range n {
			if err == nil && !o.store.entries[i].Same(all[i]) {
				err = fmt.Errorf("entry %d has changed", i)
			}
		}
		o.stop()
		synctest.Wait()
		if err != nil {
			return fmt.Errorf("from the first %d entries: %w\n%s", n, err, o.story())
		}
	}
	return nil
}
