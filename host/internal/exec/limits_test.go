package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/host/internal/sandbox"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// limited is a guest in Go with an output. A misuse of the contract fails it, as in a sandbox.
type limited func(w sandbox.World) (string, error)

func (g limited) Prepared() *modules.Prepared { return &modules.Prepared{Shape: modules.Command} }

func (g limited) Freezable(string) error { return errNative }

func (g limited) Thaw(context.Context, sandbox.World, *sandbox.Frozen) sandbox.Ending {
	return sandbox.Ending{Cause: sandbox.ErrUnusable}
}

func (g limited) Run(_ context.Context, w sandbox.World, _ string) sandbox.Ending {
	out, err := g(w)
	var misuse *sandbox.Misuse
	if errors.As(err, &misuse) {
		return sandbox.Ending{Failure: abi.NewFailure(abi.CodeMisuse, "%s", misuse.Error())}
	}
	return sandbox.Ending{Output: []byte(out), Cause: err}
}

// sized answers an effect with as many bytes as its input says.
var sized = world{"test.step": func(_ context.Context, r effect.Request) ([]byte, error) {
	n, err := strconv.Atoi(string(r.Input))
	return make([]byte, n), err
}}

// newLimited makes a harness whose runs have the limits that set makes of the ceilings.
func newLimited(t *testing.T, guest limited, set func(l *abi.Limits)) *harness {
	h := newGuest(t, sized, nil)
	h.turner.load = func(context.Context, tenant.ID, modules.Digest) (program, error) { return guest, nil }
	set(&h.turner.cfg.Limits)
	return h
}

// ask asks for so many bytes, waits for them, and says how that ended.
func ask(w sandbox.World, n int) (h int32, ended string, err error) {
	if h, err = w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Input: []byte(strconv.Itoa(n))}); err != nil {
		return h, "", err
	}
	ended, err = waitFor(w, h)
	return h, ended, err
}

// waitFor waits for a handle and says how it ended: the number of bytes, or the failure's code.
func waitFor(w sandbox.World, h int32) (string, error) {
	if _, err := w.Wait([]int32{h}, -1, 1); err != nil {
		return "", err
	}
	return endOf(w, h)
}

func endOf(w sandbox.World, h int32) (string, error) {
	s, err := w.Status(h)
	if err != nil || s == abi.Pending {
		return s.String(), err
	}
	b, err := w.Result(h)
	if s != abi.OK {
		return abi.DecodeFailure(b).Code, err
	}
	return strconv.Itoa(len(b)), err
}

func timer(w sandbox.World) (int32, error) {
	return w.Start(sandbox.Request{Kind: sandbox.OpTimer, After: abi.MaxDuration})
}

// atTheLimit holds for each limit of a run what is the most that it takes, and what one more is answered with. A guest
// that is failed for it says so with a code, one that is told of it with its output.
var atTheLimit = []struct {
	name      string
	set       func(l *abi.Limits)
	guest     func(n int) limited
	most      int
	fits      string // output with most
	state     journal.State
	oneMore   string // output, or code of the failure, with one more
	signalled bool   // the run gets a signal of n bytes
}{
	{name: "pending", set: func(l *abi.Limits) { l.Pending = 3 }, most: 3, fits: "pending", state: journal.Completed, oneMore: abi.CodeTooMany + " pending",
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				var last int32
				for range n {
					last, _ = timer(w)
				}
				end, err := endOf(w, last)
				if err != nil || end == "pending" {
					return end, err
				}
				if err := w.Drop(1); err != nil {
					return "", err
				}
				last, err = timer(w)
				again, _ := endOf(w, last)
				return end + " " + again, err
			}
		}},
	{name: "bytes of a request", set: func(l *abi.Limits) { l.PendingBytes = 1000 }, most: 1000 - 9, fits: "5", state: journal.Completed, oneMore: abi.CodePendingLarge,
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				input := append(bytes.Repeat([]byte{'0'}, n-1), '5')
				h, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Input: input})
				if err != nil {
					return "", err
				}
				return waitFor(w, h)
			}
		}},
	{name: "bytes of an outcome", set: func(l *abi.Limits) { l.PendingBytes = 1000 }, most: 1000 - 9, fits: "991", state: journal.Completed, oneMore: abi.CodePendingLarge + " 500",
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				h, end, err := ask(w, n)
				if err != nil || end != abi.CodePendingLarge {
					return end, err
				}
				if err := w.Drop(h); err != nil {
					return "", err
				}
				_, again, err := ask(w, 500)
				return end + " " + again, err
			}
		}},
	{name: "bytes of a signal", set: func(l *abi.Limits) { l.PendingBytes = 1000 }, most: 1000 - 509 - 2, fits: "489", state: journal.Completed, oneMore: abi.CodePendingLarge + " 490", signalled: true,
		guest: func(int) limited {
			receive := func(w sandbox.World) (string, error) {
				h, err := w.Start(sandbox.Request{Kind: sandbox.OpSignal, Name: "go"})
				if err != nil {
					return "", err
				}
				return waitFor(w, h)
			}
			return func(w sandbox.World) (string, error) {
				held, _, err := ask(w, 500)
				if err != nil {
					return "", err
				}
				end, err := receive(w)
				if err != nil || end != abi.CodePendingLarge {
					return end, err
				}
				if err := w.Drop(held); err != nil {
					return "", err
				}
				again, err := receive(w) // it has waited in the inbox
				return end + " " + again, err
			}
		}},
	{name: "requests", set: func(l *abi.Limits) { l.Requests = 5 }, most: 5, fits: "done", state: journal.Failed, oneMore: abi.CodeMisuse,
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				for range n {
					h, err := timer(w)
					if err == nil {
						err = w.Drop(h)
					}
					if err != nil {
						return "", err
					}
				}
				return "done", nil
			}
		}},
	{name: "published bytes", set: func(l *abi.Limits) { l.PublishedBytes = 100 }, most: 97, fits: "done", state: journal.Failed, oneMore: abi.CodeMisuse,
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				for _, v := range []struct {
					key  string
					size int
				}{{"a", 50}, {"b", 40}, {"a", 1}, {"b", n}, {"b", n}} {
					if err := w.Publish(v.key, make([]byte, v.size)); err != nil {
						return "", err
					}
				}
				return "done", nil // two keys of 1 byte, and 1+97 bytes of values
			}
		}},
	{name: "published keys", set: func(*abi.Limits) {}, most: abi.MaxPublished, fits: "done", state: journal.Failed, oneMore: abi.CodeMisuse,
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) {
				for i := range n {
					for range 2 {
						if err := w.Publish(strconv.Itoa(i), nil); err != nil {
							return "", err
						}
					}
				}
				return "done", nil
			}
		}},
	{name: "payload of an outcome", set: func(l *abi.Limits) { l.Payload = 300 }, most: 300, fits: "300", state: journal.Completed, oneMore: abi.CodePayloadLarge,
		guest: func(n int) limited {
			return func(w sandbox.World) (string, error) { _, end, err := ask(w, n); return end, err }
		}},
	{name: "entries", set: func(l *abi.Limits) { l.Entries = 4 }, most: 3, fits: "done", state: journal.Blocked, oneMore: "journal_limit: the journal has 4 entries, the limit",
		guest: steps},
}

