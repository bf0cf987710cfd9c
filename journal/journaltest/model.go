package journaltest

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/journal"
)

// model is the contract on plain values: what a store would be if nothing were concurrent, large or
// ever lost. Times are steps of the model's clock; rank breaks ties in the order of events.
type model struct {
	now   time.Duration
	rank  int
	runs  []*modelRun
	nodes map[string]*modelNode
}

type modelNode struct {
	name    string
	expires time.Duration
	ended   bool
}

type modelRun struct {
	journal.Run
	entries []journal.Entry
	inbox   []modelArrival
	mail    int64          // position of the newest arrival from outside
	release *journal.Batch // that gave up the lease of the present token
	cp      journal.Checkpoint
	due     due
	timer   bool // due is a timer
	ended   time.Duration
	gone    bool // removed
}

type modelArrival struct {
	journal.Arrival
	open bool
}

// due orders runs that may be claimed.
type due struct {
	at   time.Duration
	rank int
}

func (d due) compare(o due) int {
	if d.at != o.at {
		return int(d.at/time.Minute) - int(o.at/time.Minute)
	}
	return d.rank - o.rank
}

func (m *model) dueIn(d time.Duration) due {
	m.rank++
	return due{m.now + d, m.rank}
}

func (m *model) live(node string) bool {
	n := m.nodes[node]
	return n != nil && !n.ended && n.expires > m.now
}

func (m *model) owns(node string) bool {
	return slices.ContainsFunc(m.runs, func(r *modelRun) bool { return r.State == journal.Running && r.Owner == node })
}

func (m *model) create(r journal.Run) (*modelRun, bool, error) {
	for _, o := range m.runs {
		if !o.gone && o.Tenant == r.Tenant && r.IdempotencyKey != "" && o.IdempotencyKey == r.IdempotencyKey {
			if o.Workflow == r.Workflow && o.Entry == r.Entry && o.Key == r.Key && string(o.Input) == string(r.Input) {
				return o, false, nil
			}
			return o, false, journal.ErrConflict
		}
	}
	for _, o := range m.runs {
		if o.Tenant == r.Tenant && r.Key != "" && o.Key == r.Key && !o.State.Terminal() {
			return o, false, journal.ErrConflict
		}
	}
	r.State = journal.Ready
	n := &modelRun{Run: r, due: m.dueIn(0)}
	m.runs = append(m.runs, n)
	return n, true, nil
}

func (r *modelRun) arrival(id string) *modelArrival {
	for i := range r.inbox {
		if r.inbox[i].ID == id {
			return &r.inbox[i]
		}
	}
	return nil
}

// arrive is what signal and cancel have in common.
func (m *model) arrive(r *modelRun, a journal.Arrival) {
	r.InboxPos++
	r.mail = r.InboxPos
	a.Pos = r.InboxPos
	r.inbox = append(r.inbox, modelArrival{a, true})
	if r.State == journal.Waiting {
		r.State, r.due, r.timer = journal.Ready, m.dueIn(0), false
	}
}

func (m *model) signal(r *modelRun, id, name string, payload []byte) (duplicate bool, err error) {
	if r.gone {
		return false, journal.ErrNotFound
	}
	if a := r.arrival("signal:" + id); a != nil {
		if a.Name == name && string(a.Payload) == string(payload) {
			return true, nil
		}
		return false, journal.ErrConflict
	}
	if r.State.Terminal() {
		return false, journal.ErrState
	}
	m.arrive(r, journal.Arrival{ID: "signal:" + id, Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: name, Payload: payload})
	return false, nil
}

func (m *model) cancel(r *modelRun, reason string) error {
	switch {
	case r.gone:
		return journal.ErrNotFound
	case r.State.Terminal():
		if !r.CancelRequested {
			return journal.ErrState
		}
	case r.State == journal.Blocked || r.State == journal.Paused || r.State == journal.Ready && r.NextSeq == 0:
		r.State, r.CancelRequested, r.ended = journal.Cancelled, true, m.now
		r.keep(journal.Checkpoint{})
		r.Failure = abi.NewFailure(abi.CodeCancelled, "%s", reason).Encode()
		m.endBound(r)
		m.tellParent(r)
	case !r.CancelRequested:
		r.CancelRequested = true
		m.arrive(r, journal.Arrival{ID: "cancel", Kind: journal.ArrivalCancel, Op: journal.NoOp, Payload: []byte(reason)})
	}
	return nil
}

// prune removes what ended longer ago than it is kept.
func (m *model) prune(keep journal.Retention) {
	for _, r := range m.runs {
		if d := keep.Of(r.State); d > 0 && r.ended+d <= m.now {
			r.gone = true
		}
	}
}

func (m *model) deleteRun(r *modelRun) error {
	switch {
	case r.gone:
		return journal.ErrNotFound
	case !r.State.Terminal():
		return journal.ErrState
	}
	r.gone = true
	return nil
}

func (m *model) resume(r *modelRun) error {
	if r.gone {
		return journal.ErrNotFound
	}
	if r.State != journal.Blocked && r.State != journal.Paused {
		return journal.ErrState
	}
	r.State, r.Attempts, r.due = journal.Ready, 0, m.dueIn(0)
	return nil
}

