package sandbox

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"reprise/abi"
)

// hourglass is a world in which time passes only when a guest waits, and effects are answered one at a time, the oldest
// first. What a guest asks of it is its trace.
type hourglass struct {
	entry   Entry
	now     time.Duration
	ops     []*sand // by handle less one
	ready   []int32
	seen    int64
	random  *rand.ChaCha8
	trace   []string
	waits   int
	freezes func(wait int) bool // whether to be frozen at a wait, before it is answered
	frozen  bool                // it has been, at this wait
	echoes  bool                // what is asked is the answer
}

type sand struct {
	input    string
	done     bool
	taken    bool
	answered []byte
}

func newHourglass(entry Entry, freezes func(int) bool) *hourglass {
	return &hourglass{entry: entry, random: rand.NewChaCha8(sha256.Sum256([]byte("hourglass"))), freezes: freezes}
}

func (w *hourglass) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *hourglass) Entry() Entry    { return w.entry }
func (w *hourglass) Progress() int64 { return w.seen }
func (w *hourglass) Replays() bool   { return false }

func (w *hourglass) Start(r Request) (int32, error) {
	w.ops = append(w.ops, &sand{input: string(r.Input)})
	w.note("start %s %s %s", r.Name, r.Input, r.Options)
	return int32(len(w.ops)), nil
}

// freeze says once a wait that the guest is to be frozen.
func (w *hourglass) freeze() error {
	if !w.frozen && w.freezes(w.waits) {
		w.frozen = true
		return fmt.Errorf("wait %d: %w", w.waits, ErrFreeze)
	}
	w.frozen = false
	w.waits++
	w.seen++
	return nil
}

// next answers the oldest request of those, or of all.
func (w *hourglass) next(of []int32) (int32, bool) {
	for i, o := range w.ops {
		if h := int32(i + 1); o != nil && !o.done && (of == nil || slices.Contains(of, h)) {
			o.done, o.answered = true, fmt.Appendf(nil, "%q", fmt.Sprint("answer to ", o.input, " at ", w.now))
			if w.echoes {
				o.answered = []byte(o.input)
			}
			w.now += time.Millisecond
			return h, true
		}
	}
	return 0, false
}

func (w *hourglass) Wait(handles []int32, timeout int64, _ int) ([]int32, error) {
	if err := w.freeze(); err != nil {
		return nil, err
	}
	w.note("wait %v %d", handles, timeout)
	if h, ok := w.next(append([]int32{}, handles...)); ok {
		w.ops[h-1].taken = true
		return []int32{h}, nil
	}
	w.now += time.Duration(timeout)
	return nil, nil
}

func (w *hourglass) Poll(p Poll) (completion, timedOut bool, err error) {
	if err := w.freeze(); err != nil {
		return false, false, err
	}
	w.note("poll %d %v", p.Timeout, p.Completions)
	if p.Completions {
		if h, ok := w.next(nil); ok {
			w.ready = append(w.ready, h)
			return true, false, nil
		}
	}
	if p.Timeout < 0 {
		return false, false, fmt.Errorf("the guest waits for nothing")
	}
	w.now += time.Duration(p.Timeout)
	return false, true, nil
}

func (w *hourglass) Completed() bool { return len(w.ready) > 0 }

func (w *hourglass) Take() (int32, bool) {
	if len(w.ready) == 0 {
		return 0, false
	}
	h := w.ready[0]
	w.ready = w.ready[1:]
	w.note("take %d", h)
	return h, true
}

// op finds a request, as a world must.
func (w *hourglass) op(h int32) (*sand, error) {
	if h < 1 || int(h) > len(w.ops) || w.ops[h-1] == nil {
		return nil, &Misuse{Function: "test", Reason: fmt.Sprintf("handle %d", h)}
	}
	return w.ops[h-1], nil
}

func (w *hourglass) Status(h int32) (abi.Status, error) {
	o, err := w.op(h)
	if err != nil {
		return 0, err
	}
	if o.done {
		return abi.OK, nil
	}
	return abi.Pending, nil
}

func (w *hourglass) Result(h int32) ([]byte, error) {
	w.note("result %d", h)
	o, err := w.op(h)
	if err != nil {
		return nil, err
	}
	return o.answered, nil
}

func (w *hourglass) Cancel(h int32) error {
	w.note("cancel %d", h)
	o, err := w.op(h)
	if err == nil {
		o.done = true
	}
	return err
}

func (w *hourglass) Drop(h int32) error {
	w.note("drop %d", h)
	_, err := w.op(h)
	if err == nil {
		w.ops[h-1] = nil
	}
	return err
}

func (w *hourglass) CancelHandle() int32 { return abi.CancelHandle }
func (w *hourglass) Now() int64          { return 1_700_000_000_000_000_000 + int64(w.now) }
func (w *hourglass) Monotonic() int64    { return monotonicStart + int64(w.now) }

func (w *hourglass) Random(p []byte) {
	_, _ = w.random.Read(p)
	w.note("random %x", p)
}

func (w *hourglass) Log(level int32, source, line string) {
	w.note("log %d %s %s", level, source, line)
}
func (w *hourglass) Publish(key string, value []byte) error {
	w.note("publish %s %s", key, value)
	return nil
}
