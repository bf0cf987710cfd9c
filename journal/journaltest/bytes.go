package journaltest

import (
	"bytes"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
)

// payloads are bytes that a store might be tempted to read as something.
var payloads = map[string][]byte{
	"nil":            nil,
	"empty":          {},
	"NUL":            []byte("a\x00b\x00"),
	"only NUL":       {0},
	"invalid UTF-8":  []byte("\xff\xfe\xc3\x28\xed\xa0\x80"),
	"lone surrogate": []byte(`"\ud800"`),
	"big number":     []byte("9007199254740993"),
	"key order":      []byte(`{"b":1,"a":2,"b":3}`),
	"spaces":         []byte("  {\n} \t"),
	"hex escape":     []byte(`\xDEADBEEF`),
	"quotes":         []byte(`'"\$1?;--`),
	"every byte":     everyByte(),
	"2 MiB":          bytes.Repeat([]byte("0123456789abcde\x00"), abi.MaxPayload/16),
}

func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// names are texts in the fields that are names. A guest or a sender chooses them, so they may be any bytes.
var names = []string{"a\x00b", "\x00", "\xff\xfe", "\xed\xa0\x80", "größe", "日本語", "🧭 🪢", "a'b\"c", "new\nline", "  ", "e\u0301 is not é", "\u202eright to left", "%_*?", `back\slash`}

func testBytes(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"payloads are kept byte for byte", func(f *fixture) {
			for name, p := range payloads {
				keepsPayload(f, name, p)
			}
		}},
		{"an empty payload is an absent one", func(f *fixture) {
			l := f.owned()
			f.sent(l.Run, "s1", "paid", nil, false)
			f.sent(l.Run, "s1", "paid", []byte{}, true)
			e := entry(0)
			e.Payload = nil
			f.commit(l, journal.Batch{Entries: []journal.Entry{e}})
			e.Payload = []byte{}
			f.commit(l, journal.Batch{Entries: []journal.Entry{e}})
		}},
		{"names are kept", func(f *fixture) {
			for _, name := range names {
				keepsName(f, name)
			}
		}},
		{"lines for people are kept or mended", func(f *fixture) {
			for _, line := range names {
				keepsLine(f, line)
			}
		}},
		{"names that look alike differ", func(f *fixture) {
			r := f.create(f.newRun())
			for _, id := range []string{"e\u0301", "é", "E\u0301", "x", "X", "x "} {
				f.signal(r.ID, id)
			}
			for _, key := range []string{"e\u0301", "é", "x", "X", "x "} {
				r := f.newRun()
				r.Key, r.IdempotencyKey = key, key
				f.create(r)
			}
		}},
	})
}

func (f *fixture) sent(run journal.RunID, id, name string, payload []byte, want bool) {
	f.Helper()
	dup, err := f.Store.Signal(f.Context(), acme, run, id, name, payload)
	f.must(err)
	if dup != want {
		f.Fatalf("signal %q: got duplicate %v, want %v", id, dup, want)
	}
}

// sameBytes compares large byte strings, which cmp is slow at.
func (f *fixture) sameBytes(what string, got, want []byte) {
	f.Helper()
	if !bytes.Equal(got, want) {
		f.Fatalf("%s: got %d bytes, %.60q, want %d, %.60q", what, len(got), got, len(want), want)
	}
}

