package journaltest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reprise/journal"
	"reprise/tenant"
)

// The model's clock moves in steps that no lease or timer ends on, so that the real time that passes
// in between decides nothing.
const (
	modelStep  = 20 * time.Minute
	modelTTL   = 50 * time.Minute
	modelTimer = 30 * time.Minute
)

// testModel walks a store and the model through the same random history and compares every answer.
func testModel(t *testing.T, open Open) {
	f := newFixture(t, open)
	walk := 0
	var last *machine
	rapid.Check(t, func(rt *rapid.T) {
		if last != nil {
			last.endAll()
		}
		walk++
		last = &machine{f: f, model: model{nodes: map[string]*modelNode{}}}
		for _, t := range []string{"a", "b", "c"} {
			last.tenants = append(last.tenants, tenant.ID(fmt.Sprintf("walk-%d-%s", walk, t)))
			f.putModule(last.tenants[len(last.tenants)-1], wasm)
		}
		last.register(rt)
		rt.Repeat(last.actions())
		for _, r := range last.runs {
			last.compare(rt, r)
		}
	})
}

// actions are weighted by how often they are listed: a walk is mostly turns of runs that somebody owns.
func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"signal": m.signal, "cancel": m.cancel, "resume": m.resume, "register": m.register, "heartbeat": m.heartbeat,
		"unregister": m.unregister, "commit again": m.commitAgain, "time passes": m.advance, "time goes back": m.goBack,
		"restart": m.restart, "prune": m.prune, "delete": m.deleteRun, "hold": m.hold, "": m.check,
	}
	for i := range 4 {
		actions[fmt.Sprint("commit ", i)] = m.commit
		if i < 2 {
			actions[fmt.Sprint("create ", i)] = m.create
			actions[fmt.Sprint("claim ", i)] = m.claim
			actions[fmt.Sprint("begin ", i)] = m.begin
		}
	}
	return actions
}

// machine is one walk.
type machine struct {
	model
	f       *fixture
	tenants []tenant.ID
	leases  []lease
	commits []commit
	nodeIDs []string
	touched *modelRun
	latest  time.Duration // that the clock has shown
}

type lease struct {
	journal.Lease
	run *modelRun
}

type commit struct {
	lease lease
	batch journal.Batch
}

func pick[T any](rt *rapid.T, what string, from []T) T {
	if len(from) == 0 {
		rt.Skip("nothing to pick from: " + what)
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, what)]
}

// recent picks among the last few, which are more often still valid.
func recent[T any](rt *rapid.T, what string, from []T) T {
	return pick(rt, what, from[max(0, len(from)-3):])
}

// same fails the walk unless both gave the same error.
func (m *machine) same(rt *rapid.T, what string, got, want error) {
	if !sameError(got, want) {
		rt.Fatalf("%s: got error %v, want %v", what, got, want)
	}
}

func (m *machine) create(rt *rapid.T) {
	r := journal.Run{Tenant: pick(rt, "tenant", m.tenants), ID: journal.NewRunID(), Workflow: "order", Digest: m.f.digest,
		Key:            rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(rt, "key"),
		IdempotencyKey: rapid.SampledFrom([]string{"", "", "i1", "i2"}).Draw(rt, "idempotency key"),
		Input:          m.payload(rt, "input", "a", "b")}
	got, created, err := m.f.Store.Create(m.f.Context(), r)
	want, wantCreated, wantErr := m.model.create(r)
	m.same(rt, "create", err, wantErr)
	if created != wantCreated || got.ID != want.ID {
		rt.Fatalf("create: got run %s, created %v; want %s, %v", got.ID, created, want.ID, wantCreated)
	}
	m.touched = want
}

