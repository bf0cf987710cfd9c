package exec

import (
	"reprise/abi"
	"reprise/journal"
)

// cursor is where a replay stands in a journal. It is the source of what becomes visible until it is
// used up; then the recorder goes on.
type cursor struct {
	base    int64 // seq of the first of entries
	entries []journal.Entry
	pos     int
}

// seen is how many entries were consumed, those before the first included.
func (c *cursor) seen() int64 { return c.base + int64(c.pos) }

func (c *cursor) more() bool { return c.pos < len(c.entries) }

func (c *cursor) peek() journal.Entry { return c.entries[c.pos] }

// last returns the entry that was consumed last.
func (c *cursor) last() journal.Entry { return c.entries[c.pos-1] }

// before returns the last few entries that matched.
func (c *cursor) before() []journal.Entry { return c.entries[max(0, c.pos-2):c.pos] }

// next checks that the journal's next entry is one that this wait can show, asked for by the same
// request, and consumes it.
func (x *execution) replay(w waitSet) (journal.Entry, error) {
	e := x.cur.peek()
	if e.Kind == journal.KindCancelled && !x.m.cancelAware {
		return e, &endError{kind: e.Kind, payload: e.Payload}
	}
	if err := x.compare(e, w); err != nil {
		return e, err
	}
	x.cur.pos++
	return e, nil
}

func (x *execution) compare(e journal.Entry, w waitSet) error {
	waits := step{kind: "wait for", name: w.describe(x.m)}
	switch e.Kind {
	case journal.KindLook:
		if !w.look {
			return x.mismatch(e, waits, "")
		}
	case journal.KindSleep:
		got := step{kind: string(journal.KindSleep), request: dueText(w.deadline)}
		if !w.timed {
			return x.mismatch(e, waits, "")
		}
		if string(e.Request) != string(got.request) {
			return x.mismatch(e, got, "the due time")
		}
	case journal.KindCancel:
		if !w.cancel || x.m.cancelled {
			return x.mismatch(e, waits, "")
		}
	case journal.KindEffect, journal.KindActivity, journal.KindChild, journal.KindTimer, journal.KindSignal:
		if err := x.compareOp(e, w, waits); err != nil {
			return err
		}
	default:
		return x.mismatch(e, waits, "")
	}
	return x.compareTrail(e, step{kind: string(e.Kind), name: e.Name, request: e.Request})
}

func (x *execution) compareOp(e journal.Entry, w waitSet, waits step) error {
	o := x.m.get(e.Op)
	if o == nil {
		return x.mismatch(e, waits, "the module has not asked for this")
	}
	if o.kind != e.Kind || o.name != e.Name || differs(e, o) != "" {
		return x.mismatch(e, stepOfOp(o), differs(e, o))
	}
	if e.Status == abi.Pending || e.Status > abi.TimedOut {
		return x.mismatch(e, stepOfOp(o), "the journal's status is no outcome")
	}
	if !w.has(o) {
		return x.mismatch(e, waits, "the module does not wait for this here")
	}
	return nil
}

// compareTrail checks what was asked but has not completed.
func (x *execution) compareTrail(e journal.Entry, got step) error {
	switch {
	case e.Issued != x.m.issued:
		return x.mismatch(e, got, plural(e.Issued, x.m.issued))
	case e.Trail != x.m.trail:
		return x.mismatch(e, got, "a request, cancel or publish made before this point")
	}
	return nil
}

func (x *execution) mismatch(e journal.Entry, got step, detail string) error {
	return &NondeterminismError{Run: x.run.ID, Digest: x.digest, Name: x.run.Workflow, Seq: e.Seq, Turn: e.Token,
		Before: x.cur.before(), Want: stepOf(e), Got: got, Detail: detail}
}