func keepsPayload(f *fixture, name string, p []byte) {
	f.Helper()
	r := f.newRun()
	r.Input = p
	f.create(r)
	c := f.claim(f.register("n1"))
	f.sameBytes(name+": claimed input", c.Run.Input, p)
	f.sent(r.ID, "s1", "paid", p, false)
	f.sent(r.ID, "s1", "paid", p, true)
	e := entry(0)
	e.Request, e.Payload = p, p
	if len(p) <= abi.MaxOptions {
		e.Options = p
	}
	d := done(9, "")
	d.Payload = p
	f.commit(c.Lease, journal.Batch{Entries: []journal.Entry{e}, Stash: []journal.Arrival{d}, Published: []journal.Published{{Key: "k", Value: p}},
		Next: &journal.Transition{State: journal.Completed, Output: p}})
	s := f.snapshot(acme, r.ID)
	f.sameBytes(name+": input", s.Run.Input, p)
	f.sameBytes(name+": output", s.Run.Output, p)
	if !s.Entries[0].Same(e) {
		f.Fatalf("%s: the entry changed", name)
	}
	f.sameBytes(name+": signal", s.Arrivals[0].Payload, p)
	f.sameBytes(name+": stash", s.Arrivals[1].Payload, p)
	f.sameBytes(name+": published", s.Published[0].Value, p)

	r.ID = journal.NewRunID()
	f.create(r)
	l := f.claim(f.register("n1")).Lease
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Failed, Failure: p}})
	f.sameBytes(name+": failure", f.run(r.ID).Failure, p)

	module := append([]byte(name), p...)
	digest := f.putModule(acme, module)
	got, err := f.Store.ModuleBytes(f.Context(), acme, digest)
	f.must(err)
	if !bytes.Equal(got, module) || modules.DigestOf(got) != digest {
		f.Fatalf("%s: the module changed", name)
	}
}

func keepsName(f *fixture, name string) {
	f.Helper()
	r := f.newRun()
	r.Key, r.IdempotencyKey, r.Entry = name, name, name
	got := f.create(r)
	f.diff("created", got, f.run(r.ID))
	if got.Key != name || got.IdempotencyKey != name || got.Entry != name {
		f.Fatalf("run: got %+v, want the names as given, %q", got, name)
	}
	again, created, err := f.Store.Create(f.Context(), r)
	f.must(err)
	if created || again.ID != r.ID {
		f.Fatalf("idempotency key %q: got created %v, want the earlier run", name, created)
	}
	page, err := f.Store.Runs(f.Context(), acme, journal.Filter{Key: name})
	f.must(err)
	if len(page.Runs) != 1 || page.Runs[0].ID != r.ID {
		f.Fatalf("list by key %q: got %d runs, want the one", name, len(page.Runs))
	}
	l := f.claim(f.register("n1")).Lease
	f.sent(r.ID, name, name, nil, false)
	f.sent(r.ID, name, name, nil, true)
	e := entry(0)
	e.Name = name
	f.commit(l, journal.Batch{Entries: []journal.Entry{e}, Published: []journal.Published{{Key: name, Value: []byte("v")}}})
	s := f.snapshot(acme, r.ID)
	if s.Entries[0].Name != name || s.Published[0].Key != name || s.Arrivals[0].Name != name || s.Arrivals[0].ID != "signal:"+name {
		f.Fatalf("got entry %q, published %q, signal %q %q; want %q", s.Entries[0].Name, s.Published[0].Key, s.Arrivals[0].ID, s.Arrivals[0].Name, name)
	}
	f.commit(l, journal.Batch{Observed: []string{"signal:" + name}})
	f.diff("open arrivals", f.arrivals(r.ID), []journal.Arrival{})
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Completed}})
}

// keepsLine checks a line for people: it is kept when it is text, and otherwise mended, never refused,
// for a guest that could make its run's end unwritable would keep the run for ever.
func keepsLine(f *fixture, line string) {
	f.Helper()
	want := strings.ReplaceAll(strings.ToValidUTF8(line, "\uFFFD"), "\x00", "\uFFFD")
	r := f.newRun()
	r.Workflow = strings.ReplaceAll(want, "\uFFFD", "x")
	f.create(r)
	n, err := f.Store.Register(f.Context(), r.Workflow, ttl)
	f.must(err)
	l := f.claim(n.ID).Lease
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, Waiting: "signal " + line, WakeAt: f.now()}})
	if got := f.run(r.ID); got.Waiting != "signal "+want || got.Workflow != r.Workflow {
		f.Fatalf("got waiting %q in workflow %q, want %q in %q", got.Waiting, got.Workflow, "signal "+want, r.Workflow)
	}
	l = f.claim(n.ID).Lease
	f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Failed, Reason: "code: " + line, Failure: []byte(`{"code":"x"}`)}})
	if got := f.run(r.ID).Reason; got != "code: "+want {
		f.Fatalf("reason: got %q, want %q", got, "code: "+want)
	}
}
