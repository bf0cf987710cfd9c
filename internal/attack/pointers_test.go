package attack

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"

	"reprise/abi"
	"reprise/journal"
)

// pointerAttacks give the host addresses and bytes that are not what they should be.
func pointerAttacks() []attack {
	return []attack{
		{number: 62, what: "addresses at 2^32-1, lengths of 4 GiB, sums that overflow, the last page: a failure abi_misuse, an errno of WASI, or the call as it was meant", run: wildPointers},
		{number: 63, what: "a buffer that is too small: the whole length is the answer, nothing is written", run: smallBuffers},
		{number: 64, what: "buffers for what goes in and what comes out that overlap: what went in was read before", run: overlaps},
		{number: 65, what: "memory that the guest changes after the call: the journal and the effect have the old bytes", run: changedAfterwards},
		{number: 66, what: "names and payloads that are not UTF-8, have NUL or lone surrogates, are empty or too long: kept as bytes, or a failure", run: oddBytes},
	}
}

// wildArea is a place in memory, and whether it is the guest's.
type wildArea struct {
	what    string
	ptr, n  uint32
	outside bool
}

var wildAreas = []wildArea{
	{"the last address", math.MaxUint32, 1, true},
	{"behind the end", memoryEnd, 1, true},
	{"over the end", memoryEnd - 1, 2, true},
	{"a sum that overflows", math.MaxUint32 - 1, 4, true},
	{"4 GiB from 0", 0, math.MaxUint32, true},
	{"2 GiB", 0x80000000, 16, true},
	{"the last byte", memoryEnd - 1, 1, false},
	{"nothing at the end", memoryEnd, 0, false},
}

func wildPointers(v *victim) {
	v.pushed(ann, "calls", own("calls"))
	for _, a := range wildAreas {
		for what, arguments := range map[string][]any{
			"input": {a.ptr, a.n}, "entry": {a.ptr, a.n}, "info": {a.ptr, a.n}, "output": {a.ptr, a.n}, "fail": {a.ptr, a.n},
			"random": {a.ptr, a.n}, "log": {1, a.ptr, a.n},
			"effect": {a.ptr, a.n, 0, 0, 0, 0}, "activity": {a.ptr, a.n, 0, 0, 0, 0}, "signal": {a.ptr, a.n},
			"asset": {a.ptr, a.n, 0, 0}, "publish": {a.ptr, a.n, 0, 0},
		} {
			var p program
			p.do("fill", memoryEnd-1, 'x', 1)
			p.do(what, arguments...)
			if what != "fail" && what != "output" {
				p.report()
			}
			v.wild(what+", "+a.what, v.run("calls", p.input()), a, what)
		}
		v.wildRequest(a)
		v.wildDevice(a)
	}
}

// wild checks the end of a run that gave the host an area.
func (v *victim) wild(what string, run journal.Run, a wildArea, function string) {
	named := function == "effect" || function == "activity" || function == "signal" || function == "asset" || function == "publish"
	cut := function == "log" && a.ptr == 0 // to what a line may have, before it is read
	switch {
	case a.outside && !cut, named && a.n == 0:
		v.fails(what, run, abi.CodeMisuse)
	case function == "fail":
		v.fails(what, run, abi.CodeFailed)
	default:
		v.completes(what, run)
	}
}

// wildRequest gives an area as the input of an effect, as its options, and for handles.
func (v *victim) wildRequest(a wildArea) {
	const name = 0x300000
	for what, use := range map[string]func(p *program){
		"input of an effect":   func(p *program) { p.do("effect", name, 4, a.ptr, a.n, 0, 0) },
		"options of an effect": func(p *program) { p.do("effect", name, 4, 0, 0, a.ptr, a.n) },
		"a published value":    func(p *program) { p.do("publish", name, 4, a.ptr, a.n) },
		"handles":              func(p *program) { p.do("wait", a.ptr, a.n, 0, scratch, 1) },
		"ready handles":        func(p *program) { p.do("wait", scratch, 1, 0, a.ptr, a.n) },
	} {
		var p program
		p.do("fill", name, 'n', 4)
		p.do("store", scratch, 0)
		use(&p)
		p.report()
		run := v.run("calls", p.input())
		refusedLater := strings.Contains(what, "effect") && a.n > abi.MaxPayload // a handle that has failed
		cut := what == "ready handles" && a.ptr == 0                             // to as many as there can be
		switch {
		case refusedLater, cut:
			v.completes(what+", "+a.what, run)
		case a.outside, strings.Contains(what, "handles"): // one byte is no handle, and none is no wait
			if what == "handles" && a.n == 0 {
				v.completes(what+", "+a.what, run) // looks at nothing
				continue
			}
			v.fails(what+", "+a.what, run, abi.CodeMisuse)
		default:
			v.completes(what+", "+a.what, run)
		}
	}
}