func (m *machine) begin(rt *rapid.T) {
	node := recent(rt, "node", m.nodeIDs)
	r := journal.Run{Tenant: pick(rt, "tenant", m.tenants), ID: journal.NewRunID(), Workflow: string(m.f.digest), Digest: m.f.digest,
		Key:            rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(rt, "key"),
		IdempotencyKey: rapid.SampledFrom([]string{"", "", "i1", "i2"}).Draw(rt, "idempotency key"),
		Input:          []byte(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "input"))}
	got, created, err := m.f.Store.Begin(m.f.Context(), r, node, firstEntry)
	want, wantCreated, wantErr := m.model.create(r)
	m.same(rt, "begin", err, wantErr)
	if created != wantCreated || got.ID != want.ID {
		rt.Fatalf("begin: got run %s, created %v; want %s, %v", got.ID, created, want.ID, wantCreated)
	}
	m.touched = want
	if !created || !m.live(node) {
		return
	}
	m.model.claim(want, node)
	c := journal.Begun(got, firstEntry)
	want.entries, want.NextSeq = c.Entries, 1
	m.compareRun(rt, "run that begins", got, want)
	m.leases = append(m.leases, lease{c.Lease, want})
}

// payload is one of some, sometimes the one that is too large for its row.
func (m *machine) payload(rt *rapid.T, what string, from ...string) []byte {
	if rapid.IntRange(0, 5).Draw(rt, what+" is large") == 0 {
		return largePayload
	}
	return []byte(rapid.SampledFrom(from).Draw(rt, what))
}

var largePayload = sized(100_000, "large")

func (m *machine) signal(rt *rapid.T) {
	r := pick(rt, "run", m.runs)
	id := rapid.SampledFrom([]string{"s1", "s2", "s3", "s4"}).Draw(rt, "id")
	payload := m.payload(rt, "payload", "p", "p", "p", "q")
	dup, err := m.f.Store.Signal(m.f.Context(), r.Tenant, r.ID, id, "paid", payload)
	wantDup, wantErr := m.model.signal(r, id, "paid", payload)
	m.same(rt, "signal", err, wantErr)
	if dup != wantDup {
		rt.Fatalf("signal: got duplicate %v, want %v", dup, wantDup)
	}
	m.touched = r
}

func (m *machine) cancel(rt *rapid.T) {
	r := pick(rt, "run", m.runs)
	_, err := m.f.Store.RequestCancel(m.f.Context(), r.Tenant, r.ID, "stop it")
	m.same(rt, "cancel", err, m.model.cancel(r, "stop it"))
	m.touched = r
}

// prune keeps what ended by other times than the clock's steps.
func (m *machine) prune(rt *rapid.T) {
	keep := func(what string) time.Duration {
		return time.Duration(rapid.IntRange(0, 3).Draw(rt, what)) * (modelStep + modelStep/2)
	}
	r := journal.Retention{Completed: keep("completed"), Failed: keep("failed"), Cancelled: keep("cancelled")}
	for more := true; more; {
		p, err := m.f.Store.Prune(m.f.Context(), r, 10)
		m.same(rt, "prune", err, nil)
		more = p.More
	}
	m.model.prune(r)
}

func (m *machine) deleteRun(rt *rapid.T) {
	r := pick(rt, "run", m.runs)
	m.same(rt, "delete", m.f.Store.DeleteRun(m.f.Context(), r.Tenant, r.ID), m.model.deleteRun(r))
	m.touched = r
}

func (m *machine) resume(rt *rapid.T) {
	r := pick(rt, "run", m.runs)
	_, err := m.f.Store.Resume(m.f.Context(), r.Tenant, r.ID)
	m.same(rt, "resume", err, m.model.resume(r))
	m.touched = r
}

// hold stops everything, now and then: a walk would be mostly that.
func (m *machine) hold(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "hold") > 0 {
		rt.Skip("not now")
	}
	for more := true; more; {
		h, err := m.f.Store.Hold(m.f.Context(), "restored: text", 2)
		m.same(rt, "hold", err, nil)
		more = h.More
	}
	m.model.hold()
}

func (m *machine) register(rt *rapid.T) {
	name := rapid.SampledFrom([]string{"n1", "n2"}).Draw(rt, "name")
	n, err := m.f.Store.Register(m.f.Context(), name, modelTTL)
	m.same(rt, "register", err, nil)
	for id, o := range m.nodes {
		// What has lapsed and owns nothing is forgotten, and does not come back with the clock.
		o.ended = o.ended || o.name == name || !m.live(id) && !m.owns(id)
	}
	m.nodes[n.ID] = &modelNode{name: name, expires: m.now + modelTTL}
	m.nodeIDs = append(m.nodeIDs, n.ID)
}

