package faultnet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stuck bounds every read of these tests: far longer than anything takes.
const stuck = 30 * time.Second

// toy is a server that answers each message with its text and ReadyForQuery.
type toy struct {
	addr string
	mu   sync.Mutex
	got  []string
}

func newToy(t *testing.T) *toy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &toy{addr: l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return s
}

func (s *toy) serve(conn net.Conn) {
	defer conn.Close()
	first := &reader{r: bufio.NewReader(conn), untyped: true}
	c := &client{conn: conn}
	m, err := first.next()
	if err != nil || m.code() != startupCode || c.send(readyForQuery, "I") != nil {
		return
	}
	for first.untyped = false; ; {
		m, err := first.next()
		if err != nil {
			return
		}
		body := string(m.bytes[5:])
		s.mu.Lock()
		s.got = append(s.got, body)
		s.mu.Unlock()
		if c.send('D', body) != nil || m.kind == 'Q' && c.send(readyForQuery, "I") != nil {
			return
		}
	}
}

// has waits until the server has got a message.
func (s *toy) has(t *testing.T, body string) {
	t.Helper()
	for deadline := time.Now().Add(stuck); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		there := slices.Contains(s.got, body)
		s.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server never got %q", body)
		}
	}
}

// client speaks messages.
type client struct {
	conn net.Conn
}

func dial(t *testing.T, p *Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(stuck))
	return &client{c}
}

// begun is a client that is through with the first messages.
func begun(t *testing.T, p *Proxy) *client {
	t.Helper()
	c := dial(t, p)
	if err := c.start("u", "d"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.answer(); err != nil {
		t.Fatal(err)
	}
	return c
}

// query sends messages of one exchange: all but the last are of kind P.
func (c *client) query(texts ...string) error {
	for i, text := range texts {
		kind := byte('P')
		if i == len(texts)-1 {
			kind = 'Q'
		}
		if err := c.send(kind, text); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) send(kind byte, body string) error {
	b := append([]byte{kind}, binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))...)
	_, err := c.conn.Write(append(b, body...))
	return err
}

func (c *client) start(user, database string) error {
	body := binary.BigEndian.AppendUint32(nil, startupCode)
	body = append(body, "user\x00"+user+"\x00database\x00"+database+"\x00\x00"...)
	_, err := c.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(4+len(body))), body...))
	return err
}

