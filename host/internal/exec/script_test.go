package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"reprise/abi"
	"reprise/host/internal/sandbox"
	"reprise/modules"
)

// script is a guest in Go: it acts on its World as the sandbox would, one instruction of three bytes
// after the other. What it observes goes into a hash that is part of its requests, decides branches and is
// its output, so that a replay which shows anything else takes another way.
type script []byte

func (s script) Prepared() *modules.Prepared { return &modules.Prepared{Shape: modules.Command} }

// stopped unwinds a script whose World said stop.
type stopped struct{ cause error }

func (s script) Run(_ context.Context, w sandbox.World, _ string) sandbox.Ending {
	return s.play(newScripted(w))
}

func newScripted(w sandbox.World) *guest {
	return &guest{World: w, seen: map[int32]abi.Status{}, shown: map[string]string{}}
}

func (s script) play(g *guest) (end sandbox.Ending) {
	code := s
	if g.Entry().Kind == abi.EntryActivity {
		code = activityScript
	}
	code = code[g.at:]
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			end = sandbox.Ending{Cause: p.cause}
			if g.at = len(s) - len(code); errors.Is(p.cause, sandbox.ErrFreeze) {
				end.Frozen = g.freeze()
			}
		default:
			panic(p)
		}
	}()
	for ; len(code) >= 3; code = code[3:] {
		if code[0]%opCount == opSkip {
			if g.hash%2 == 1 && len(code) >= 6 {
				code = code[3:]
			}
			continue
		}
		g.step(code[0], code[1], code[2])
		g.unchanged()
	}
	if status, _ := g.Status(abi.CancelHandle); status == abi.OK {
		return sandbox.Ending{Failure: abi.NewFailure(abi.CodeCancelled, "%x", g.hash)}
	}
	return sandbox.Ending{Output: fmt.Appendf(nil, "%x", g.hash)}
}

// The instructions of a script.
const (
	opEffect = iota
	opTimer
	opSignal
	opActivity
	opWait
	opPoll
	opTake
	opCancel
	opDrop
	opAware
	opPublish
	opSleep
	opSkip
	opCount
)

// activityScript asks for an effect, waits for it beside a timer, and for the effect alone.
var activityScript = script{opEffect, 0, 0, opTimer, 1, 0, opWait, 0xff, 2, opPoll, 0, 0, opTake, 0, 0}

// scriptOptions are what effects are asked with.
var scriptOptions = []string{
	"",
	`{"retry":{"attempts":3,"backoff_ms":40}}`,
	`{"retry":{"attempts":2,"backoff_ms":200},"total_timeout_ms":150}`,
	`{"timeout_ms":30}`,
}

type guest struct {
	sandbox.World
	at      int // the instruction, of one that was thawed
	hash    uint64
	handles []int32 // that were not dropped
	seen    map[int32]abi.Status
	aware   bool
	shown   map[string]string // published
}

func (g *guest) mix(words ...any) {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, g.hash)
	fmt.Fprint(h, words...)
	g.hash = h.Sum64()
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

func (g *guest) step(op, a, b byte) {
	switch op % opCount {
	case opEffect, opActivity:
		r := sandbox.Request{Kind: sandbox.OpEffect, Name: fmt.Sprintf("test.%c", 'a'+a%2), Input: fmt.Appendf(nil, "%x", uint16(g.hash)),
			Options: []byte(scriptOptions[int(b)%len(scriptOptions)])}
		if op%opCount == opActivity {
			r.Kind, r.Name = sandbox.OpActivity, "act"
		}
		g.start(r)
	case opTimer:
		g.start(sandbox.Request{Kind: sandbox.OpTimer, After: int64(a%8) * 20e6})
	case opSignal:
		g.start(sandbox.Request{Kind: sandbox.OpSignal, Name: fmt.Sprintf("s%d", a%2)})
	case opWait:
		g.wait(a, []int64{-1, 0, 50e6, -1}[b%4])
	case opPoll:
		g.poll([]int64{-1, 0, 50e6, 150e6}[b%4])
	case opTake:
		g.takeAll()
	case opCancel:
		if h, ok := g.pick(a); ok {
			check(g.Cancel(h))
			if g.seen[h] == abi.Pending {
				g.seen[h] = abi.Cancelled
			}
		}
	case opDrop:
		if h, ok := g.pick(a); ok {
			check(g.Drop(h))
			g.handles = slices.DeleteFunc(g.handles, func(o int32) bool { return o == h })
			delete(g.seen, h)
		}
	case opAware:
		g.CancelHandle()
		g.aware = true
	case opPublish:
		key, value := fmt.Sprintf("k%d", a%2), fmt.Sprintf("%x", g.hash)
		g.shown[key] = value
		check(g.Publish(key, []byte(value)))
	case opSleep:
		_, late, err := g.Poll(sandbox.Poll{Timeout: 1 + int64(a%8)*20e6})
		check(err)
		g.mix("slept", late)
	}
}

func (g *guest) start(r sandbox.Request) {
	h := must(g.Start(r))
	g.handles = append(g.handles, h)
	g.seen[h] = abi.Pending
	g.look()
}

func (g *guest) pick(a byte) (int32, bool) {
	if len(g.handles) == 0 {
		return 0, false
	}
	return g.handles[int(a)%len(g.handles)], true
}

// wait waits for the handles that mask selects, and for the cancellation when the guest knows of it.
func (g *guest) wait(mask byte, timeout int64) {
	var set []int32
	for i, h := range g.handles {
		if mask>>(i%8)&1 == 1 && !(timeout < 0 && g.seen[h] != abi.Pending) {
			set = append(set, h)
		}
	}
	if g.aware && mask&1 == 1 {
		set = append(set, abi.CancelHandle)
	}
	g.mix("ready", must(g.Wait(set, timeout, 3)))
	g.look()
}

// poll does what poll_oneoff does for a subscription to the completion descriptor and a clock.
func (g *guest) poll(timeout int64) {
	if !g.Completed() && timeout != 0 {
		done, late, err := g.Poll(sandbox.Poll{Timeout: timeout, Completions: true})
		check(err)
		g.mix("poll", done, late)
	}
	g.takeAll()
	g.look()
}

func (g *guest) takeAll() {
	for {
		h, ok := g.Take()
		if !ok {
			return
		}
		g.mix("took", h)
	}
}

// look takes in what has become visible. One wait shows one outcome at most.
func (g *guest) look() {
	fresh := 0
	for _, h := range g.handles {
		s := must(g.Status(h))
		if g.seen[h] != abi.Pending {
			continue
		}
		if g.seen[h] = s; s != abi.Pending {
			fresh++
			g.mix("done", h, s, string(must(g.Result(h))))
		}
	}
	if fresh > 1 {
		panic(fmt.Sprintf("%d outcomes became visible at once", fresh))
	}
	var random [4]byte
	g.Random(random[:])
	g.mix(g.Now(), g.Monotonic(), random, must(g.Status(abi.CancelHandle)))
}

// unchanged checks that nothing becomes visible but by look.
func (g *guest) unchanged() {
	for _, h := range g.handles {
		if s := must(g.Status(h)); s != g.seen[h] {
			panic(fmt.Sprintf("handle %d turned from %s to %s outside a wait", h, g.seen[h], s))
		}
	}
}
