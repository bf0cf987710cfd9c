package soak

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host/api/wire"
)

// world is a program with the run and the ledger that it should come to.
type world struct {
	p      program
	e      ending
	booked map[string]*record
}

const testRun = "run_0123456789abcdef0123456789abcdef"

// newWorld is a program of an addition, a refused one, an activity, a timer, and two signals of one name, which has ended
// as it should.
func newWorld() *world {
	a := &assembler{ledger: "http://127.0.0.1:1", program: program{sure: true, state: "completed"}}
	a.await(awaitAll, endless, a.effect(op{add: &booking{"sure01", 7}}, "/add", patient, noSlot))
	a.await(awaitAll, endless, a.effect(op{add: &booking{"refused", 1}, fails: true}, "/refuse", "", noSlot))
	a.await(awaitAll, endless, a.activity(op{add: &booking{"sure02", 8}}, patient))
	timer := a.slot(op{kind: "timer"})
	a.emit(cmdTimer, timer, uint64(1e6))
	a.await(awaitAll, endless, timer)
	for _, amount := range []int64{5, 6} {
		a.signals = append(a.signals, signal{name: "go", amount: amount})
		slot := a.slot(op{kind: "signal", name: "go"})
		a.emit(cmdSignal, slot, "go")
		a.await(awaitAll, endless, slot)
	}
	a.await(awaitAll, endless, a.effect(op{add: &booking{"sure03", 6}}, "/add", patient, a.slotOf(6)))
	a.emit(cmdEnd)
	w := &world{p: a.program, booked: map[string]*record{}}
	sum := newChecksum()
	w.entry("started", -1, "", "ok", "", 0)
	for i, o := range w.p.ops {
		h := int32(i + 1)
		r := &record{requests: 1}
		status, payload := "ok", ""
		if o.add != nil {
			r.body = fmt.Sprintf("%s %08d %s%s", o.add.counter, o.add.amount, sum.text(), strings.Repeat("0", 16))
			w.booked[bookingKey(testRun, h, o)] = r
		}
		switch {
		case o.fails:
			status, payload = "failed", `{"code":"http_status"}`
		case o.kind == "effect":
			r.counter, r.amount, r.answer = o.add.counter, o.add.amount, fmt.Sprintf("answer %d", h)
			payload = fmt.Sprintf(`{"status":200,"body":"answer %d"}`, h)
		case o.kind == "activity":
			r.counter, r.amount, r.answer = o.add.counter, o.add.amount, "answer"
			payload = strings.Repeat("a", 16)
		case o.kind == "signal":
			payload = string(w.p.signals[i-4].payload())
		}
		w.entry(o.kind, h, o.name, status, payload, h)
		code, _ := abi.ParseStatus(status)
		sum.saw(h, byte(code), []byte(payload))
	}
	w.entry("completed", -1, "", "ok", "", int32(len(w.p.ops)))
	w.e.run = wire.Run{ID: testRun, State: "completed", NextSeq: int64(len(w.e.entries)), OutputBase64: []byte(sum.text() + strings.Repeat("0", 16))}
	return w
}

// slotOf is the slot of a handle in a program whose every slot is an op's.
func (a *assembler) slotOf(handle int) byte { return byte(handle - 1) }

func (w *world) entry(kind string, h int32, name, status, payload string, issued int32) {
	w.e.entries = append(w.e.entries, wire.Entry{Seq: int64(len(w.e.entries)), Kind: kind, Op: h, Name: name, Status: status,
		PayloadBase64: []byte(payload), Issued: issued, Token: 1, At: "2026-01-01T00:00:00.000000Z"})
	if json.Valid([]byte(payload)) {
		last := &w.e.entries[len(w.e.entries)-1]
		last.Payload, last.PayloadBase64 = json.RawMessage(payload), nil
	}
}

func (w *world) check() []finding {
	c := &checker{p: w.p, e: w.e, ledger: func(key string) (record, bool) {
		if r := w.booked[key]; r != nil {
			return *r, true
		}
		return record{}, false
	}}
	return c.check()
}

func (w *world) key(handle int32) string { return bookingKey(testRun, handle, w.p.ops[handle-1]) }

