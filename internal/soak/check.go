package soak

import (
	"encoding/json"
	"fmt"
	"strings"

	"reprise/abi"
	"reprise/host/api/wire"
)

// class says what a finding counts as.
type class string

const (
	lost       class = "lost"       // acknowledged, and not there
	duplicated class = "duplicated" // there more than once, or another thing the second time
	wrong      class = "wrong"      // any other breach
)

// finding is one breach of what is promised.
type finding struct {
	class class
	text  string
}

// ending is a run as it was found at its end.
type ending struct {
	run     wire.Run
	entries []wire.Entry
}

// checker compares one run with its program.
type checker struct {
	p        program
	e        ending
	ledger   func(key string) (record, bool)
	findings []finding
}

func (c *checker) report(k class, format string, args ...any) {
	c.findings = append(c.findings, finding{k, fmt.Sprintf("program %d, run %s: ", c.p.number, c.e.run.ID) + fmt.Sprintf(format, args...)})
}

// check returns everything about a run that is not as its program says.
func (c *checker) check() []finding {
	c.state()
	c.dense()
	seen := c.completions()
	c.bookings(seen)
	if c.p.sure {
		for i, o := range c.p.ops {
			if !seen[int32(i+1)] && !o.optional {
				c.report(lost, "the outcome of %s, handle %d, was never seen", o.kind, i+1)
			}
		}
		if c.p.cancelled && !seen[0] {
			c.report(lost, "its cancellation was never seen")
		}
	}
	c.signals()
	c.sums()
	return c.findings
}

func (c *checker) state() {
	r := c.e.run
	if r.State != c.p.state {
		c.report(wrong, "it is %s (%s %s), not %s", r.State, r.Reason, r.Failure, c.p.state)
		return
	}
	if c.p.failure == "" {
		return
	}
	var f struct{ Code string }
	if err := json.Unmarshal(r.Failure, &f); err != nil || f.Code != c.p.failure {
		c.report(wrong, "its failure is %s, not of code %s", r.Failure, c.p.failure)
	}
}

// dense checks the form of the journal: no gap, one end, tokens and times that never go back.
func (c *checker) dense() {
	es := c.e.entries
	for i, e := range es {
		last := i == len(es)-1
		switch {
		case e.Seq != int64(i):
			c.report(wrong, "entry %d has seq %d", i, e.Seq)
		case i == 0 && e.Kind != "started" && !last:
			c.report(wrong, "its journal begins with %s", e.Kind)
		case terminal(e.Kind) != last:
			c.report(wrong, "entry %d of %d is %s", i, len(es), e.Kind)
		case i > 0 && e.Token < es[i-1].Token:
			c.report(wrong, "entry %d was written under token %d, after %d", i, e.Token, es[i-1].Token)
		case i > 0 && e.At < es[i-1].At:
			c.report(wrong, "entry %d is of %s, before its predecessor's %s", i, e.At, es[i-1].At)
		}
	}
	if int64(len(es)) != c.e.run.NextSeq {
		c.report(lost, "its journal has %d entries, its row says %d", len(es), c.e.run.NextSeq)
	}
}

func terminal(kind string) bool {
	return kind == "completed" || kind == "failed" || kind == "cancelled"
}

// completions checks that each handle completed once, as something that the program asked for.
func (c *checker) completions() map[int32]bool {
	seen := map[int32]bool{}
	for _, e := range c.e.entries {
		if e.Op < 0 {
			continue
		}
		if seen[e.Op] {
			c.report(duplicated, "handle %d completed twice, again in entry %d", e.Op, e.Seq)
		}
		seen[e.Op] = true
		want := op{kind: "cancel"}
		if e.Op > 0 {
			if int(e.Op) > len(c.p.ops) {
				c.report(wrong, "entry %d is of handle %d, which the program does not ask for", e.Seq, e.Op)
				continue
			}
			want = c.p.ops[e.Op-1]
		}
		status := "ok"
		if want.fails {
			status = "failed"
		}
		if e.Kind != want.kind || e.Name != want.name || e.Status != status {
			c.report(wrong, "entry %d is %s %s %s, not %s %s %s: %s", e.Seq, e.Kind, e.Name, e.Status, want.kind, want.name, status, e.Payload)
		}
	}
	return seen
}

