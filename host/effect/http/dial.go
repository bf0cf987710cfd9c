package httpeffect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// dialTimeout bounds one address, so that one that does not answer leaves time for the next.
const dialTimeout = 10 * time.Second

// transport speaks HTTP/1.1 only: one connection is one exchange at a time, and a hostile peer has no
// frames to flood with. Compressed bodies are passed on as they are, so a small one cannot grow.
func (h *handler) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            h.dial,
		Proxy:                  nil, // the environment's proxy would see the requests and dial for us
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    dialTimeout,
		TLSClientConfig:        &tls.Config{RootCAs: h.roots, MinVersion: tls.VersionTLS12},
		Protocols:              protocols,
	}
}

// dial connects to a host by the rule for its name and port. The rule is found anew here, from what is
// dialled and not from what was asked, and each address is judged once more on the socket, just before
// it connects: a name that changes its mind between two look-ups gains nothing.
func (h *handler) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	r, err := h.rules.find(host, port)
	if err != nil {
		return nil, err
	}
	addrs, err := h.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err := h.rules.check(r, netip.AddrPortFrom(a, portNumber(port)), host); err != nil {
			return nil, err
		}
	}
	d := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		return h.rules.check(r, to, host)
	}}
	var conn net.Conn
	for _, a := range addrs {
		conn, err = d.DialContext(ctx, "tcp", netip.AddrPortFrom(a.Unmap(), portNumber(port)).String())
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

func (h *handler) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := h.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, nil
}