// wildDevice gives an area to the functions of WASI, which answer with an errno.
func (v *victim) wildDevice(a wildArea) {
	const fault, success = 21, 0
	var p program
	p.do("store", scratch, uint64(a.ptr)|uint64(a.n)<<32) // one buffer: address and length
	got := map[string]result{
		"fd_write, buffer":           p.do("fd_write", 1, scratch, 1, scratch+64),
		"fd_read, buffer":            p.do("fd_read", 0, scratch, 1, scratch+64),
		"fd_write, list of buffers":  p.do("fd_write", 1, a.ptr, 1, scratch+64),
		"fd_write, count":            p.do("fd_write", 1, scratch+128, 0, a.ptr),
		"random_get":                 p.do("random_get", a.ptr, a.n),
		"clock_time_get":             p.do("clock_time_get", 0, 1, a.ptr),
		"args_get":                   p.do("args_get", a.ptr, scratch+256),
		"fd_fdstat_get":              p.do("fd_fdstat_get", 1, a.ptr),
		"poll_oneoff, subscriptions": p.do("poll_oneoff", a.ptr, scratch+512, 1, scratch+64),
	}
	p.report()
	run := v.run("calls", p.input())
	v.completes("WASI, "+a.what, run)
	for what, r := range got {
		errno := r.value(run.Output)
		outside := a.outside
		switch what {
		case "fd_write, buffer", "fd_read, buffer", "random_get":
		default: // they take more than one byte from a.ptr on
			outside = uint64(a.ptr)+4 > memoryEnd
		}
		if outside && errno != fault || !outside && errno != success {
			v.errorf("%s, %s: got errno %d, want %d for an area outside, %d otherwise", what, a.what, errno, fault, success)
		}
	}
}

func smallBuffers(v *victim) {
	var p program
	h := p.effect("test.step", "0123456789", "")
	p.await(h)
	const at = 0x300000
	p.do("fill", at, 0xee, 64)
	length := p.do("result", h, at, 11)
	untouched := p.do("move", scratch+8, at)
	p.do("move", programAt+0x4000, at)
	asked := p.do("result", h, 0, 0)
	exact := p.do("result", h, at, 12)
	p.do("move", programAt+0x4008, at)
	info := p.do("info", at+32, 1)
	p.do("move", programAt+0x4010, at+32)
	p.report()
	out := v.plays("small buffers", &p)
	_ = untouched
	if a, b, c := length.value(out), asked.value(out), exact.value(out); a != 12 || b != 12 || c != 12 {
		v.errorf("got lengths %d, %d, %d, want 12", a, b, c)
	}
	if info.value(out) < 20 {
		v.errorf("got %d bytes of info, want its whole length", info.value(out))
	}
	untouchedBytes := bytes.Repeat([]byte{0xee}, 8)
	if got := out[0x4000:0x4008]; !bytes.Equal(got, untouchedBytes) {
		v.errorf("a buffer that is too small has % x, want it untouched", got)
	}
	if got := out[0x4008:0x4010]; string(got) != "[0123456" {
		v.errorf("a buffer that is large enough has %q", got)
	}
	if got := out[0x4010:0x4018]; !bytes.Equal(got, untouchedBytes) {
		v.errorf("a buffer too small for info has % x, want it untouched", got)
	}
}

func overlaps(v *victim) {
	const at = 0x300000
	var p program
	// Name, input and options are the same bytes: "test.step" is no options object, so only the first two.
	p.do("copy", at, first(p.bring([]byte("test.step"))), 9)
	h := p.do("effect", at, 9, at, 9, 0, 0)
	// The handle to wait for and the ready one are the same word.
	p.do("move", at, int(h))
	ready := p.do("wait", at, 1, -1, at, 1)
	p.do("move", programAt+0x4000, at)
	// The result goes where the request was.
	n := p.do("result", h, at, 64)
	p.do("move", programAt+0x4008, at)
	// Random bytes over the words of a buffer list that describes them.
	p.do("store", at, uint64(at)|8<<32)
	errno := p.do("fd_read", 0, at, 1, at+4)
	p.report()
	out := v.plays("overlaps", &p)
	if ready.value(out) != 1 || out[0x4000] != 1 {
		v.errorf("got %d ready handles, the first %d; want handle 1", ready.value(out), out[0x4000])
	}
	if got := string(out[0x4008:0x4010]); got != "[test.st" || n.value(out) != 11 {
		v.errorf("got a result of %d bytes, %q; want [test.step]", n.value(out), got)
	}
	if errno.value(out) != 0 {
		v.errorf("got errno %d of a read over its own buffer list, want 0", errno.value(out))
	}
}

func first(at, _ int) int { return at }