func (m *machine) heartbeat(rt *rapid.T) {
	id := pick(rt, "node", m.nodeIDs)
	_, err := m.f.Store.Heartbeat(m.f.Context(), id, modelTTL)
	if !m.live(id) {
		m.same(rt, "heartbeat", err, journal.ErrNodeLapsed)
		return
	}
	m.same(rt, "heartbeat", err, nil)
	m.nodes[id].expires = m.now + modelTTL
}

func (m *machine) unregister(rt *rapid.T) {
	id := pick(rt, "node", m.nodeIDs)
	m.same(rt, "unregister", m.f.Store.Unregister(m.f.Context(), id), nil)
	m.nodes[id].ended = true
}

func (m *machine) advance(*rapid.T) {
	m.f.Advance(modelStep)
	m.now += modelStep
	m.latest = max(m.latest, m.now)
}

func (m *machine) goBack(*rapid.T) {
	m.f.Advance(-modelStep)
	m.now -= modelStep
}

// restart opens the store again, now and then, for it takes long. A store that one process has alone ends every
// registration by that; which it has ended is not part of the contract.
func (m *machine) restart(rt *rapid.T) {
	if m.f.Reopen == nil || rapid.IntRange(0, 5).Draw(rt, "restart") > 0 {
		rt.Skip("not now")
	}
	m.f.Store = m.f.Reopen()
	live := map[string]bool{}
	for _, n := range m.f.nodes() {
		live[n.ID] = n.Live
	}
	for id, n := range m.nodes {
		n.ended = n.ended || m.live(id) && !live[id]
	}
}

func (m *machine) claim(rt *rapid.T) {
	node := recent(rt, "node", m.nodeIDs)
	w := journal.Want{Limit: rapid.IntRange(0, 3).Draw(rt, "limit"), PerTenant: rapid.IntRange(0, 3).Draw(rt, "per tenant"), Held: map[tenant.ID]int{}}
	for _, t := range m.tenants {
		if held := rapid.IntRange(0, 3).Draw(rt, "held"); held > 0 {
			w.Held[t] = held
		}
	}
	got, err := m.f.Store.Claim(m.f.Context(), node, w)
	if !m.live(node) {
		m.same(rt, "claim", err, journal.ErrNodeLapsed)
		return
	}
	m.same(rt, "claim", err, nil)
	due, takeover := m.claimable()
	want := share(due, w)
	if len(got.Claims) != len(want) {
		rt.Fatalf("claim of %+v: got %d runs, want %d of %d", w, len(got.Claims), len(want), len(due))
	}
	if takeover {
		m.sameShare(rt, got.Claims, want)
	}
	for i, c := range got.Claims {
		r := m.byID(rt, due, c.Run.ID)
		if !takeover && r != want[i] {
			rt.Fatalf("claim: got run %s at %d, want %s, which was due first", r.ID, i, want[i].ID)
		}
		if from := m.model.claim(r, node); c.StolenFrom != from {
			rt.Fatalf("claim: got stolen from %q, want %q", c.StolenFrom, from)
		}
		m.compareRun(rt, "claimed run", c.Run, r)
		m.leases = append(m.leases, lease{c.Lease, r})
	}
}

// sameShare compares what the tenants got where the order of due times is not known: by levels, tenants differ at
// most by who had the last place.
func (m *machine) sameShare(rt *rapid.T, got []journal.Claim, want []*modelRun) {
	balance := map[tenant.ID]int{}
	for i, c := range got {
		balance[c.Run.Tenant]++
		balance[want[i].Tenant]--
	}
	for t, n := range balance {
		if n < -1 || n > 1 {
			rt.Fatalf("claim: %s got %+d runs more than its share", t, n)
		}
	}
}

func (m *machine) byID(rt *rapid.T, runs []*modelRun, id journal.RunID) *modelRun {
	for _, r := range runs {
		if r.ID == id {
			return r
		}
	}
	rt.Fatalf("claim: got run %s, which may not be claimed", id)
	return nil
}

func (m *machine) commit(rt *rapid.T) {
	l := recent(rt, "lease", m.leases)
	b := m.batch(rt, l.run)
	m.send(rt, commit{l, b})
	m.commits = append(m.commits, commit{l, b})
}

