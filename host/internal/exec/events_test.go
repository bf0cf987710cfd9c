package exec

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// event is one thing that happens.
func (s *simulation) event(kind, arg byte) {
	switch kind {
	case 0, 1, 2:
		s.answer(int(arg), nil)
	case 3:
		s.answer(int(arg), abi.NewFailure("odd", "try again"))
	case 4:
		s.answer(int(arg), abi.NewFailure("bad", "never again").Terminal())
	case 5:
		s.answer(int(arg), errors.New("the handler is broken"))
	case 6, 7:
		s.signal(fmt.Sprintf("s%d", arg%2))
	case 8:
		if arg%3 == 0 && !s.row().State.Terminal() {
			s.note("cancel")
			s.store.arrive(journal.Arrival{ID: "cancel", Kind: journal.ArrivalCancel, Op: journal.NoOp, Payload: []byte("why")})
		}
	case 9:
		s.mail()
	case 10:
		s.evict()
	case 11:
		time.Sleep(time.Duration(arg+1) * 15 * time.Millisecond)
	case 12:
		s.end(arg)
	case 13:
		s.crash(arg)
	case 14:
		s.breakCommits(arg)
	case 15:
		s.signalAtCommit(fmt.Sprintf("s%d", arg%2))
	}
}

// evict asks for the memory of the turn's guest.
func (s *simulation) evict() {
	if s.turn == nil {
		return
	}
	s.turn.mu.Lock()
	rec := s.turn.rec
	s.turn.mu.Unlock()
	if rec != nil && rec.x != nil {
		s.note("evict")
		rec.x.Evict()
	}
}

func (s *simulation) signal(name string) {
	if s.row().State.Terminal() {
		return
	}
	s.store.arrive(s.accepted(name))
}

// accepted is a signal that a store acknowledges.
func (s *simulation) accepted(name string) journal.Arrival {
	s.mu.Lock()
	payload := fmt.Sprintf("%s-%d", name, len(s.signals[name]))
	s.signals[name] = append(s.signals[name], payload)
	s.mu.Unlock()
	s.note("signal %s", payload)
	return signal(payload, name, payload)
}

// signalAtCommit makes a signal arrive when the turn is about to write.
func (s *simulation) signalAtCommit(name string) {
	s.note("a signal comes at the next commit")
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.onCommit = func(int) (before, after error) {
		s.store.onCommit = nil
		if !s.store.run.State.Terminal() {
			s.store.accept(s.accepted(name))
		}
		return nil, nil
	}
}

// end drains the turn, or aborts it as a node does that may not go on.
func (s *simulation) end(arg byte) {
	if s.turn == nil {
		return
	}
	if arg%2 == 0 {
		s.note("drain")
		s.turn.Drain()
		return
	}
	s.note("abort")
	s.cancel()
}

// crash gives the run to the next claim while the old turn still believes that it owns it. With an odd arg the old
// one is dead, else it goes on until it finds out.
func (s *simulation) crash(arg byte) {
	if s.turn == nil {
		return
	}
	s.note("crash")
	s.forget()
	s.store.mu.Lock()
	if s.store.run.State == journal.Running {
		s.store.run.State, s.store.run.Owner = journal.Ready, ""
		s.store.run.Token++
	}
	s.store.mu.Unlock()
	if s.turn = nil; arg%2 == 0 {
		s.stale = append(s.stale, staleTurn{s.cancel, s.ended})
		return
	}
	s.cancel()
	<-s.ended
	synctest.Wait()
}

var errStoreDown = errors.New("connection reset")

// breakCommits makes the next commits fail: not written, or written with the answer lost.
func (s *simulation) breakCommits(arg byte) {
	left := int(arg%4) + 1
	if arg >= 12 {
		left = persistTries + 1
	}
	s.note("the next %d commits fail, written %v", left, arg%2 == 0)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.onCommit = func(int) (before, after error) {
		if left--; left < 0 {
			return nil, nil
		}
		if arg%2 == 0 {
			return nil, errStoreDown
		}
		return errStoreDown, nil
	}
}