// steps does n steps one after the other.
func steps(n int) limited {
	return func(w sandbox.World) (string, error) {
		for range n {
			if _, _, err := ask(w, 1); err != nil {
				return "", err
			}
		}
		return "done", nil
	}
}

// TestAtEachLimit: exactly at a limit a run goes on, one beyond it gets the documented answer, and a replay on a host that is
// configured otherwise comes to the same.
func TestAtEachLimit(t *testing.T) {
	for _, tt := range atTheLimit {
		for n, want := range map[int]string{tt.most: tt.fits, tt.most + 1: tt.oneMore} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, n), func(t *testing.T) {
				h := newLimited(t, tt.guest(n), tt.set)
				if tt.signalled {
					h.store.arrive(journal.Arrival{ID: "signal:1", Kind: journal.ArrivalSignal, Op: journal.NoOp, Name: "go", Payload: make([]byte, n)})
				}
				state := journal.Completed
				if n > tt.most {
					state = tt.state
				}
				r := h.drive()
				if state == journal.Blocked {
					if r.State != state || r.Reason != want {
						t.Fatalf("got %s %q, want blocked %q", r.State, r.Reason, want)
					}
				} else {
					h.check(r, state, want)
				}
				for _, limits := range []abi.Limits{abi.DefaultLimits(), one()} {
					h.turner.cfg.Limits = limits
					rep, err := h.turner.Replay(context.Background(), r, r.Digest)
					if err != nil || rep.Mismatch != nil || rep.Entries != r.NextSeq {
						t.Errorf("replay: got %+v, %v, want %d entries that match", rep, err, r.NextSeq)
					}
				}
			})
		}
	}
}

// one is as little as a host may give.
func one() abi.Limits {
	return abi.Limits{MemoryPages: 1, Gas: 1, RunGas: 1, Depth: 1, Payload: 1, Pending: 1, PendingBytes: 1, Requests: 1, PublishedBytes: 1, Entries: 1, JournalBytes: 1, LogBytes: 1}
}

// TestFullJournalLosesNothing: what was known when the journal was full is durable; going on changes nothing and
// sends nothing again, and a run that has reached its end ends.
func TestFullJournalLosesNothing(t *testing.T) {
	const limit = 3000
	set := func(l *abi.Limits) { l.JournalBytes = limit }
	probe := newLimited(t, steps(0), set)
	probe.check(probe.drive(), journal.Completed, "done")
	room := limit - int(entrySize(probe.store.entries[0])) - len("test.step") - len("1000")

	guest := func(n int) limited {
		return func(w sandbox.World) (string, error) { _, end, err := ask(w, n); return end, err }
	}
	h := newLimited(t, guest(room), set)
	h.check(h.drive(), journal.Completed, strconv.Itoa(room))

	h = newLimited(t, guest(room+1), set)
	for turn := range 3 {
		r := h.drive()
		if r.State != journal.Blocked || !strings.HasPrefix(r.Reason, "journal_limit: an entry of ") || r.NextSeq != 1 {
			t.Fatalf("turn %d: got %s %q at seq %d, want blocked at 1 by the journal's limit", turn, r.State, r.Reason, r.NextSeq)
		}
		if len(h.store.inbox) != 1 || len(h.store.inbox[0].Payload) != room+1 {
			t.Fatalf("turn %d: got %d arrivals, want the outcome", turn, len(h.store.inbox))
		}
		if len(h.calls) != 1 {
			t.Fatalf("turn %d: got %v, want one call", turn, h.calls)
		}
		h.turner.cfg.Limits = abi.DefaultLimits() // the run keeps its own
		h.store.run.State = journal.Ready
	}
}

