package attack

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"time"

	"reprise/abi"
	"reprise/journal"
)

// contractAttacks break the rules of the contract itself.
func contractAttacks() []attack {
	return []attack{
		{number: 67, what: "exports named malloc and the like that would call the host again: never called, for the host calls no guest code from a host call; so there is no re-entry to refuse", run: allocators},
		{number: 68, what: "allocators that answer 0, odd or outside memory: never called, and nothing is written where they point", run: allocators},
		{number: 69, what: "a request or a wait in the start section or _initialize: a failure abi_misuse, nothing is sent", run: earlyRequests},
		{number: 70, what: "proc_exit with 0, 1, 2^32-1 and 0xefffffff: completed for 0, else failed with code exit; never cancelled or timed out", run: exits},
		{number: 72, what: "times that are negative, huge or no number: clamped to 0 and 100 years, or a failure invalid_options", run: oddTimes},
		{number: 73, what: "the same request twice, and handles that were never given or are dropped: two handles that are two requests, and a failure abi_misuse", run: handles},
	}
}

func allocators(v *victim) {
	m := own("allocators")
	v.pushed(ann, "allocators", m)
	run := v.run("allocators", []byte("the input"))
	v.completes("allocators", run)
	// Its output is how often an allocator was called, one byte, and then what it was given.
	if got, want := string(run.Output), "\x00the input[x]"; got != want {
		v.errorf("got output %q, want %q: no allocator is called", got, want)
	}
	entries, err := v.host.Journal(context.Background(), ann, run.ID, 0, 100)
	v.check("read the journal", err)
	if len(entries) != 3 {
		v.errorf("got %d entries, want 3: an allocator asks for another effect", len(entries))
	}
}

func earlyRequests(v *victim) {
	for _, name := range []string{"early_start", "early_initialize"} {
		v.pushed(ann, name, own(name))
		for input, what := range map[string]string{"e": "effect", "a": "activity", "t": "timer", "s": "signal", "w": "wait", "p": "poll_oneoff"} {
			run := v.run(name, []byte(input))
			v.fails(name+", "+what, run, abi.CodeMisuse)
			if !strings.Contains(string(run.Failure), what) {
				v.errorf("%s: the failure says %s, want %s in it", name, run.Failure, what)
			}
			if run.NextSeq != 2 {
				v.errorf("%s, %s: got %d entries, want 2", name, what, run.NextSeq)
			}
		}
	}
}

func exits(v *victim) {
	for _, status := range []uint32{0, 1, 3, 137, 0x7fffffff, 0x80000000, 0xefffffff, 0xffffffff} {
		var p program
		p.do("output", programAt, 8)
		p.do("proc_exit", status)
		run := v.play(&p)
		if status == 0 {
			v.completes("exit 0", run)
			continue
		}
		v.fails("exit", run, abi.CodeExit)
		v.replays("exit", run)
	}
}

