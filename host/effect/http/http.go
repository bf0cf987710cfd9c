// Package httpeffect owns the effect http.request: one HTTP exchange with a host that the operator
// allowed. The guest chooses the URL and is not trusted, so the package decides where a connection may
// go, by name and again by the address that is dialled, and bounds what comes back while it reads. It
// never follows a redirect, never uses a proxy, keeps no cookies and retries nothing itself. cmd/host
// makes the effect; exec calls it. docs/EFFECTS.md has the guest's side.
package httpeffect

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/tenant"
)

// Name is the name under which the effect is registered.
const Name = "http.request"

// Resolver turns a name into addresses; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config says where guests may connect to, and how much one exchange may take.
type Config struct {
	// Allow lists what guests may reach. The default is nothing. An entry is HOST or HOST:PORT, with
	// "+private" behind it or not:
	//
	//	api.example.org         that name, ports 80 and 443
	//	api.example.org:8443    that name, that port; the port * is every port
	//	*.example.org           every name below it, at any depth
	//	*                       every name and every public address
	//	203.0.114.7  [::1]:80   that address, be it public, private or loopback
	//	localhost:9000          that name; it may resolve to loopback addresses
	//	db.corp+private         that name; it may resolve to private and loopback addresses
	//
	// A name that resolves to any address in a denied range is not reached, unless its entry says so.
	Allow []string
	// Deny lists addresses that no guest reaches whatever Allow says: the host's own API and database. An
	// unspecified IP stands for every address of this machine.
	Deny []netip.AddrPort
	// Timeout bounds one exchange, from the name's resolution to the last byte of the body. A guest may
	// ask for less. Default 30s.
	Timeout time.Duration
	// MaxResponse bounds a response's body in bytes. Default 1 MiB.
	MaxResponse int64
	// MaxConcurrent bounds the exchanges of one tenant at once; others wait within their timeout.
	// Default 64.
	MaxConcurrent int
	// Resolver resolves names. Default: Go's own resolver, which takes 127.1 or 0x7f000001 for no address.
	Resolver Resolver
	// RootCAs are the authorities that TLS trusts. Default: the system's.
	RootCAs *x509.CertPool
}

const (
	// maxHeader bounds the headers of a request, and those of a response, in bytes.
	maxHeader = 64 << 10
	// idleTimeout bounds how long an unused connection is kept.
	idleTimeout = 30 * time.Second
	// maxIdle bounds the unused connections of one tenant.
	maxIdle = 16
)

// retry is the policy for guests that give none: three attempts within about a second.
var retry = abi.Retry{Attempts: 3, BackoffMS: 200, Factor: 2}

// New makes the effect. It fails on an entry of Allow that it cannot read.
func New(c Config) (effect.Effect, error) {
	h, err := newHandler(c)
	if err != nil {
		return effect.Effect{}, err
	}
	return effect.Effect{Handler: h, Retry: retry}, nil
}

type handler struct {
	rules       rules
	resolver    Resolver
	roots       *x509.CertPool
	timeout     time.Duration
	maxResponse int64
	concurrent  int

	mu    sync.Mutex
	lanes map[tenant.ID]*lane
}

// lane is what one tenant has for itself: connections are not shared, because a peer may tie what it
// knows of a caller to the connection.
type lane struct {
	transport *http.Transport
	slots     chan struct{}
}

func newHandler(c Config) (*handler, error) {
	h := &handler{resolver: c.Resolver, roots: c.RootCAs, timeout: c.Timeout, maxResponse: c.MaxResponse, concurrent: c.MaxConcurrent,
		lanes: make(map[tenant.ID]*lane)}
	if h.resolver == nil {
		h.resolver = &net.Resolver{PreferGo: true}
	}
	if h.timeout <= 0 {
		h.timeout = 30 * time.Second
	}
	if h.maxResponse <= 0 {
		h.maxResponse = 1 << 20
	}
	if h.concurrent <= 0 {
		h.concurrent = 64
	}
	var err error
	if h.rules, err = newRules(c.Allow, c.Deny); err != nil {
		return nil, fmt.Errorf("http effect: %w", err)
	}
	return h, nil
}

func (h *handler) lane(t tenant.ID) *lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.lanes[t]
	if !ok {
		l = &lane{transport: h.transport(), slots: make(chan struct{}, h.concurrent)}
		h.lanes[t] = l
	}
	return l
}

// Handle carries out one exchange.
func (h *handler) Handle(ctx context.Context, r effect.Request) ([]byte, error) {
	in, f := decode(r.Input)
	if f != nil {
		return nil, f
	}
	req, f := h.request(in, r.IdempotencyKey)
	if f != nil {
		return nil, f
	}
	timeout := h.timeout
	if in.TimeoutMS > 0 {
		timeout = min(timeout, time.Duration(in.TimeoutMS)*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	l := h.lane(r.Tenant)
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, failed(ctx, req.URL.Hostname(), ctx.Err())
	}
	// RoundTrip, unlike a Client, follows no redirect and reads no environment.
	resp, err := l.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, failed(ctx, req.URL.Hostname(), err)
	}
	defer resp.Body.Close()
	return h.response(ctx, req.URL.Hostname(), resp)
}