// bookings compares outcomes with what the ledger booked, and what it booked with what the program asks for.
func (c *checker) bookings(seen map[int32]bool) {
	outcomes := map[int32]wire.Entry{}
	for _, e := range c.e.entries {
		outcomes[e.Op] = e
	}
	for i, o := range c.p.ops {
		if o.add == nil {
			continue
		}
		h := int32(i + 1)
		r, ok := c.ledger(bookingKey(c.e.run.ID, h, o))
		switch booked := ok && r.answer != ""; {
		case booked && (r.counter != o.add.counter || r.amount != o.add.amount):
			c.report(wrong, "handle %d booked %s %d, not %s %d", h, r.counter, r.amount, o.add.counter, o.add.amount)
		case booked && o.fails:
			c.report(wrong, "handle %d was booked although it is refused", h)
		case !booked && seen[h] && !o.fails:
			c.report(lost, "handle %d is done, and the ledger has not booked it", h)
		}
		if !seen[h] || o.kind != "effect" || o.fails {
			continue
		}
		var answer struct {
			Status int
			Body   string
		}
		if err := json.Unmarshal(outcomes[h].Payload, &answer); err != nil || answer.Status != 200 || answer.Body != r.answer {
			c.report(duplicated, "handle %d came to %s, the ledger answered %q", h, outcomes[h].Payload, r.answer)
		}
	}
}

// bookingKey is the idempotency key under which an op books.
func bookingKey(run string, handle int32, o op) string {
	key := fmt.Sprintf("default/%s/%d", run, handle)
	if o.kind == "activity" {
		key += "/1"
	}
	return key
}

// signals checks that those of each name came in the order in which they were sent, each once.
func (c *checker) signals() {
	for _, name := range append(c.p.names(), "never") {
		var sent, got []string
		for _, s := range c.p.signals {
			if s.name == name {
				sent = append(sent, string(s.payload()))
			}
		}
		for _, e := range c.e.entries {
			if e.Kind == "signal" && e.Name == name {
				got = append(got, string(wire.Bytes(e.Payload, e.PayloadBase64)))
			}
		}
		switch want := sent[:min(len(sent), len(got))]; {
		case len(got) > len(sent):
			c.report(duplicated, "of the signals %s %v it saw %v", name, sent, got)
		case strings.Join(got, " ") != strings.Join(want, " "):
			c.report(duplicated, "of the signals %s %v it saw %v: not each once, in order", name, sent, got)
		case len(got) < len(sent) && c.p.sure:
			c.report(lost, "of the signals %s %v it saw %v", name, sent, got)
		}
	}
}

// sums compares the guest's checksum of what it saw with the journal: that at its end, and those that went to the
// ledger with each request.
func (c *checker) sums() {
	sum := newChecksum()
	next := int32(1) // the request whose checksum is due
	upTo := func(issued int32) {
		for ; next <= issued && int(next) <= len(c.p.ops); next++ {
			o := c.p.ops[next-1]
			r, ok := c.ledger(bookingKey(c.e.run.ID, next, o))
			if !ok || o.kind != "effect" {
				continue
			}
			words := strings.Fields(r.body)
			if len(words) != 3 || !strings.HasPrefix(words[2], sum.text()) {
				c.report(duplicated, "handle %d was asked for by a guest that had seen something else than its journal: it sent %q, and the checksum of the journal is %s", next, r.body, sum.text())
			}
		}
	}
	for _, e := range c.e.entries {
		upTo(e.Issued)
		switch {
		case e.Kind == "look" || e.Kind == "sleep":
			sum.saw(-1, 0, nil)
		case e.Kind == "cancel":
			sum.saw(0, byte(abi.OK), nil) // its reason is for people, not for the guest
		case e.Op >= 0:
			status, ok := abi.ParseStatus(e.Status)
			if !ok {
				c.report(wrong, "entry %d has the status %s", e.Seq, e.Status)
			}
			sum.saw(e.Op, byte(status), wire.Bytes(e.Payload, e.PayloadBase64))
		}
	}
	output := string(wire.Bytes(c.e.run.Output, c.e.run.OutputBase64))
	if c.p.state == "completed" && (len(output) != 32 || !strings.HasPrefix(output, sum.text())) {
		c.report(duplicated, "its output is %q, and the checksum of its journal is %s", output, sum.text())
	}
}
