package sandbox

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"reprise/abi"
)

// Layout of poll_oneoff: a subscription has 48 bytes, an event 32.
const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 1024
)

// Kinds of subscription.
const (
	subClock = 0
	subRead  = 1
	subWrite = 2
)

type subscription struct {
	userdata uint64
	kind     byte
	fd       uint32
	due      int64 // time in nanoseconds until a clock is due; never negative
	errno    uint16
}

// subscription decodes one record. A relative and an absolute clock become the same: time from now.
func (in *instance) subscription(b []byte) subscription {
	s := subscription{userdata: binary.LittleEndian.Uint64(b), kind: b[8]}
	if s.kind != subClock {
		s.fd = binary.LittleEndian.Uint32(b[16:])
		return s
	}
	const absolute = 1
	now, ok := in.clock(binary.LittleEndian.Uint32(b[16:]))
	if !ok {
		s.errno = errnoInval
		return s
	}
	timeout := binary.LittleEndian.Uint64(b[24:])
	s.due = abi.MaxDuration
	if timeout < uint64(abi.MaxDuration) {
		s.due = int64(timeout)
	}
	if binary.LittleEndian.Uint16(b[40:])&absolute != 0 {
		s.due = abi.MaxDuration
		if timeout < 1<<62 {
			s.due = min(max(int64(timeout)-now, 0), abi.MaxDuration)
		}
	}
	return s
}

// pollOneoff is the other door of wait. It answers at once when it can without showing the guest
// anything new; else the world waits, and may suspend the run.
func pollOneoff(in *instance, m api.Module, st []uint64) uint16 {
	from, to, n, count := u32(st[0]), u32(st[1]), u32(st[2]), u32(st[3])
	if n == 0 || n > maxSubscriptions {
		return errnoInval
	}
	in.tollBytes(int(n) * subscriptionSize)
	view, ok := memory(m).Read(from, n*subscriptionSize)
	if !ok {
		return errnoFault
	}
	subs := make([]subscription, n)
	for i := range subs {
		subs[i] = in.subscription(view[i*subscriptionSize:])
	}
	events, p := in.immediate(subs)
	if len(events) == 0 {
		if !in.running {
			in.misuse("poll_oneoff", "waiting before the entry: initialisation may not sleep")
		}
		var completion, timedOut bool
		seen := in.outside(m, func() (err error) {
			completion, timedOut, err = in.world.Poll(p)
			return err
		})
		if !seen {
			return errnoSuccess
		}
		events = fired(subs, p, completion, timedOut)
	}
	for i, e := range events {
		if !memory(m).Write(to+uint32(i*eventSize), e[:]) {
			return errnoFault
		}
	}
	return put32(m, count, uint32(len(events)))
}

// immediate finds what is so already: bad descriptors, standard streams, completions that were made
// visible, clocks that are due. p is what is left to wait for.
func (in *instance) immediate(subs []subscription) (events [][eventSize]byte, p Poll) {
	p.Timeout = -1
	for _, s := range subs {
		switch {
		case s.errno != errnoSuccess:
			events = append(events, event(s, s.errno))
		case s.kind == subClock:
			if p.Timeout < 0 || s.due < p.Timeout {
				p.Timeout = s.due
			}
		case s.kind > subWrite:
			events = append(events, event(s, errnoInval))
		case s.fd > abi.CompletionFD:
			events = append(events, event(s, errnoBadf))
		case s.fd == abi.CompletionFD && s.kind == subRead:
			p.Completions = true
		default:
			events = append(events, event(s, errnoSuccess))
		}
	}
	if p.Completions && in.world.Completed() {
		events = append(events, fired(subs, p, true, false)...)
	}
	if len(events) > 0 {
		return events, p
	}
	if p.Timeout == 0 {
		return fired(subs, p, false, true), p
	}
	return nil, p
}

// fired makes the events of what the world reported.
func fired(subs []subscription, p Poll, completion, timedOut bool) (events [][eventSize]byte) {
	for _, s := range subs {
		if s.kind == subClock && timedOut && s.due <= p.Timeout || s.kind == subRead && s.fd == abi.CompletionFD && completion {
			events = append(events, event(s, errnoSuccess))
		}
	}
	return events
}

func event(s subscription, errno uint16) (e [eventSize]byte) {
	binary.LittleEndian.PutUint64(e[:], s.userdata)
	binary.LittleEndian.PutUint16(e[8:], errno)
	e[10] = s.kind
	if s.kind != subClock && errno == errnoSuccess {
		binary.LittleEndian.PutUint64(e[16:], 4)
	}
	return e
}