func (c *client) read() (kind byte, body string, err error) {
	head := make([]byte, 5)
	if _, err = io.ReadFull(c.conn, head); err != nil {
		return 0, "", err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(c.conn, b)
	return head[0], string(b), err
}

// answer reads to ReadyForQuery and returns the kinds of the messages and their bodies.
func (c *client) answer() (kinds, bodies string, err error) {
	for {
		kind, body, err := c.read()
		if err != nil {
			return kinds, bodies, err
		}
		kinds, bodies = kinds+string(kind), bodies+body
		if kind == readyForQuery {
			return kinds, bodies, nil
		}
	}
}

func TestPassesThrough(t *testing.T) {
	s := newToy(t)
	p := New(t, s.addr)
	c := begun(t, p)
	for _, text := range []string{"one", "", strings.Repeat("x", 1<<20)} {
		if err := c.query("before", text); err != nil {
			t.Fatal(err)
		}
		kinds, bodies, err := c.answer()
		if kinds != "DDZ" || bodies != "before"+text+"I" || err != nil {
			t.Fatalf("got %q with %d bytes, %v, want DDZ with what was sent", kinds, len(bodies), err)
		}
	}
	_ = c.conn.Close()
	waitFor(t, "the connection to go", func() bool { return p.Connections() == 0 })
}

// TestResetAtEachMessage: an exchange of two messages of the client and three of the server.
func TestResetAtEachMessage(t *testing.T) {
	for _, c := range []struct {
		from  Side
		at    int
		fires bool
		kinds string // of what may have come before the reset
	}{
		{Client, 1, true, ""}, {Client, 2, true, "D"}, {Client, 3, false, "DDZ"},
		{Server, 1, true, ""}, {Server, 2, true, "D"}, {Server, 3, true, "DD"}, {Server, 4, false, "DDZ"},
	} {
		s := newToy(t)
		p := New(t, s.addr)
		cl := begun(t, p)
		p.Arm(Fault{Begin: "now", From: c.from, At: c.at})
		if err := cl.query("earlier"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := cl.answer(); err != nil {
			t.Fatalf("%s %d: the exchange before: %v", c.from, c.at, err)
		}
		_ = cl.query("now", "and then") // may meet the reset
		kinds, _, err := cl.answer()
		if p.Fired() != c.fires || (err != nil) != c.fires || !strings.HasPrefix(c.kinds, kinds) {
			t.Errorf("%s %d: got %q, %v, fired %v; want at most %q, fired %v", c.from, c.at, kinds, err, p.Fired(), c.kinds, c.fires)
		}
		if c.fires {
			continue
		}
		_ = cl.query("later")
		if _, _, err := cl.answer(); err != nil {
			t.Errorf("%s %d: the exchange after: %v", c.from, c.at, err)
		}
	}
}

func TestEatenAnswer(t *testing.T) {
	s := newToy(t)
	p := New(t, s.addr)
	c, other := begun(t, p), begun(t, p)
	p.Arm(Fault{Begin: "prepare", Exchanges: 2, Eat: true})
	if err := c.query("prepare"); err != nil {
		t.Fatal(err)
	}
	if kinds, _, err := c.answer(); kinds != "DZ" || err != nil {
		t.Errorf("the first exchange: got %q, %v, want its answer", kinds, err)
	}
	if err := c.query("one", "two"); err != nil {
		t.Fatal(err)
	}
	if kinds, _, err := c.answer(); kinds != "" || !reset(err) {
		t.Errorf("the second exchange: got %q, %v, want a reset and nothing before it", kinds, err)
	}
	s.has(t, "two")
	if !p.Fired() {
		t.Error("the fault: got not fired, want fired")
	}
	if err := other.query("three"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.answer(); err != nil {
		t.Errorf("another connection: %v", err)
	}
}

func reset(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) }

func TestHeldMessagesComeAfterRelease(t *testing.T) {
	for _, side := range []Side{Client, Server} {
		s := newToy(t)
		p := New(t, s.addr)
		c := begun(t, p)
		p.Hold(side)
		if err := c.query("held"); err != nil {
			t.Fatal(err)
		}
		if side == Server {
			s.has(t, "held") // that way is open
		}
		answered := make(chan error, 1)
		go func() { _, _, err := c.answer(); answered <- err }()
		select {
		case err := <-answered:
			t.Errorf("hold of the %s: got an answer (%v), want none", side, err)
		case <-time.After(50 * time.Millisecond):
		}
		p.Release()
		if err := <-answered; err != nil {
			t.Errorf("hold of the %s: after release: %v", side, err)
		}
	}
}

// TestCloseEndsAHole is about the proxy's own goroutines, which goleak counts.
func TestCloseEndsAHole(t *testing.T) {
	s := newToy(t)
	p := New(t, s.addr)
	c := begun(t, p)
	p.Hold(Client, Server)
	if err := c.query("held"); err != nil {
		t.Fatal(err)
	}
	_ = c.conn.Close()
	if n := p.Connections(); n != 1 {
		t.Errorf("connections in the hole: got %d, want 1: nobody sees the end of the other", n)
	}
}

func TestRefuseResetRetarget(t *testing.T) {
	s, next := newToy(t), newToy(t)
	p := New(t, s.addr)
	c := begun(t, p)
	p.Retarget(next.addr)
	if err := c.query("to the first"); err != nil {
		t.Fatal(err)
	}
	s.has(t, "to the first")
	p.Reset()
	if _, _, err := c.answer(); err == nil { // its answer may have come before
		_, _, err = c.answer()
		if !reset(err) {
			t.Errorf("after a reset: got %v, want a reset", err)
		}
	}
	d := begun(t, p)
	if err := d.query("to the next"); err != nil {
		t.Fatal(err)
	}
	next.has(t, "to the next")
	p.Refuse(true)
	refused, err := net.Dial("tcp", p.Addr())
	if err == nil {
		_, err = refused.Read(make([]byte, 1))
		_ = refused.Close()
	}
	if !reset(err) {
		t.Errorf("while it refuses: got %v, want a reset", err)
	}
	p.Refuse(false)
	begun(t, p)
	if n := p.Served(); n != 3 {
		t.Errorf("connections served: got %d, want 3: the refused one is none", n)
	}
}

func TestDelay(t *testing.T) {
	s := newToy(t)
	p := New(t, s.addr)
	c := begun(t, p)
	const d = 20 * time.Millisecond
	p.Delay(d)
	began := time.Now()
	if err := c.query("late"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.answer(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*d {
		t.Errorf("there and back: got %s, want at least twice %s", took, d)
	}
}

// TestBeforePostgres loses the answer of a commit that Postgres has carried out.
func TestBeforePostgres(t *testing.T) {
	p, dsn := Before(t, pgtest.Database(t))
	database := dsn[strings.LastIndex(dsn, "/")+1:]
	database, _, _ = strings.Cut(database, "?")
	session := func() *client {
		c := dial(t, p)
		tls := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, tlsCode)
		if _, err := c.conn.Write(tls); err != nil {
			t.Fatal(err)
		}
		var no [1]byte
		if _, err := io.ReadFull(c.conn, no[:]); err != nil || no[0] != 'N' {
			t.Fatalf("asked for TLS: got %q, %v, want N", no, err)
		}
		if err := c.start("postgres", database); err != nil {
			t.Fatal(err)
		}
		if kinds, bodies, err := c.answer(); err != nil || !strings.HasPrefix(kinds, "R") {
			t.Fatalf("start: got %q %q, %v", kinds, bodies, err)
		}
		return c
	}
	c := session()
	_ = c.send('Q', "CREATE TABLE x AS SELECT 1 AS n\x00")
	if _, _, err := c.answer(); err != nil {
		t.Fatal(err)
	}
	p.Arm(Fault{Begin: "INSERT", Eat: true})
	_ = c.send('Q', "INSERT INTO x VALUES (2)\x00")
	if kinds, _, err := c.answer(); kinds != "" || !reset(err) || !p.Fired() {
		t.Errorf("insert: got %q, %v, fired %v, want a reset", kinds, err, p.Fired())
	}
	c = session()
	_ = c.send('Q', "SELECT sum(n)::text FROM x\x00")
	if _, bodies, err := c.answer(); err != nil || !strings.Contains(bodies, "3SELECT 1") {
		t.Errorf("sum: got %q, %v, want 3", bodies, err)
	}
	_ = c.send('X', "")
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(stuck); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}
