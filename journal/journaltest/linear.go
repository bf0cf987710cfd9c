package journaltest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"reprise/journal"
)

// fenced is one run as several nodes see it: a register that only the holder of the newest token may write.
type fenced struct {
	owner int   // boot, 0 for nobody
	token int64 // of the last claim
	next  int64 // seq of the next entry
	ended uint64
}

func (f fenced) live(boot int) bool { return f.ended&(1<<boot) == 0 }

// An asked is what a node asks of the store; seq is of an append.
type asked struct {
	what       string
	boot       int
	token, seq int64
}

// An answer is what it was told: got of a claim that gave the run, and of a read that found an owner.
type answer struct {
	err        error // nil, ErrFenced, ErrConflict or ErrNodeLapsed
	got        bool
	boot       int
	token, seq int64
}

// step is the model. Claims that give nothing are left out of a history, because they always may: a row that
// somebody has locked is left to the next claim.
func (f fenced) step(in asked, out answer) (bool, fenced) {
	holds := f.owner == in.boot && f.token == in.token && f.live(in.boot)
	switch in.what {
	case "claim":
		if out.err != nil || !f.live(in.boot) {
			return out.err == journal.ErrNodeLapsed && !f.live(in.boot), f
		}
		free := f.owner == 0 || !f.live(f.owner)
		f.owner, f.token = in.boot, f.token+1
		return free && out.token == f.token && out.seq == f.next, f
	case "append":
		switch {
		case !holds:
			return out.err == journal.ErrFenced, f
		case in.seq != f.next:
			return out.err == journal.ErrConflict, f
		}
		f.next++
		return out.err == nil, f
	case "release":
		if !holds {
			return out.err == journal.ErrFenced, f
		}
		f.owner = 0
		return out.err == nil, f
	case "end":
		f.ended |= 1 << in.boot
		return out.err == nil, f
	default: // read
		return out.token == f.token && out.seq == f.next && out.boot == f.owner, f
	}
}

var fencedModel = porcupine.Model{
	Init: func() any { return fenced{} },
	Step: func(state, in, out any) (bool, any) {
		ok, next := state.(fenced).step(in.(asked), out.(answer))
		return ok, next
	},
}

// testLinear records what several nodes ask of one run at once, and are told, with the times of both, and
// looks for an order in which a single fenced register would have told the same.
func testLinear(t *testing.T, open Open) {
	cases(t, open, []testCase{
		{"claims, appends and releases of one run", func(f *fixture) {
			for seed := range uint64(12) {
				h := record(f, f.Store, seed)
				if verdict := h.check(); verdict != porcupine.Ok {
					f.Fatalf("seed %d: got %s, want an order that explains the history:\n%s", seed, verdict, h)
				}
			}
		}},
		{"a store that ignores tokens is found", func(f *fixture) { finds(f, tokenless{f.Store}) }},
		{"a store that gives a run to two is found", func(f *fixture) { finds(f, &generous{Store: f.Store}) }},
	})
}

// finds checks that the search for an order notices a broken store.
func finds(f *fixture, broken journal.Store) {
	for seed := range uint64(30) {
		if record(f, broken, seed).check() == porcupine.Illegal {
			return
		}
	}
	f.Fatal("got an order for every history of a broken store")
}

// tokenless is a store that lets anybody write a run that somebody owns.
type tokenless struct{ journal.Store }

func (s tokenless) Commit(ctx context.Context, l journal.Lease, b journal.Batch) (journal.State, error) {
	if r, err := s.Run(ctx, l.Tenant, l.Run); err == nil && r.State == journal.Running {
		l.Node, l.Token = r.Owner, r.Token
	}
	return s.Store.Commit(ctx, l, b)
}

// generous is a store that gives what it has given before, when it has nothing else.
type generous struct {
	journal.Store
	mu   sync.Mutex
	last []journal.Claim
}