// TestFullJournalSendsNothing: an effect whose outcome could not be recorded does not leave.
func TestFullJournalSendsNothing(t *testing.T) {
	h := newLimited(t, steps(5), func(l *abi.Limits) { l.Entries = 4 })
	for range 2 {
		if r := h.drive(); r.State != journal.Blocked || r.NextSeq != 4 || len(h.calls) != 3 {
			t.Fatalf("got %s at seq %d after %d calls, want blocked at 4 after 3", r.State, r.NextSeq, len(h.calls))
		}
		h.store.run.State = journal.Ready
	}
}

// TestOutcomesThatNobodyTakes: attempts that are done while the guest computes do not fill memory either.
func TestOutcomesThatNobodyTakes(t *testing.T) {
	h := newLimited(t, steps(0), func(*abi.Limits) {})
	r := newRecorder(context.Background(), h.turner, nil, nil)
	r.x = newExecution(h.snapshot(), "", pinned{Limits: abi.Limits{PendingBytes: 1000}}, nil)
	for i, want := range []abi.Status{abi.OK, abi.OK, abi.Failed} {
		op := int32(i + 1)
		r.flights[op] = flight{func() {}}
		r.post(journal.Arrival{Kind: journal.ArrivalDone, Op: op, Status: abi.OK, Payload: make([]byte, 500)})
		if got := r.posted[i].Status; got != want {
			t.Errorf("outcome %d: got %s, want %s", i, got, want)
		}
	}
}

// TestFailureOfAnAttemptIsKeptShort: many of them may be in an inbox. The last one is whole.
func TestFailureOfAnAttemptIsKeptShort(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	h := newGuest(t, world{"test.step": func(context.Context, effect.Request) ([]byte, error) {
		return nil, abi.NewFailure(long, "%s", long)
	}}, func(w sandbox.World) error {
		e, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Options: []byte(`{"retry":{"attempts":2,"backoff_ms":1000}}`)})
		if err == nil {
			_, err = w.Wait([]int32{e}, -1, 1)
		}
		return err
	})
	h.turn()
	if len(h.store.inbox) != 1 || len(h.store.inbox[0].Payload) > maxBrief {
		t.Fatalf("got %d arrivals, the first of %d bytes, want one of at most %d", len(h.store.inbox), len(h.store.inbox[0].Payload), maxBrief)
	}
	h.drive()
	if e := h.store.entries[1]; len(e.Payload) < 2*len(long) {
		t.Errorf("got a failure of %d bytes, want it whole", len(e.Payload))
	}
}

// TestOutcomesThatWait: outcomes that the guest has not looked at count too, until it has dropped them.
func TestOutcomesThatWait(t *testing.T) {
	for name, tt := range map[string]struct{ size, crowded int }{"fit": {300, 0}, "do not fit": {320, 1}} {
		t.Run(name, func(t *testing.T) {
			guest := limited(func(w sandbox.World) (string, error) {
				var asked []int32
				for range 3 {
					h, err := w.Start(sandbox.Request{Kind: sandbox.OpEffect, Name: "test.step", Input: []byte(strconv.Itoa(tt.size))})
					if err != nil {
						return "", err
					}
					asked = append(asked, h)
				}
				s, err := w.Start(sandbox.Request{Kind: sandbox.OpSignal, Name: "go"})
				if err != nil {
					return "", err
				}
				if _, err := waitFor(w, s); err != nil {
					return "", err
				}
				crowded := 0
				for _, h := range asked {
					end, err := waitFor(w, h)
					if err != nil {
						return "", err
					}
					if end == abi.CodePendingLarge {
						crowded++
					}
					if err := w.Drop(h); err != nil {
						return "", err
					}
				}
				_, end, err := ask(w, 900)
				return fmt.Sprint(crowded, " ", end), err
			})
			h := newLimited(t, guest, func(l *abi.Limits) { l.PendingBytes = 990 })
			if r := h.drive(); r.State != journal.Waiting || len(h.store.inbox) != 3 {
				t.Fatalf("got %s (%s) with %d outcomes, want waiting with 3", r.State, r.Reason, len(h.store.inbox))
			}
			h.send()
			h.check(h.drive(), journal.Completed, fmt.Sprint(tt.crowded, " 900"))
		})
	}
}
