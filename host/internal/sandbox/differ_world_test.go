package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"reprise/abi"
)

// scriptWorld answers whatever a guest asks as its seed says, on a clock of its own: a simulation in which the next
// thing to happen is what is due first. Two guests that ask the same are answered the same.
type scriptWorld struct {
	entry Entry
	rng   *rand.Rand
	said  *transcript

	time      int64 // nanoseconds since the start
	progress  int64
	waits     int
	ops       []*scriptOp // by handle-1
	ready     []int32     // for the completion descriptor
	cancelAt  int64
	cancelled bool
}

// scriptOp is a request and what will come of it.
type scriptOp struct {
	due     int64
	status  abi.Status // once due
	payload []byte
	done    bool // visible
	taken   bool
	dropped bool
}

const (
	never = math.MaxInt64
	// mostWaits ends a guest that would wait for ever.
	mostWaits = 2_000
)

// errScriptEnds stops a guest that waits for what never comes.
var errScriptEnds = errors.New("the script has ended")

func newScriptWorld(e Entry, seed uint64, said *transcript) *scriptWorld {
	w := &scriptWorld{entry: e, rng: rand.New(rand.NewPCG(seed, 7)), said: said, cancelAt: never}
	if seed%3 == 2 { // every third script cancels its guest
		w.cancelAt = w.rng.Int64N(2_000_000_000)
	}
	return w
}

func (w *scriptWorld) Entry() Entry    { return w.entry }
func (w *scriptWorld) Progress() int64 { return w.progress }
func (w *scriptWorld) Replays() bool   { return false }

func (w *scriptWorld) Start(r Request) (int32, error) {
	w.said.line("start %d %q %s %s %d", r.Kind, r.Name, short(r.Input), short(r.Options), r.After)
	o := &scriptOp{status: abi.OK, due: w.time + 1 + w.rng.Int64N(1_000_000_000)}
	switch {
	case r.Kind == OpTimer:
		o.due = w.time + r.After
	case r.Name == "never" || r.Name == "test.hang":
		o.due = never
	case r.Kind == OpSignal:
		o.payload = fmt.Appendf(nil, `"%s %d"`, r.Name, w.rng.IntN(10))
	case r.Name == "test.fail":
		o.status, o.payload = abi.Failed, r.Input
	case r.Name == "http.request":
		o.payload = fmt.Appendf(nil, `{"status":%d,"headers":{"x-answer":"tea"},"body":"{\"id\":\"b%d\",\"booking\":\"c%d\"}"}`,
			[]int{200, 200, 200, 200, 503}[w.rng.IntN(5)], w.rng.IntN(100), len(w.ops))
	case w.rng.IntN(12) == 0:
		o.status, o.payload = abi.Failed, []byte(`{"code":"scripted","message":"the script says so","retryable":true}`)
	default:
		o.payload = r.Input
	}
	w.ops = append(w.ops, o)
	return int32(len(w.ops)), nil
}

func (w *scriptWorld) op(function string, h int32) (*scriptOp, error) {
	if h < 1 || int(h) > len(w.ops) || w.ops[h-1].dropped {
		return nil, &Misuse{Function: function, Reason: fmt.Sprintf("handle %d is unknown", h)}
	}
	return w.ops[h-1], nil
}

// step makes the next thing of the set visible that is due before the deadline; h is 0 when it is the deadline's turn.
func (w *scriptWorld) step(in func(h int32) bool, deadline int64) (h int32, happened bool, err error) {
	if w.waits++; w.waits > mostWaits {
		return 0, false, errScriptEnds
	}
	at := int64(never)
	if !w.cancelled && w.cancelAt < never && in(abi.CancelHandle) {
		h, at, happened = abi.CancelHandle, max(w.cancelAt, w.time), true
	}
	for i, o := range w.ops {
		if candidate := int32(i + 1); !o.done && o.due < at && in(candidate) {
			h, at, happened = candidate, o.due, true
		}
	}
	if deadline < at {
		h, at, happened = 0, deadline, false
	}
	if at == never {
		return 0, false, errScriptEnds
	}
	w.progress++
	w.time = max(w.time, at)
	if happened {
		w.settle(h)
	}
	return h, happened, nil
}

