package exec

import (
	"slices"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// waitSet is what a guest waits for.
type waitSet struct {
	handles  []int32 // explicit handles; ignored when all is set
	all      bool    // every pending handle: the completion descriptor
	cancel   bool    // the run's cancellation
	deadline time.Time
	timed    bool // deadline is set
	look     bool // do not wait
}

// has says whether a pending op belongs to the set.
func (s waitSet) has(o *op) bool {
	return o != nil && o.pending() && (s.all || slices.Contains(s.handles, o.handle))
}

// pending calls f for each pending op of the set, in order of handles, until f says stop.
func (s waitSet) pending(m *machine, f func(o *op) (more bool)) {
	if !s.all {
		for _, h := range s.handles {
			if o := m.get(h); o != nil && o.pending() && !f(o) {
				return
			}
		}
		return
	}
	for _, o := range m.pendingOps() {
		if !f(o) {
			return
		}
	}
}

// hopeless says that nothing can ever end this wait.
func (s waitSet) hopeless(m *machine) bool {
	if s.timed || s.look || s.cancel && !m.cancelled {
		return false
	}
	any := false
	s.pending(m, func(*op) bool { any = true; return false })
	return !any
}

// describe says what a suspended run waits for, for people.
func (s waitSet) describe(m *machine) string {
	text, count := "", 0
	s.pending(m, func(o *op) bool {
		count++
		if count <= 3 {
			if text != "" {
				text += ", "
			}
			text += string(o.kind)
			switch o.kind {
			case journal.KindTimer:
				text += " " + forPeople(o.due)
			default:
				text += " " + o.name
			}
		}
		return true
	})
	if count > 3 {
		text += ", ..."
	}
	if s.timed {
		if text != "" {
			text += " or "
		}
		text += "until " + forPeople(s.deadline)
	}
	if text == "" && s.cancel {
		text = "cancellation"
	}
	return text
}

// nextTimer returns the timer of the set, or the deadline, that is due first; o is nil for the deadline.
func (s waitSet) nextTimer(m *machine) (o *op, at time.Time, ok bool) {
	if s.timed {
		at, ok = s.deadline, true
	}
	s.pending(m, func(t *op) bool {
		if t.kind == journal.KindTimer && (!ok || t.due.Before(at)) {
			o, at, ok = t, t.due, true
		}
		return true
	})
	return o, at, ok
}

// done returns the handles of an explicit set that are visible already, at most max.
func (s waitSet) doneHandles(m *machine, max int) []int32 {
	var out []int32
	for _, h := range s.handles {
		if len(out) == max {
			break
		}
		if h == abi.CancelHandle {
			if m.cancelled {
				m.cancelTaken = true
				out = append(out, h)
			}
			continue
		}
		if o := m.get(h); o != nil && !o.pending() {
			o.taken = true
			out = append(out, h)
		}
	}
	return out
}

func forPeople(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