// hold ends every registration and pauses every run that would move on by itself.
func (m *model) hold() {
	for _, n := range m.nodes {
		n.ended = true
	}
	for _, r := range m.runs {
		if r.State == journal.Ready || r.State == journal.Running || r.State == journal.Waiting {
			r.State, r.Owner, r.timer, r.release = journal.Paused, "", false, nil
			r.Token += journal.HoldTokens
		}
	}
}

// claimable lists the runs that a claim may give, oldest due first, and says whether a take-over is
// among them; the order of those is a store's own.
func (m *model) claimable() (rs []*modelRun, takeover bool) {
	for _, r := range m.runs {
		switch {
		case r.State == journal.Running && !m.live(r.Owner):
			takeover = true
			rs = append(rs, r)
		case r.State == journal.Ready, r.State == journal.Waiting && r.timer && r.due.at <= m.now:
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b *modelRun) int { return a.due.compare(b.due) })
	return rs, takeover
}

// share picks from runs in order of due time what a claim gives: one by one to the tenant that has the fewest.
func share(due []*modelRun, w journal.Want) (given []*modelRun) {
	has := maps.Clone(w.Held)
	left := slices.Clone(due)
	for len(given) < w.Limit {
		best := -1
		for i, r := range left {
			if (w.PerTenant == 0 || has[r.Tenant] < w.PerTenant) && (best < 0 || has[r.Tenant] < has[left[best].Tenant]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		has[left[best].Tenant]++
		given = append(given, left[best])
		left = slices.Delete(left, best, best+1)
	}
	slices.SortFunc(given, func(a, b *modelRun) int { return a.due.compare(b.due) })
	return given
}

// claim gives r to a node and returns whom it was taken from.
func (m *model) claim(r *modelRun, node string) (stolenFrom string) {
	stolenFrom = r.Owner
	r.State, r.Owner, r.release, r.timer = journal.Running, node, nil, false
	r.Token++
	r.Attempts++
	return stolenFrom
}

func (m *model) commit(r *modelRun, l journal.Lease, b journal.Batch) (journal.State, error) {
	if r.gone {
		return "", journal.ErrFenced
	}
	if r.State != journal.Running || r.Owner != l.Node || r.Token != l.Token || !m.live(l.Node) {
		if r.State != journal.Running && r.Token == l.Token && r.release != nil && cmp.Equal(*r.release, noted(b), equal) {
			return r.State, nil
		}
		return "", journal.ErrFenced
	}
	if n := len(b.Entries); n > 0 && b.Entries[0].Seq != r.NextSeq {
		if b.Next == nil && r.recorded(b.Entries) {
			return r.State, nil
		}
		return "", journal.ErrConflict
	}
	for _, e := range b.Entries {
		e.Token = l.Token
		r.entries = append(r.entries, e)
		r.NextSeq++
	}
	for _, a := range b.Stash {
		r.stash(a)
	}
	for _, id := range b.Observed {
		if a := r.arrival(id); a != nil {
			a.open = false
		}
	}
	if b.Checkpoint != nil {
		r.keep(*b.Checkpoint)
	}
	if b.Next != nil {
		m.release(r, *b.Next)
		defer m.link(r, b)
		b = noted(b)
		r.release = &b
	} else {
		m.link(r, b)
	}
	return r.State, nil
}

// noted is what a repeat is recognised by.
func noted(b journal.Batch) journal.Batch {
	b.Checkpoint = nil
	return b
}

func (r *modelRun) keep(c journal.Checkpoint) { r.cp, r.CheckpointSeq = c, c.Seq }

// recorded says whether entries are there under the run's token.
func (r *modelRun) recorded(es []journal.Entry) bool {
	for _, e := range es {
		if e.Seq < 0 || e.Seq >= r.NextSeq || !r.entries[e.Seq].Same(e) || r.entries[e.Seq].Token != r.Token {
			return false
		}
	}
	return true
}

func (r *modelRun) stash(a journal.Arrival) {
	old := r.arrival(a.ID)
	if old != nil && (!old.open || old.Kind == a.Kind && string(old.Payload) == string(a.Payload) && old.Attempt == a.Attempt) {
		return
	}
	r.InboxPos++
	a.Pos = r.InboxPos
	r.inbox = slices.DeleteFunc(r.inbox, func(o modelArrival) bool { return o.ID == a.ID })
	r.inbox = append(r.inbox, modelArrival{a, true})
}

func (m *model) release(r *modelRun, next journal.Transition) {
	r.State, r.Owner, r.ended = next.State, "", m.now
	if !next.KeepAttempts {
		r.Attempts = 0
	}
	if next.State == journal.Waiting && r.mail > next.SeenPos {
		r.State = journal.Ready
	}
	switch r.State {
	case journal.Ready:
		r.due = m.dueIn(0)
	case journal.Waiting:
		if r.timer = !next.WakeAt.IsZero(); r.timer {
			r.due = m.dueIn(modelTimer)
		}
	}
	if r.State.Terminal() {
		r.keep(journal.Checkpoint{})
	}
	r.Output, r.Failure = next.Output, next.Failure
}

// sameError says whether two errors lead a caller to the same decision.
func sameError(got, want error) bool {
	if want == nil {
		return got == nil
	}
	return errors.Is(got, want)
}
