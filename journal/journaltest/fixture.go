package journaltest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reprise/abi"
	"reprise/journal"
	"reprise/modules"
	"reprise/tenant"
)

// ttl is a lease that no test outlives by accident; a test that wants it to lapse advances the clock.
const ttl = time.Hour

const (
	acme  tenant.ID = "acme"
	other tenant.ID = "other"
)

var wasm = []byte("\x00asm\x01\x00\x00\x00")

// equal compares what a store returned. A store need not tell an empty byte string from an absent one. Long ones are
// compared whole: byte by byte a few MiB take a minute.
var equal = cmp.Options{cmpopts.EquateEmpty(), cmp.FilterValues(long, cmp.Comparer(bytes.Equal))}

func long(a, b []byte) bool { return len(a) > 1<<10 && len(b) > 1<<10 }

// fixture is a store in which tenant acme has one module.
type fixture struct {
	*testing.T
	Harness
	digest modules.Digest
}

func newFixture(t *testing.T, open Open) *fixture {
	t.Helper()
	f := &fixture{T: t, Harness: open(t)}
	f.digest = f.putModule(acme, wasm)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// want checks the sentinel that an error is.
func (f *fixture) want(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("%s: got error %v, want %v", what, err, want)
	}
}

func (f *fixture) diff(what string, got, want any) {
	f.Helper()
	if d := cmp.Diff(want, got, equal); d != "" {
		f.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func (f *fixture) putModule(t tenant.ID, b []byte) modules.Digest {
	f.Helper()
	d := modules.DigestOf(b)
	_, err := f.Store.PutModule(f.Context(), modules.Module{Tenant: t, Digest: d, Size: int64(len(b)), Shape: modules.Command}, b)
	f.must(err)
	return d
}

// newRun is a start that differs from every other only in its id.
func (f *fixture) newRun() journal.Run {
	return journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, Input: []byte(`{"n":1}`)}
}

// create stores r and must make a new run.
func (f *fixture) create(r journal.Run) journal.Run {
	f.Helper()
	got, created, err := f.Store.Create(f.Context(), r)
	f.must(err)
	if !created {
		f.Fatalf("create %s: got an earlier run %s, want a new one", r.ID, got.ID)
	}
	return got
}

func (f *fixture) register(name string) string {
	f.Helper()
	n, err := f.Store.Register(f.Context(), name, ttl)
	f.must(err)
	return n.ID
}

func (f *fixture) claims(node string, limit int) journal.Claims {
	f.Helper()
	c, err := f.Store.Claim(f.Context(), node, journal.Want{Limit: limit})
	f.must(err)
	return c
}

// claim takes the one run that is due.
func (f *fixture) claim(node string) journal.Claim {
	f.Helper()
	c := f.claims(node, 10)
	if len(c.Claims) != 1 {
		f.Fatalf("claim: got %d runs, want 1", len(c.Claims))
	}
	return c.Claims[0]
}

func (f *fixture) claimNone(node string) {
	f.Helper()
	if c := f.claims(node, 10); len(c.Claims) != 0 {
		f.Fatalf("claim: got %v in state %s, want nothing", c.Claims[0].Lease, c.Claims[0].Run.State)
	}
}

// owned creates a run and has a new node claim it.
func (f *fixture) owned() journal.Lease {
	f.Helper()
	f.create(f.newRun())
	return f.claim(f.register("n1")).Lease
}

// in brings a new run with one entry into a state by the way that a host would.
func (f *fixture) in(s journal.State) (journal.Lease, journal.RunID) {
	f.Helper()
	l := f.owned()
	b := journal.Batch{Entries: entries(0, 1)}
	if s != journal.Running {
		b.Next = &journal.Transition{State: s, Reason: "code: text"}
	}
	if s == journal.Ready || s == journal.Waiting {
		b.Next.Reason = ""
	}
	f.commit(l, b)
	return l, l.Run
}

// commit must succeed.
func (f *fixture) commit(l journal.Lease, b journal.Batch) journal.State {
	f.Helper()
	s, err := f.Store.Commit(f.Context(), l, b)
	f.must(err)
	return s
}

// suspend commits a transition to Waiting that has seen everything up to pos.
func (f *fixture) suspend(l journal.Lease, pos int64) journal.State {
	f.Helper()
	return f.commit(l, journal.Batch{Next: &journal.Transition{State: journal.Waiting, SeenPos: pos}})
}

// refuse checks that a commit fails with want and that nothing of it was written.
func (f *fixture) refuse(what string, l journal.Lease, b journal.Batch, want error) {
	f.Helper()
	before := f.snapshot(l.Tenant, l.Run)
	_, err := f.Store.Commit(f.Context(), l, b)
	f.want(what, err, want)
	f.diff(what+" changed the run", f.snapshot(l.Tenant, l.Run), before)
}

func (f *fixture) signal(run journal.RunID, id string) {
	f.Helper()
	dup, err := f.Store.Signal(f.Context(), acme, run, id, "paid", []byte("payload of "+id))
	f.must(err)
	if dup {
		f.Fatalf("signal %s: got duplicate, want new", id)
	}
}

func (f *fixture) run(id journal.RunID) journal.Run {
	f.Helper()
	r, err := f.Store.Run(f.Context(), acme, id)
	f.must(err)
	return r
}

func (f *fixture) state(id journal.RunID, want journal.State) journal.Run {
	f.Helper()
	r := f.run(id)
	if r.State != want {
		f.Fatalf("state: got %s, want %s", r.State, want)
	}
	return r
}

func (f *fixture) entries(id journal.RunID) []journal.Entry {
	f.Helper()
	es, err := f.Store.Entries(f.Context(), acme, id, 0, 1000)
	f.must(err)
	return es
}

func (f *fixture) arrivals(id journal.RunID) []journal.Arrival {
	f.Helper()
	as, err := f.Store.Arrivals(f.Context(), acme, id, 0)
	f.must(err)
	return as
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, err := f.Store.Now(f.Context())
	f.must(err)
	return now
}

// snapshot is everything that can be read of a run.
type snapshot struct {
	Run       journal.Run
	Entries   []journal.Entry
	Arrivals  []journal.Arrival
	Published []journal.Published
}

func (f *fixture) snapshot(t tenant.ID, id journal.RunID) snapshot {
	f.Helper()
	var s snapshot
	var err error
	s.Run, err = f.Store.Run(f.Context(), t, id)
	f.must(err)
	s.Entries, err = f.Store.Entries(f.Context(), t, id, 0, 1000)
	f.must(err)
	s.Arrivals, err = f.Store.Arrivals(f.Context(), t, id, 0)
	f.must(err)
	s.Published, err = f.Store.Published(f.Context(), t, id)
	f.must(err)
	return s
}

var epoch = time.Date(2031, 5, 6, 7, 8, 9, 123_456_000, time.UTC)

// entry is a full entry at a position; two positions differ in every field.
func entry(seq int64) journal.Entry {
	return journal.Entry{
		Seq: seq, Kind: journal.KindEffect, Op: int32(seq) + 1, Name: fmt.Sprintf("effect.%d", seq),
		Request: fmt.Appendf(nil, "request %d", seq), Options: fmt.Appendf(nil, `{"o":%d}`, seq),
		Status: abi.OK, Payload: fmt.Appendf(nil, "payload %d", seq),
		Issued: int32(seq) + 2, Trail: uint64(seq) + 1<<63, At: epoch.Add(time.Duration(seq) * time.Second),
	}
}

// entries are n entries from a position on.
func entries(from int64, n int) []journal.Entry {
	es := make([]journal.Entry, n)
	for i := range es {
		es[i] = entry(from + int64(i))
	}
	return es
}

func done(op int32, payload string) journal.Arrival {
	return journal.Arrival{ID: fmt.Sprintf("op:%d", op), Kind: journal.ArrivalDone, Op: op, Status: abi.OK, Payload: []byte(payload)}
}

func retry(op int32, attempt int) journal.Arrival {
	return journal.Arrival{ID: fmt.Sprintf("op:%d", op), Kind: journal.ArrivalRetry, Op: op, Status: abi.Failed,
		Payload: []byte(`{"code":"failed"}`), Attempt: attempt, RetryAt: epoch.Add(time.Minute)}
}

func ids(as []journal.Arrival) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.ID
	}
	return out
}
