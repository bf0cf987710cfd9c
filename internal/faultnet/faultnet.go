// Package faultnet owns a proxy between clients and a server that speak Postgres' protocol. It forwards
// message by message, and on command it loses answers, resets connections at an exact message, stops
// forwarding with the sockets open, delays, or refuses. It never looks into what a message means beyond its
// header. Only tests call it.
package faultnet

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Side is who sent a message.
type Side int

// The two sides of a connection.
const (
	Client Side = iota
	Server
)

// Proxy stands before one server. Its zero value is not usable.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup
	closed   chan struct{}

	mu      sync.Mutex
	target  string
	refuse  bool
	held    [2]bool // by the side whose messages wait
	delay   time.Duration
	changed chan struct{} // closed when held changes
	links   map[*link]bool
	served  int
	fault   *armed
}

// New starts a proxy on a free loopback port that forwards to target, host:port. The end of the test ends it,
// with every connection and goroutine.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy: %v", err)
	}
	p := &Proxy{listener: l, target: target, closed: make(chan struct{}), changed: make(chan struct{}), links: map[*link]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Before starts a proxy before the server of a DSN in URL form, and returns it with the DSN that leads
// through it.
func Before(t testing.TB, dsn string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Port() == "" {
		t.Fatalf("the DSN is not a URL with a host and a port, which a proxy needs")
	}
	p := New(t, u.Host)
	u.Host = p.Addr()
	return p, u.String()
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Retarget sends the connections that come from now on to another server. Those that exist stay.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Refuse resets each new connection, as a port without a server does, until it is called with false.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Hold stops forwarding what the given sides send, on every connection, also on new ones: a black hole.
// The sockets stay open. What was sent meanwhile is delivered after Release, in order, also the end of a
// connection.
func (p *Proxy) Hold(sides ...Side) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range sides {
		p.held[s] = true
	}
}

// Release ends Hold.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = [2]bool{}
	close(p.changed)
	p.changed = make(chan struct{})
}

// Delay makes every message wait for d before it is forwarded.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Reset ends every connection by a TCP reset to both sides.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Connections is how many there are now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Served is how many connections there have been.
func (p *Proxy) Served() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
}

func (p *Proxy) close() {
	close(p.closed)
	_ = p.listener.Close()
	p.Reset()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn.(*net.TCPConn)) })
	}
}

// serve carries one connection to its end.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	target, refuse := p.target, p.refuse
	p.mu.Unlock()
	if refuse {
		abort(client)
		return
	}
	conn, err := net.DialTimeout("tcp", target, 10*time.Second)
	if err != nil {
		abort(client)
		return
	}
	l := &link{p: p, ends: [2]*net.TCPConn{client, conn.(*net.TCPConn)}, gone: make(chan struct{})}
	p.mu.Lock()
	p.links[l] = true
	p.served++
	p.mu.Unlock()
	select {
	case <-p.closed: // it missed the link
		l.reset()
	default:
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(Client) })
	both.Go(func() { l.carry(Server) })
	both.Wait()
	l.reset()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// abort closes a connection by a reset.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// String names a side.
func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return fmt.Sprintf("Side(%d)", int(s))
}
