package journaltest

import (
	"fmt"
	"slices"

	"reprise/abi"
	"reprise/journal"
)

// link is what a batch changes of other runs.
func (m *model) link(r *modelRun, b journal.Batch) {
	for _, c := range b.Children {
		if m.byRunID(c.ID) == nil {
			c.Parent, c.Depth = r.ID, r.Depth+1
			m.follow(r, c)
		}
	}
	if b.Next != nil && b.Next.Successor != nil {
		s := *b.Next.Successor
		s.Parent, s.ParentOp, s.Depth, s.Abandoned = r.Parent, r.ParentOp, r.Depth, r.Abandoned
		m.succeed(r, m.follow(r, s))
	}
	for _, id := range b.Cancels {
		m.cancelChild(id)
	}
	if b.Next != nil && b.Next.Parent && r.State.Terminal() {
		m.tellParent(r)
	}
}

func (m *model) byRunID(id journal.RunID) *modelRun {
	i := slices.IndexFunc(m.runs, func(r *modelRun) bool { return r.ID == id && !r.gone })
	if i < 0 {
		return nil
	}
	return m.runs[i]
}

func (m *model) follow(from *modelRun, r journal.Run) *modelRun {
	r.Tenant, r.State = from.Tenant, journal.Ready
	n := &modelRun{Run: r, due: m.dueIn(0)}
	m.runs = append(m.runs, n)
	return n
}

// succeed hands on what waits in r's inbox.
func (m *model) succeed(r, next *modelRun) {
	r.Successor = next.ID
	for _, a := range r.inbox {
		if a.open && a.Kind == journal.ArrivalSignal {
			m.arrive(next, a.Arrival)
		}
	}
	if a := r.arrival("cancel"); a != nil && a.open {
		_ = m.cancel(next, string(a.Payload))
	}
}

// cancelChild asks a run to end, or who goes on for it; one that has ended or is gone is left alone.
func (m *model) cancelChild(id journal.RunID) {
	r := m.byRunID(id)
	for r != nil && r.State == journal.Continued {
		r = m.byRunID(r.Successor)
	}
	if r != nil {
		_ = m.cancel(r, "its parent has ended, or has given it up")
	}
}

// bound is the open child that ends with r, of which there is at most one.
func (m *model) bound(r *modelRun) *modelRun {
	for _, c := range m.runs {
		if !c.gone && c.Parent == r.ID && !c.Abandoned && !c.State.Terminal() {
			return c
		}
	}
	return nil
}

func (m *model) endBound(r *modelRun) {
	if c := m.bound(r); c != nil {
		_ = m.cancel(c, "its parent has ended, or has given it up")
	}
}

// tellParent makes of what stands for a child in its parent's inbox the child's end.
func (m *model) tellParent(r *modelRun) {
	p := m.byRunID(r.Parent)
	if r.Parent == (journal.RunID{}) || p == nil || p.State.Terminal() {
		return
	}
	id := fmt.Sprintf("op:%d", r.ParentOp)
	a := p.arrival(id)
	if a == nil || !a.open || a.Kind != journal.ArrivalChild {
		return
	}
	end := journal.Arrival{ID: id, Kind: journal.ArrivalDone, Op: r.ParentOp, Status: journal.Outcome(r.State), Payload: r.Output}
	if end.Status != abi.OK {
		end.Payload = r.Failure
	}
	p.inbox = slices.DeleteFunc(p.inbox, func(o modelArrival) bool { return o.ID == id })
	m.arrive(p, end)
}