func (m *machine) commitAgain(rt *rapid.T) { m.send(rt, recent(rt, "commit", m.commits)) }

func (m *machine) send(rt *rapid.T, c commit) {
	got, err := m.f.Store.Commit(m.f.Context(), c.lease.Lease, c.batch)
	want, wantErr := m.model.commit(c.lease.run, c.lease.Lease, c.batch)
	m.same(rt, "commit", err, wantErr)
	if got != want {
		rt.Fatalf("commit: got state %s, want %s", got, want)
	}
	m.touched = c.lease.run
}

func (m *machine) batch(rt *rapid.T, r *modelRun) journal.Batch {
	var b journal.Batch
	offset := rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(rt, "offset")
	b.Entries = entries(max(0, r.NextSeq+offset), rapid.IntRange(0, 2).Draw(rt, "entries"))
	for i := range b.Entries {
		b.Entries[i].Payload = m.payload(rt, "payload", "p", "p", "q")
	}
	if rapid.Bool().Draw(rt, "stash") {
		op := rapid.Int32Range(1, 2).Draw(rt, "op")
		a := rapid.SampledFrom([]journal.Arrival{done(op, "x"), done(op, "y"), retry(op, 1), retry(op, 2)}).Draw(rt, "arrival")
		a.Payload = m.payload(rt, "outcome", string(a.Payload))
		b.Stash = append(b.Stash, a)
	}
	if rapid.Bool().Draw(rt, "observe") {
		b.Observed = append(b.Observed, rapid.SampledFrom([]string{"signal:s1", "signal:s2", "cancel", "op:1", "op:2"}).Draw(rt, "observed"))
	}
	if rapid.IntRange(0, 3).Draw(rt, "checkpoint") == 0 {
		b.Checkpoint = checkpoint(r.NextSeq+1, byte(rapid.IntRange(1, 3).Draw(rt, "fill")), rapid.SampledFrom([]int{1, 3000}).Draw(rt, "size"))
	}
	if rapid.IntRange(0, 2).Draw(rt, "release") == 0 {
		b.Next = &journal.Transition{SeenPos: rapid.Int64Range(0, r.InboxPos).Draw(rt, "seen"), KeepAttempts: rapid.Bool().Draw(rt, "keep attempts"),
			State: rapid.SampledFrom([]journal.State{journal.Waiting, journal.Waiting, journal.Waiting, journal.Ready, journal.Paused, journal.Blocked, journal.Completed, journal.Failed, journal.Continued}).Draw(rt, "next")}
		switch b.Next.State {
		case journal.Waiting:
			if rapid.Bool().Draw(rt, "timer") {
				b.Next.WakeAt = m.f.now().Add(modelTimer)
			}
		case journal.Completed:
			b.Next.Output = m.payload(rt, "output", "out")
		case journal.Continued:
			b.Next.Successor = &journal.Run{ID: journal.NewRunID(), Key: r.Key, Workflow: r.Workflow, Digest: r.Digest, Input: m.payload(rt, "input", "a", "b")}
		case journal.Failed:
			b.Next.Failure = []byte(`{"code":"x"}`)
		}
		b.Next.Parent = r.Parent != journal.RunID{} && b.Next.Successor == nil
	}
	if b.Next == nil || b.Next.State == journal.Waiting {
		m.family(rt, r, &b)
	}
	return b
}

// family lets a run that has no child that ends with it start one, or gives that one up.
func (m *machine) family(rt *rapid.T, r *modelRun, b *journal.Batch) {
	switch child := m.bound(r); {
	case child == nil && rapid.IntRange(0, 2).Draw(rt, "child") == 0:
		c, marker := m.f.childOf(r.ID, int32(len(m.runs)+10), rapid.Bool().Draw(rt, "abandoned"))
		c.Tenant = r.Tenant
		b.Children, b.Stash = []journal.Run{c}, append(b.Stash, marker)
	case child != nil && rapid.IntRange(0, 3).Draw(rt, "give up") == 0:
		b.Cancels, b.Observed = []journal.RunID{child.ID}, append(b.Observed, fmt.Sprintf("op:%d", child.ParentOp))
	}
}

