package postgres

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"reprise/journal"
	"reprise/modules"
)

// answerEater loses answers of the server: when it is armed, the next statement is carried out and
// committed, and instead of the answer the client sees its connection end.
type answerEater struct{ armed, eaten atomic.Int32 }

func (e *answerEater) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	return &eatenConn{Conn: conn, e: e}, err
}

type eatenConn struct {
	net.Conn
	e    *answerEater
	hint bool // the last statement was a notification, which is not what a test is about
}

func (c *eatenConn) Write(p []byte) (int, error) {
	c.hint = bytes.Contains(p, []byte("pg_notify"))
	return c.Conn.Write(p)
}

// readyForQuery is the message that follows a statement's commit.
var readyForQuery = []byte("Z\x00\x00\x00\x05I")

func (c *eatenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil || c.hint || !c.take() {
		return n, err
	}
	for buf := p[:n]; !bytes.HasSuffix(buf, readyForQuery); {
		part := make([]byte, 4096)
		if n, err = c.Conn.Read(part); err != nil {
			return 0, err
		}
		buf = append(buf[:len(buf):len(buf)], part[:n]...)
	}
	_ = c.Conn.Close()
	c.e.eaten.Add(1)
	return 0, io.ErrUnexpectedEOF
}

// take uses up one arming.
func (c *eatenConn) take() bool {
	for {
		n := c.e.armed.Load()
		if n == 0 || c.e.armed.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// eatenFixture has one connection and one round trip a statement, so that an armed eater hits the
// statement that it is meant for.
func eatenFixture(t *testing.T) (*fixture, *answerEater) {
	e := &answerEater{}
	b := newTestbed(t)
	b.cfg.DSN += "&default_query_exec_mode=exec"
	b.cfg.MaxConns = 1
	b.cfg.dial = e.dial
	return newFixtureOn(t, b), e
}

// TestEveryCallSurvivesALostAnswer loses the answer to each kind of write. The call must come out as if
// the answer had come, and must have been carried out once.
func TestEveryCallSurvivesALostAnswer(t *testing.T) {
	f, e := eatenFixture(t)
	ctx := t.Context()
	ls := f.ownedMany(4)
	fresh := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: "order", Digest: f.digest, Key: "k", IdempotencyKey: "i"}
	wasm := []byte("another module")
	release := journal.Batch{Entries: entries(0, 1), Next: &journal.Transition{State: journal.Completed}}
	bare := journal.Batch{Next: &journal.Transition{State: journal.Waiting}}
	for _, c := range []struct {
		name string
		do   func() bool
	}{
		{"create", func() bool { _, created, err := f.s.Create(ctx, fresh); f.must(err); return created }},
		{"begin", func() bool {
			r := journal.Run{Tenant: acme, ID: journal.NewRunID(), Workflow: string(f.digest), Digest: f.digest}
			r, created, err := f.s.Begin(ctx, r, ls[0].Node, journal.Entry{})
			f.must(err)
			return created && r.State == journal.Running && r.Owner == ls[0].Node && r.Token == 1 && len(f.entries(r.ID)) == 1
		}},
		{"claim", func() bool {
			cs, err := f.s.Claim(ctx, ls[0].Node, journal.Want{Limit: 10})
			f.must(err)
			return len(cs.Claims) == 1 && cs.Claims[0].Lease.Token == 1 && cs.Claims[0].Run.Attempts == 1
		}},
		{"append", func() bool {
			s, err := f.s.Commit(ctx, ls[0], journal.Batch{Entries: entries(0, 2)})
			f.must(err)
			return s == journal.Running && len(f.entries(ls[0].Run)) == 2
		}},
		{"end", func() bool { s, err := f.s.Commit(ctx, ls[1], release); f.must(err); return s == journal.Completed }},
		{"suspension without entries", func() bool { s, err := f.s.Commit(ctx, ls[2], bare); f.must(err); return s == journal.Waiting }},
		{"signal", func() bool {
			_, err := f.s.Signal(ctx, acme, ls[3].Run, "s1", "paid", nil)
			f.must(err)
			as, err := f.s.Arrivals(ctx, acme, ls[3].Run, 0)
			f.must(err)
			return len(as) == 1
		}},
		{"module", func() bool {
			created, err := f.s.PutModule(ctx, modules.Module{Tenant: acme, Digest: modules.DigestOf(wasm), Shape: modules.Reactor}, wasm)
			f.must(err)
			return created
		}},
		{"alias", func() bool {
			a, moved, err := f.s.SetAlias(ctx, acme, "order", f.digest)
			f.must(err)
			return moved && a.Version == 1
		}},
		{"heartbeat", func() bool { _, err := f.s.Heartbeat(ctx, ls[0].Node, ttl); f.must(err); return true }},
		{"unregister", func() bool { f.must(f.s.Unregister(ctx, ls[0].Node)); return true }},
		{"hold: runs", func() bool {
			_, err := f.s.hold(ctx, holdWaitingSQL, "why", journal.HoldTokens, 10)
			f.must(err)
			r, err := f.s.Run(ctx, acme, ls[2].Run)
			f.must(err)
			return r.State == journal.Paused && r.Token == 1+journal.HoldTokens
		}},
		{"hold: nodes", func() bool {
			h, err := f.s.Hold(ctx, "why", 10)
			f.must(err)
			return h.Runs > 0 && h.More
		}},
	} {
		e.eaten.Store(0)
		e.armed.Store(1)
		if !c.do() {
			t.Errorf("%s: the call did not come out as if its answer had come", c.name)
		}
		if e.armed.Load() != 0 || e.eaten.Load() != 1 {
			t.Errorf("%s: got %d answers lost, want 1", c.name, e.eaten.Load())
		}
	}
}

// TestResumeIsNotRepeated: after a lost answer nobody knows whether the run was held again since.
func TestResumeIsNotRepeated(t *testing.T) {
	f, e := eatenFixture(t)
	l := f.owned()
	_, err := f.s.Commit(t.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Paused}})
	f.must(err)
	e.armed.Store(1)
	if _, err := f.s.Resume(t.Context(), acme, l.Run); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("resume: got %v, want the connection's error", err)
	}
	r, err := f.s.Run(t.Context(), acme, l.Run)
	f.must(err)
	if r.State != journal.Ready {
		t.Errorf("run: got %s, want ready, for the statement was carried out", r.State)
	}
}