func oddTimes(v *victim) {
	// Those that count as 0 fire at once.
	var p program
	for _, after := range []int64{-1, math.MinInt64, 0} {
		p.await(p.do("timer", after))
	}
	p.report()
	v.completes("timers of negative time", v.play(&p))
	// Those that are too long wait for 100 years.
	const century = 100 * 365 * 24 * time.Hour
	for what, use := range map[string]func(p *program){
		"timer": func(p *program) { p.await(p.do("timer", int64(math.MaxInt64))) },
		"wait": func(p *program) {
			p.do("move", scratch, int(p.do("signal", first(p.bring([]byte("s"))), 1)))
			p.do("wait", scratch, 1, int64(math.MaxInt64), scratch, 1)
		},
		"sleep of 2^63":      func(p *program) { sleep(p, 0, 1<<63, false) },
		"sleep of 2^64-1":    func(p *program) { sleep(p, 1, math.MaxUint64, false) },
		"sleep until 2^64-1": func(p *program) { sleep(p, 0, math.MaxUint64, true) },
	} {
		var p program
		use(&p)
		id := v.begins(ann, &p)
		run := v.until(ann, id, journal.Waiting)
		if off := run.WakeAt.Sub(run.CreatedAt) - century; off < -time.Hour || off > time.Hour {
			v.errorf("%s: wakes at %s, want in 100 years", what, run.WakeAt)
		}
		_, err := v.host.Cancel(context.Background(), ann, id, "")
		v.check("cancel", err)
		if run := v.end(ann, id); run.State != journal.Cancelled {
			v.errorf("%s: got %s (%s), want cancelled", what, run.State, run.Reason)
		}
	}
	for _, options := range []string{`{"timeout_ms":-1}`, `{"timeout_ms":NaN}`, `{"timeout_ms":1e400}`, `{"timeout_ms":9223372036854775808}`, `{"timeout_ms":9223372036854775807}`,
		`{"timeout_ms":1.5}`, `{"total_timeout_ms":-5}`, `{"retry":{"attempts":-1}}`, `{"retry":{"attempts":2147483648}}`, `{"retry":{"backoff_ms":-1}}`,
		`{"retry":{"factor":-2}}`, `{"retry":{"factor":1e308}}`, `{"retry":{"factor":0.5}}`, `{"retry":{"max_backoff_ms":9223372036854775807}}`, `[`, `null x`, `{"unknown":1}`} {
		var p program
		h := p.effect("test.step", "x", options)
		p.await(h)
		p.do("fail", scratch, p.do("result", h, scratch, 0x10000))
		v.fails("options "+options, v.play(&p), abi.CodeOptions)
	}
}

// sleep is a poll_oneoff with one clock.
func sleep(p *program, clock int, nanoseconds uint64, until bool) {
	s := make([]byte, 48)
	binary.LittleEndian.PutUint32(s[16:], uint32(clock))
	binary.LittleEndian.PutUint64(s[24:], nanoseconds)
	if until {
		s[40] = 1
	}
	at, _ := p.bring(s)
	p.do("poll_oneoff", at, scratch, 1, scratch+64)
}

func handles(v *victim) {
	var p program
	one := p.effect("test.step", "same", "")
	two := p.effect("test.step", "same", "")
	t1, t2 := p.do("timer", 1), p.do("timer", 1)
	s1 := p.do("signal", first(p.bring([]byte("s"))), 1)
	for _, h := range []result{one, two, t1, t2} {
		p.await(h)
	}
	p.do("drop", s1)
	p.report()
	run := v.play(&p)
	v.completes("the same requests twice", run)
	for i, h := range []result{one, two, t1, t2, s1} {
		if got := h.value(run.Output); got != int64(i+1) {
			v.errorf("got handle %d, want %d: dense from 1", got, i+1)
		}
	}
	entries, err := v.host.Journal(context.Background(), ann, run.ID, 0, 100)
	v.check("read the journal", err)
	if len(entries) != 6 {
		v.errorf("got %d entries, want 6: two effects and two timers", len(entries))
	}
	for _, call := range []string{"status", "cancel", "drop", "result", "wait"} {
		for what, h := range map[string]any{"never given": 2, "0": 0, "negative": uint32(math.MaxUint32), "the largest": math.MaxInt32, "dropped": nil} {
			if h == 0 && (call == "status" || call == "wait" || call == "result") {
				continue // the run's own cancellation
			}
			var p program
			timer := p.do("timer", int64(math.MaxInt64))
			if h == nil {
				p.do("drop", timer)
				h = timer
			}
			args := []any{h}
			switch call {
			case "result":
				args = []any{h, scratch, 64}
			case "wait":
				p.do("store", scratch, 0)
				if r, ok := h.(result); ok {
					p.do("move", scratch, int(r))
				} else {
					p.do("store", scratch, h)
				}
				args = []any{scratch, 1, 0, scratch + 64, 1}
			}
			p.do(call, args...)
			v.fails(call+" of a handle that is "+what, v.play(&p), abi.CodeMisuse)
		}
	}
}
