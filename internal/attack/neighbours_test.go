package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	httpeffect "reprise/host/effect/http"
	"reprise/journal"
)

// neighbourAttacks aim at the host and at others through what a guest may ask for.
func neighbourAttacks() []attack {
	peer := &deadPeer{}
	return []attack{
		{number: 59, what: "a gigabyte of log lines from each of four runs: what is written is bounded, the rest is counted, and the runs complete",
			bounds: bounds{cpu: time.Minute}, run: logFlood},
		{number: 60, what: "300 runs of one tenant that compute for ever, more than a node owns at once: a run of another completes before any of them ends",
			bounds: bounds{cpu: 2 * time.Minute, wall: 2 * time.Minute}, run: saturation},
		{number: 61, what: "100 requests to a peer that accepts and never answers: others run meanwhile, and each ends at its timeout",
			setup: peer.listen, run: peer.attack},
		{number: 71, what: "an effect whose handler panics: failed with code internal, nothing of the host's stack in what the tenant sees",
			setup: brokenHandlers, run: panicInEffect},
	}
}

// floodAllowed is what the log may take in all: a burst and some seconds of the rate of each run, with what stands around a line.
const floodAllowed = 64 << 20

func logFlood(v *victim) {
	var p program
	const lines, size = 65_536, 16 << 10
	text := fmt.Sprintf("%0*d", size, 0)
	at, n := p.bring([]byte(text))
	counter := scratch
	p.do("store", counter, lines/2)
	from := p.next()
	p.do("log", 1, at, n)
	p.do("store", scratch+16, uint64(at)|uint64(n)<<32)
	p.do("fd_write", 1, scratch+16, 1, scratch+32)
	p.do("again", counter, from)
	p.report()
	var all sync.WaitGroup
	v.pushed(ann, "calls", own("calls"))
	for range 4 {
		all.Go(func() { v.completes("a flood of lines", v.run("calls", p.input())) })
	}
	v.alive("while lines flood")
	all.Wait()
	if n := v.log.size(); n > floodAllowed {
		v.errorf("the log has %d bytes, want at most %d", n, floodAllowed)
	}
	if log := v.log.String(); !strings.Contains(log, "dropped") && !strings.Contains(log, "not written") {
		v.errorf("the log does not say that lines are missing")
	}
}

func saturation(v *victim) {
	const runs = 300
	v.pushed(ann, "spin", fixture("spin"))
	ids := make([]journal.RunID, runs)
	for i := range ids {
		ids[i] = v.begin(ann, "spin", nil)
	}
	v.until(ann, ids[0], journal.Running)
	v.alive("while ann has all processors")
	if n := v.ended(ids); n > 0 {
		v.errorf("%d of ann's runs had ended when bob's was done, want none", n)
	}
}

// deadPeer accepts connections and says nothing.
type deadPeer struct {
	listener  net.Listener
	accepting sync.WaitGroup
	held      []net.Conn
}

func (d *deadPeer) listen(c *config) {
	var err error
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		panic(err)
	}
	d.accepting.Go(func() {
		for {
			conn, err := d.listener.Accept()
			if err != nil {
				return
			}
			d.held = append(d.held, conn)
		}
	})
	if c.effects[httpeffect.Name], err = httpeffect.New(httpeffect.Config{Allow: []string{"127.0.0.1:*"}}); err != nil {
		panic(err)
	}
}

func (d *deadPeer) close() {
	d.listener.Close()
	d.accepting.Wait()
	for _, c := range d.held {
		c.Close()
	}
}

func (d *deadPeer) attack(v *victim) {
	defer d.close()
	var p program
	h := p.effect(httpeffect.Name, fmt.Sprintf(`{"method":"GET","url":"http://%s/"}`, d.listener.Addr()), `{"timeout_ms":1500,"retry":{"attempts":1}}`)
	p.await(h)
	status := p.do("status", h)
	n := p.do("result", h, scratch, 0x10000)
	p.do("copy", programAt+0x4000, scratch, n)
	p.report()
	v.pushed(ann, "calls", own("calls"))
	var ids []journal.RunID
	for range 100 {
		ids = append(ids, v.begin(ann, "calls", p.input()))
	}
	v.alive("while 100 requests hang")
	for _, id := range ids {
		run := v.end(ann, id)
		v.completes("request to a dead peer", run)
		if got := abi.Status(status.value(run.Output)); got != abi.TimedOut {
			v.errorf("got status %s, want timed_out: %.300q", got, bytes.TrimRight(run.Output[0x4000:], "\x00"))
		}
	}
}

// told is what a handler says when it fails. It is for the operator only.
const told = "postgres://admin:hunter2@db"

func brokenHandlers(c *config) {
	for name, f := range map[string]effect.HandlerFunc{
		"test.panic": func(context.Context, effect.Request) ([]byte, error) { panic(told) },
		"test.nil": func(_ context.Context, r effect.Request) ([]byte, error) {
			var none *effect.Request
			if r.Attempt > 0 {
				return none.Input, nil
			}
			return nil, nil
		},
		"test.error": func(context.Context, effect.Request) ([]byte, error) { return nil, errors.New("dial " + told) },
	} {
		c.effects[name] = effect.Effect{Handler: f}
	}
}

func panicInEffect(v *victim) {
	for _, name := range []string{"test.panic", "test.nil", "test.error"} {
		var p program
		h := p.effect(name, "x", "")
		p.await(h)
		p.do("fail", scratch, p.do("result", h, scratch, 0x10000))
		run := v.play(&p)
		v.fails(name, run, abi.CodeInternal)
		v.replays(name, run)
		for _, path := range []string{"", "/journal", "/result"} {
			a, err := v.call(ann, http.MethodGet, "/v1/runs/"+run.ID.String()+path, nil, nil)
			v.check("read", err)
			for _, word := range []string{told, "hunter2", "goroutine ", ".go:", "runtime error", "nil pointer"} {
				if strings.Contains(string(a.body), word) {
					v.errorf("%s: the tenant sees %q in %.600s", name, word, a.body)
				}
			}
		}
	}
	if !strings.Contains(v.log.String(), told) {
		v.errorf("the log does not say why: the operator has nothing to go by")
	}
}