// TestCheckFinds breaks one thing at a time in a run that is as it should be.
func TestCheckFinds(t *testing.T) {
	if found := newWorld().check(); found != nil {
		t.Fatalf("a sound run: got %v, want nothing", found)
	}
	for name, c := range map[string]struct {
		breaks func(w *world)
		want   class
	}{
		"effect not booked":     {func(w *world) { w.booked[w.key(1)].answer = "" }, lost},
		"activity not booked":   {func(w *world) { delete(w.booked, w.key(3)) }, lost},
		"other amount":          {func(w *world) { w.booked[w.key(1)].amount = 70 }, wrong},
		"refused effect booked": {func(w *world) { w.booked[w.key(2)].answer = "x"; w.booked[w.key(2)].counter = "refused" }, wrong},
		"other answer":          {func(w *world) { w.booked[w.key(1)].answer = "another" }, duplicated},
		"other checksum sent":   {func(w *world) { w.booked[w.key(7)].body = "sure03 00000006 " + strings.Repeat("1", 32) }, duplicated},
		"other output":          {func(w *world) { w.e.run.OutputBase64[0] ^= 1 }, duplicated},
		"no output":             {func(w *world) { w.e.run.OutputBase64 = nil }, duplicated},
		"signals in the wrong order": {func(w *world) {
			a, b := &w.e.entries[5], &w.e.entries[6]
			a.PayloadBase64, b.PayloadBase64 = b.PayloadBase64, a.PayloadBase64
		}, duplicated},
		"signal seen twice":      {func(w *world) { w.e.entries[6].PayloadBase64 = w.e.entries[5].PayloadBase64 }, duplicated},
		"signal too many":        {func(w *world) { w.p.signals = w.p.signals[:1] }, duplicated},
		"signal lost":            {func(w *world) { w.p.signals = append(w.p.signals, signal{name: "go", amount: 9}) }, lost},
		"signal of another name": {func(w *world) { w.e.entries[5].Name = "gone" }, wrong},
		"handle seen twice":      {func(w *world) { w.e.entries[4].Op = 1 }, duplicated},
		"handle never seen":      {func(w *world) { w.p.ops = append(w.p.ops, op{kind: "timer"}) }, lost},
		"handle not asked for":   {func(w *world) { w.e.entries[4].Op = 99 }, wrong},
		"effect failed":          {func(w *world) { w.e.entries[1].Status = "failed" }, wrong},
		"gap":                    {func(w *world) { w.e.entries[3].Seq = 9 }, wrong},
		"entry gone":             {func(w *world) { w.e.entries = w.e.entries[:len(w.e.entries)-1] }, lost},
		"end in the middle":      {func(w *world) { w.e.entries[4].Kind = "completed" }, wrong},
		"token goes back":        {func(w *world) { w.e.entries[2].Token = 3 }, wrong},
		"time goes back":         {func(w *world) { w.e.entries[4].At = "2025-01-01T00:00:00.000000Z" }, wrong},
		"blocked":                {func(w *world) { w.e.run.State = "blocked" }, wrong},
		"failed": {func(w *world) {
			w.p.state, w.p.failure = "failed", "soak_failed"
			w.e.run.State = "failed"
			w.e.run.Failure = []byte(`{"code":"trap"}`)
		}, wrong},
		"cancellation never seen": {func(w *world) { w.p.cancelled = true }, lost},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.breaks(w)
			var got []class
			for _, f := range w.check() {
				if f.class == c.want {
					return
				}
				got = append(got, f.class)
			}
			t.Errorf("got findings %v, want one that is %s", got, c.want)
		})
	}
}

func TestProgramsRepeat(t *testing.T) {
	commands, ops, signals, states := 0, 0, 0, map[string]int{}
	for n := range 300 {
		p, again := generate(7, n, "http://127.0.0.1:1"), generate(7, n, "http://127.0.0.1:1")
		if string(p.code) != string(again.code) || len(p.signals) != len(again.signals) {
			t.Fatalf("program %d is another the second time", n)
		}
		if len(p.code) > 1<<16 || len(p.ops) >= noSlot {
			t.Errorf("program %d has %d bytes and %d requests: more than the interpreter has room for", n, len(p.code), len(p.ops))
		}
		commands, ops, signals = commands+p.commands, ops+len(p.ops), signals+len(p.signals)
		states[p.state]++
	}
	if commands < 300*10 || ops < 300*5 || signals < 300/2 || len(states) != 3 {
		t.Errorf("300 programs: got %d commands, %d requests, %d signals, ends %v; want more of each", commands, ops, signals, states)
	}
	if a, b := generate(7, 1, "u"), generate(8, 1, "u"); string(a.code) == string(b.code) {
		t.Error("two seeds make the same program")
	}
}