func changedAfterwards(v *victim) {
	const at = 0x300000
	var p program
	p.do("copy", at, first(p.bring([]byte("test.step"))), 9)
	p.do("fill", at+16, 'a', 5)
	h := p.do("effect", at, 9, at+16, 5, 0, 0)
	p.do("publish", at, 9, at+16, 5)
	p.do("fill", at, 'Z', 64) // before the effect leaves
	p.await(h)
	n := p.do("result", h, at, 64)
	p.do("output", at, n)
	p.do("fill", at, 'Z', 64)
	run := v.play(&p)
	if got, want := string(run.Output), "[aaaaa]"; got != want {
		v.errorf("got output %q (%s), want %q", got, run.Reason, want)
	}
	entries, err := v.host.Journal(context.Background(), ann, run.ID, 0, 10)
	v.check("read the journal", err)
	if len(entries) != 3 || entries[1].Name != "test.step" || string(entries[1].Request) != "aaaaa" || string(entries[1].Payload) != "[aaaaa]" {
		v.errorf("got the entries %+v, want the bytes of the time of the call", entries)
	}
	view, err := v.host.Run(context.Background(), ann, run.ID)
	v.check("read the run", err)
	if len(view.Published) != 1 || view.Published[0].Key != "test.step" || string(view.Published[0].Value) != "aaaaa" {
		v.errorf("got published %+v, want the bytes of the time of the call", view.Published)
	}
	v.replays("changed afterwards", run)
}

func oddBytes(v *victim) {
	// Names are text.
	for what, name := range map[string]string{"not UTF-8": "a\xff", "NUL": "a\x00b", "lone surrogate": "\xed\xa0\x80", "empty": "", "256 bytes": strings.Repeat("n", 256)} {
		for _, call := range []string{"effect", "activity", "signal", "publish", "asset"} {
			var p program
			n, nl := p.bring([]byte(name))
			args := map[string][]any{"effect": {n, nl, 0, 0, 0, 0}, "activity": {n, nl, 0, 0, 0, 0}, "signal": {n, nl}, "publish": {n, nl, 0, 0}, "asset": {n, nl, 0, 0}}
			p.do(call, args[call]...)
			v.fails(fmt.Sprintf("%s with a name that is %s", call, what), v.play(&p), abi.CodeMisuse)
		}
	}
	// Payloads are bytes.
	for what, payload := range map[string]string{
		"not UTF-8": "\xff\xfe\x80", "NUL": "\x00\x00", "lone surrogate": "\"\xed\xa0\x80\"", "escaped surrogate": `"\ud800"`, "2^53+1": "9007199254740993",
		"NaN": "NaN", "empty": "", "keys in order and twice": `{"b":1,"a":2,"b":3}`, "line breaks": "\r\n\u2028", "white space": " 1 ",
	} {
		var p program
		h := p.effect("test.step", payload, "")
		p.await(h)
		p.do("output", scratch, p.do("result", h, scratch, 0x10000))
		run := v.play(&p)
		if got, want := string(run.Output), "["+payload+"]"; got != want {
			v.errorf("%s: got %q (%s), want %q", what, got, run.Reason, want)
		}
		v.replays(what, run)
	}
	v.largePayloads()
}

// largePayloads goes to the limits and a byte beyond.
func (v *victim) largePayloads() {
	for what, tt := range map[string]struct {
		input, options int
		code           string
	}{
		"the largest payload":   {abi.MaxPayload - 2, 0, ""}, // the effect adds two bytes
		"a byte more":           {abi.MaxPayload + 1, 0, abi.CodePayloadLarge},
		"an outcome too large":  {abi.MaxPayload, 0, abi.CodePayloadLarge},
		"options too large":     {1, abi.MaxOptions + 1, abi.CodePayloadLarge},
		"options that are none": {1, abi.MaxOptions, abi.CodeOptions},
	} {
		var p program
		name, nl := p.bring([]byte("test.step"))
		h := p.do("effect", name, nl, scratch, tt.input, scratch, tt.options)
		p.await(h)
		n := p.do("result", h, scratch, abi.MaxPayload)
		if tt.code == "" {
			p.do("output", scratch, n)
			if run := v.play(&p); len(run.Output) != abi.MaxPayload {
				v.errorf("%s: got %s with %d bytes (%s)", what, run.State, len(run.Output), run.Reason)
			}
			continue
		}
		p.do("fail", scratch, n)
		v.fails(what, v.play(&p), tt.code)
	}
	for _, call := range []string{"output", "fail"} {
		var p program
		p.do(call, scratch, abi.MaxPayload+1)
		v.fails(call+" too large", v.play(&p), abi.CodeMisuse)
	}
	var p program
	p.do("log", 1, scratch, memoryEnd-scratch) // cut, not refused
	p.do("log", uint32(math.MaxUint32), scratch, 5)
	p.report()
	v.completes("a log line of megabytes", v.play(&p))
}
