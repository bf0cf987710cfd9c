package exec

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// op is one request of the guest and what is visible of its outcome.
type op struct {
	handle   int32
	kind     journal.Kind
	name     string
	request  []byte
	options  []byte
	opts     abi.Options
	issuedAt time.Time // the guest's time
	due      time.Time // of a timer

	status  abi.Status
	payload []byte
	taken   bool // the guest has been told, by wait or by the descriptor

	// Live state, unknown to the guest.
	launched bool      // an attempt is in flight
	attempts int       // failed attempts so far
	retryAt  time.Time // when the next attempt is due; zero for now
	stashed  bool      // the inbox has a row for it
	done     bool      // the outcome has arrived, though it may not be visible
}

func (o *op) pending() bool { return o.status == abi.Pending }

// size is what the handle holds in bytes: its request while it is pending, its outcome until it is dropped.
func (o *op) size() int64 {
	return int64(len(o.name)) + int64(len(o.request)) + int64(len(o.options)) + int64(len(o.payload))
}

// fits says whether the handles may hold o's outcome beside what they hold now and extra bytes more.
func (m *machine) fits(o *op, payload []byte, extra int64) bool {
	return m.held-int64(len(o.request))-int64(len(o.options))+int64(len(payload))+extra <= m.limits.PendingBytes
}

// machine is the deterministic part of an execution: what a guest has asked and seen. It changes only
// by the guest's calls and by the entries applied to it, so the same calls and the same entries always give the
// same machine.
type machine struct {
	ops     []*op   // by handle-1; nil when dropped
	waiting []*op   // pending ops in order of handles, and some that no longer are
	open    int     // pending ops
	ready   []int32 // completions for the descriptor, in order; taken ones are skipped
	trimAt  int     // length of ready at which the taken ones are left out
	issued  int32
	trail   uint64
	started time.Time
	now     time.Time
	random  *rand.ChaCha8

	cancelAware bool
	cancelled   bool // the run's cancellation is visible
	cancelTaken bool
	published   map[string]int64 // bytes of key and value

	limits         abi.Limits
	held           int64 // bytes of all handles, see op.size
	publishedBytes int64
	logged         int64 // bytes of log lines so far
	unlogged       int64 // lines that came after the limit
}

// newMachine seeds the guest's generator from the run's id. ChaCha8 is specified to the byte, so that a
// replay on any later version draws the same numbers.
func newMachine(seed []byte) *machine {
	return &machine{random: rand.NewChaCha8(sha256.Sum256(seed)), published: map[string]int64{}, limits: abi.DefaultLimits()}
}

// mark folds what the guest did into the trail.
func (m *machine) mark(kind string, parts ...[]byte) {
	h := sha256.New()
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], m.trail)
	h.Write(word[:])
	h.Write([]byte(kind))
	for _, p := range parts {
		binary.LittleEndian.PutUint64(word[:], uint64(len(p)))
		h.Write(word[:])
		h.Write(p)
	}
	var sum [sha256.Size]byte
	m.trail = binary.LittleEndian.Uint64(h.Sum(sum[:0]))
}

// add takes a request and gives its handle.
func (m *machine) add(o *op) int32 {
	m.issued++
	o.handle = m.issued
	o.issuedAt = m.now
	m.ops = append(m.ops, o)
	if m.waiting = append(m.waiting, o); len(m.waiting) > 2*m.open+slack {
		m.pendingOps()
	}
	m.open++
	m.held += o.size()
	m.mark(string(o.kind), []byte(o.name), o.request, o.options)
	return o.handle
}

// pendingOps lists the pending ops in order of handles.
func (m *machine) pendingOps() []*op {
	if len(m.waiting) > m.open {
		m.waiting = slices.DeleteFunc(m.waiting, func(o *op) bool { return !o.pending() })
	}
	return m.waiting
}

// get finds a handle that the guest may use.
func (m *machine) get(h int32) *op {
	if h < 1 || int(h) > len(m.ops) {
		return nil
	}
	return m.ops[h-1]
}

// drop forgets a handle that is done.
func (m *machine) drop(h int32) {
	m.held -= m.ops[h-1].size()
	m.ops[h-1] = nil
}

// publish takes what a value makes of the published bytes; false, and nothing changes, when that is too much.
func (m *machine) publish(key string, value []byte) bool {
	size := int64(len(key)) + int64(len(value))
	grown := m.publishedBytes - m.published[key] + size
	if grown > m.limits.PublishedBytes {
		return false
	}
	m.published[key], m.publishedBytes = size, grown
	return true
}

// logs takes a line and says whether it is within the limit; once one is not, none is. first is true for that one.
func (m *machine) logs(line string) (ok, first bool) {
	size := int64(len(line)) + 1 // its newline
	if m.unlogged == 0 && m.logged+size <= m.limits.LogBytes {
		m.logged += size
		return true, false
	}
	m.unlogged++
	return false, m.unlogged == 1
}

// slack is how many handles of no more use are kept before they are cleared away.
const slack = 1024

// settle makes an outcome visible. What was asked is compared before and not needed any more.
func (m *machine) settle(o *op, s abi.Status, payload []byte) {
	m.held -= o.size()
	o.status, o.payload = s, payload
	o.request, o.options = nil, nil
	m.held += o.size()
	m.open--
	if m.ready = append(m.ready, o.handle); len(m.ready) > m.trimAt+slack {
		m.ready = slices.DeleteFunc(m.ready, func(h int32) bool { return !m.untaken(h) })
		m.trimAt = 2 * len(m.ready)
	}
}

// untaken says whether the descriptor is to tell of a completed handle.
func (m *machine) untaken(h int32) bool {
	if h == abi.CancelHandle {
		return !m.cancelTaken
	}
	o := m.get(h)
	return o != nil && !o.taken
}

// take gives the next completion for the descriptor.
func (m *machine) take() (int32, bool) {
	if !m.completed() {
		return 0, false
	}
	h := m.ready[0]
	m.ready = m.ready[1:]
	if h == abi.CancelHandle {
		m.cancelTaken = true
	} else {
		m.get(h).taken = true
	}
	return h, true
}

// completed says whether take has something; it drops what was taken through the other door.
func (m *machine) completed() bool {
	for len(m.ready) > 0 && !m.untaken(m.ready[0]) {
		m.ready = m.ready[1:]
	}
	return len(m.ready) > 0
}

// advance moves the guest's time; it never goes back.
func (m *machine) advance(at time.Time) {
	if at.After(m.now) {
		m.now = at
	}
}

// apply makes an entry visible to the guest and returns the handle that it completes.
func (m *machine) apply(e journal.Entry) int32 {
	m.advance(e.At)
	switch e.Kind {
	case journal.KindCancel:
		m.cancelled = true
		m.ready = append(m.ready, abi.CancelHandle)
		return abi.CancelHandle
	case journal.KindEffect, journal.KindActivity, journal.KindChild, journal.KindTimer, journal.KindSignal:
		o := m.get(e.Op)
		m.settle(o, e.Status, e.Payload)
		return e.Op
	}
	return journal.NoOp
}

// due rounds a due time up to the microseconds that stores keep, so that it is never early.
func due(t time.Time) time.Time {
	if r := t.Truncate(time.Microsecond); !r.Equal(t) {
		return r.Add(time.Microsecond)
	}
	return t
}

// dueText is a due time as the request of an entry: a JSON string, so that journals read well.
func dueText(t time.Time) []byte {
	return t.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`)
}