func (s *generous) Claim(ctx context.Context, node string, w journal.Want) (journal.Claims, error) {
	got, err := s.Store.Claim(ctx, node, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && len(got.Claims) == 0 {
		got.Claims = s.last
	} else if err == nil {
		s.last = got.Claims
	}
	return got, err
}

// A history is what one record saw.
type history struct {
	f     *fixture
	store journal.Store
	run   journal.RunID
	began time.Time
	boots atomic.Int64
	next  atomic.Int64 // about the seq of the next entry, so that who has no right writes at the right place

	mu    sync.Mutex
	ops   []porcupine.Operation
	nodes map[string]int // boot of a registration
}

// Bounds of a history; boots fit in fenced.ended.
const (
	linearClients = 4
	linearSteps   = 60
	linearBoots   = 60
)

func record(f *fixture, store journal.Store, seed uint64) *history {
	f.Helper()
	h := &history{f: f, store: store, run: f.create(f.newRun()).ID, began: time.Now(), nodes: map[string]int{}}
	f.together(linearClients, func(i int) error {
		c := client{history: h, id: i, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		return c.act()
	})
	for node := range h.nodes {
		f.must(f.Store.Unregister(f.Context(), node))
	}
	f.commit(f.claim(f.register("undertaker")).Lease, journal.Batch{Next: &journal.Transition{State: journal.Terminated}})
	return h
}

func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(fencedModel, h.ops, time.Minute)
}

// String is the history in the order of the calls.
func (h *history) String() string {
	slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range h.ops {
		fmt.Fprintf(&b, "%9d-%9d client %d %+v: %+v\n", o.Call, o.Return, o.ClientId, o.Input, o.Output)
	}
	return b.String()
}

// client is one node, boot after boot.
type client struct {
	*history
	id   int
	rand *rand.Rand

	node   string
	boot   int
	leases []held // newest last
	steps  int
}

type held struct {
	journal.Lease
	boot int
	open bool // it believes so
}

func (c *client) act() error {
	if err := c.register(); err != nil {
		return err
	}
	for c.steps < linearSteps {
		if err := c.one(); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

// one takes a step: mostly what a good node would do, sometimes with a lease of long ago.
func (c *client) one() error {
	n := len(c.leases)
	switch p := c.rand.IntN(100); {
	case p < 10:
		return c.read()
	case p < 25 && n > 0:
		l := c.leases[c.rand.IntN(n)]
		if p < 20 {
			return c.append(&l)
		}
		return c.release(&l)
	case n == 0 || !c.leases[n-1].open:
		return c.claim()
	case p < 35 && c.boots.Load() < linearBoots:
		return c.reboot()
	case p < 50:
		return c.release(&c.leases[n-1])
	default:
		return c.append(&c.leases[n-1])
	}
}

// ask notes an operation around its call.
func (c *client) ask(in asked, do func() (answer, error)) (answer, error) {
	call := time.Since(c.began).Nanoseconds()
	out, err := do()
	done := time.Since(c.began).Nanoseconds()
	for _, known := range []error{journal.ErrFenced, journal.ErrConflict, journal.ErrNodeLapsed} {
		if errors.Is(err, known) {
			out, err = answer{err: known}, nil
		}
	}
	if err != nil {
		return out, fmt.Errorf("%+v: %w", in, err)
	}
	if c.steps++; in.what == "claim" && err == nil && out.err == nil && !out.got {
		return out, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, porcupine.Operation{ClientId: c.id, Input: in, Call: call, Output: out, Return: done})
	return out, nil
}

func (c *client) register() error {
	n, err := c.store.Register(c.f.Context(), fmt.Sprint("client", c.id), ttl)
	if err != nil {
		return err
	}
	c.node, c.boot = n.ID, int(c.boots.Add(1))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[c.node] = c.boot
	return nil
}

func (c *client) reboot() error {
	_, err := c.ask(asked{what: "end", boot: c.boot}, func() (answer, error) {
		return answer{}, c.store.Unregister(c.f.Context(), c.node)
	})
	if err != nil {
		return err
	}
	return c.register()
}

func (c *client) claim() error {
	var l journal.Lease
	out, err := c.ask(asked{what: "claim", boot: c.boot}, func() (answer, error) {
		got, err := c.store.Claim(c.f.Context(), c.node, journal.Want{Limit: 1})
		if err != nil || len(got.Claims) == 0 {
			return answer{}, err
		}
		r := got.Claims[0].Run
		l = got.Claims[0].Lease
		l.Node = c.node
		return answer{got: true, token: r.Token, seq: r.NextSeq}, nil
	})
	if out.got {
		c.next.Store(out.seq)
		c.leases = append(c.leases, held{l, c.boot, true})
	}
	return err
}

func (c *client) append(l *held) error {
	e := entry(c.next.Load())
	e.Name = fmt.Sprintf("%d of client %d", c.steps, c.id) // no two are a repeat of each other
	out, err := c.ask(asked{what: "append", boot: l.boot, token: l.Token, seq: e.Seq}, func() (answer, error) {
		_, err := c.store.Commit(c.f.Context(), l.Lease, journal.Batch{Entries: []journal.Entry{e}})
		return answer{}, err
	})
	if l.open = out.err != journal.ErrFenced; out.err == nil {
		c.next.Store(e.Seq + 1)
	}
	return err
}

func (c *client) release(l *held) error {
	b := journal.Batch{Published: []journal.Published{{Key: "by", Value: fmt.Appendf(nil, "%d of client %d", c.steps, c.id)}}, Next: &journal.Transition{State: journal.Ready}}
	_, err := c.ask(asked{what: "release", boot: l.boot, token: l.Token}, func() (answer, error) {
		_, err := c.store.Commit(c.f.Context(), l.Lease, b) // no two are a repeat of each other
		return answer{}, err
	})
	l.open = false
	return err
}

func (c *client) read() error {
	_, err := c.ask(asked{what: "read"}, func() (answer, error) {
		r, err := c.store.Run(c.f.Context(), acme, c.run)
		c.mu.Lock()
		defer c.mu.Unlock()
		return answer{got: r.Owner != "", boot: c.nodes[r.Owner], token: r.Token, seq: r.NextSeq}, err
	})
	return err
}