// check compares the run that the last action was about; the others are compared at the end.
func (m *machine) check(rt *rapid.T) {
	if m.touched != nil {
		m.compare(rt, m.touched)
	}
	m.touched = nil
}

func (m *machine) compare(rt *rapid.T, r *modelRun) {
	if r.gone {
		_, err := m.f.Store.Run(m.f.Context(), r.Tenant, r.ID)
		m.same(rt, "removed run", err, journal.ErrNotFound)
		m.compareCheckpoint(rt, r)
		return
	}
	m.compareCheckpoint(rt, r)
	s := m.f.snapshot(r.Tenant, r.ID)
	m.compareRun(rt, "run", s.Run, r)
	if len(s.Entries) != len(r.entries) {
		rt.Fatalf("entries: got %d, want %d", len(s.Entries), len(r.entries))
	}
	for i, e := range s.Entries {
		if !e.Same(r.entries[i]) || e.Token != r.entries[i].Token {
			rt.Fatalf("entry: got %+v, want %+v", e, r.entries[i])
		}
	}
	var want []journal.Arrival
	for _, a := range r.inbox {
		if a.open {
			want = append(want, a.Arrival)
		}
	}
	if len(s.Arrivals) != len(want) {
		rt.Fatalf("open arrivals: got %v, want %v", ids(s.Arrivals), ids(want))
	}
	for i, a := range s.Arrivals {
		if w := want[i]; a.ID != w.ID || a.Pos != w.Pos || a.Kind != w.Kind || string(a.Payload) != string(w.Payload) || a.Attempt != w.Attempt {
			rt.Fatalf("arrival: got %+v, want %+v", a, w)
		}
	}
}

func (m *machine) compareCheckpoint(rt *rapid.T, r *modelRun) {
	got, err := m.f.Store.Checkpoint(m.f.Context(), r.Tenant, r.ID)
	want, wantErr := r.cp, error(nil)
	if r.cp.Seq == 0 {
		wantErr = journal.ErrNotFound
	}
	m.same(rt, "checkpoint", err, wantErr)
	if got.Seq != want.Seq || got.Key != want.Key || string(got.Packed) != string(want.Packed) {
		rt.Fatalf("checkpoint: got %d bytes of %q at seq %d, want %d of %q at %d", len(got.Packed), got.Key, got.Seq, len(want.Packed), want.Key, want.Seq)
	}
}

func (m *machine) compareRun(rt *rapid.T, what string, got journal.Run, want *modelRun) {
	if got.State != want.State || got.Owner != want.Owner || got.Token != want.Token || got.Attempts != want.Attempts ||
		got.Parent != want.Parent || got.ParentOp != want.ParentOp || got.Depth != want.Depth || got.Abandoned != want.Abandoned || got.Successor != want.Successor ||
		got.NextSeq != want.NextSeq || got.InboxPos != want.InboxPos || got.CheckpointSeq != want.CheckpointSeq || got.CancelRequested != want.CancelRequested ||
		string(got.Output) != string(want.Output) || string(got.Failure) != string(want.Failure) ||
		got.FinishedAt.IsZero() == want.State.Terminal() || got.WakeAt.IsZero() == (want.State == journal.Waiting && want.timer) {
		rt.Fatalf("%s:\n got %+v\nwant %+v", what, got, want.Run)
	}
}

// endAll puts every run of a walk out of the way of the next.
func (m *machine) endAll() {
	m.f.Advance(m.latest - m.now + 2*modelTTL)
	for _, r := range m.runs {
		// A waiting run that has seen an earlier request is woken by the signal, any other by the request.
		_, _ = m.f.Store.Signal(m.f.Context(), r.Tenant, r.ID, "end", "end", nil)
		_, _ = m.f.Store.RequestCancel(m.f.Context(), r.Tenant, r.ID, "end")
	}
	node := m.f.register("undertaker")
	for {
		cs := m.f.claims(node, 100).Claims
		if len(cs) == 0 {
			return
		}
		for _, c := range cs {
			m.f.commit(c.Lease, journal.Batch{Next: &journal.Transition{State: journal.Terminated}})
		}
	}
}