func (w *scriptWorld) settle(h int32) {
	w.ready = append(w.ready, h)
	if h == abi.CancelHandle {
		w.cancelled = true
		return
	}
	w.ops[h-1].done = true
}

func (w *scriptWorld) deadline(timeout int64) int64 {
	if timeout < 0 {
		return never
	}
	return w.time + timeout
}

func (w *scriptWorld) Wait(handles []int32, timeout int64, most int) ([]int32, error) {
	w.said.line("wait %v %d %d", handles, timeout, most)
	for _, h := range handles {
		if h != abi.CancelHandle {
			if _, err := w.op("wait", h); err != nil {
				return nil, err
			}
		}
	}
	if done := w.done(handles, most); len(done) > 0 || timeout == 0 {
		return done, nil
	}
	if _, _, err := w.step(func(h int32) bool { return slices.Contains(handles, h) }, w.deadline(timeout)); err != nil {
		return nil, err
	}
	return w.done(handles, most), nil
}

func (w *scriptWorld) done(handles []int32, most int) (done []int32) {
	for _, h := range handles {
		if len(done) == most {
			break
		}
		if h == abi.CancelHandle && w.cancelled || h != abi.CancelHandle && w.ops[h-1].done {
			w.forget(h)
			done = append(done, h)
		}
	}
	return done
}

// forget takes a handle off the list of the completion descriptor: the guest knows of it.
func (w *scriptWorld) forget(h int32) {
	w.ready = slices.DeleteFunc(w.ready, func(r int32) bool { return r == h })
}

func (w *scriptWorld) Poll(p Poll) (completion, timedOut bool, err error) {
	w.said.line("poll %d %t", p.Timeout, p.Completions)
	_, happened, err := w.step(func(int32) bool { return p.Completions }, w.deadline(p.Timeout))
	return happened, !happened, err
}

func (w *scriptWorld) Completed() bool { return len(w.ready) > 0 }

func (w *scriptWorld) Take() (int32, bool) {
	if len(w.ready) == 0 {
		return 0, false
	}
	h := w.ready[0]
	w.ready = w.ready[1:]
	return h, true
}

func (w *scriptWorld) Status(h int32) (abi.Status, error) {
	o, err := w.op("status", h)
	if err != nil || !o.done {
		return abi.Pending, err
	}
	return o.status, nil
}

func (w *scriptWorld) Result(h int32) ([]byte, error) {
	o, err := w.op("result", h)
	if err == nil && !o.done {
		err = &Misuse{Function: "result", Reason: fmt.Sprintf("handle %d is pending", h)}
	}
	if err != nil {
		return nil, err
	}
	return o.payload, nil
}

func (w *scriptWorld) Cancel(h int32) error {
	o, err := w.op("cancel", h)
	if err == nil && !o.done {
		o.status, o.payload = abi.Cancelled, nil
		w.settle(h)
	}
	return err
}

func (w *scriptWorld) Drop(h int32) error {
	o, err := w.op("drop", h)
	if err == nil {
		o.done, o.dropped = true, true
		w.forget(h)
	}
	return err
}

func (w *scriptWorld) CancelHandle() int32 { return abi.CancelHandle }
func (w *scriptWorld) Now() int64          { return 1_700_000_000_000_000_000 + w.time }
func (w *scriptWorld) Monotonic() int64    { return 1_000_000_000 + w.time }

func (w *scriptWorld) Random(p []byte) {
	for i := range p {
		if i%8 == 0 {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], w.rng.Uint64())
			copy(p[i:], word[:])
		}
	}
}

func (w *scriptWorld) Log(level int32, source, line string) {
	w.said.line("log %d %s %s", level, source, short([]byte(line)))
}

func (w *scriptWorld) Publish(key string, value []byte) error {
	w.said.line("publish %q %s", key, short(value))
	return nil
}
