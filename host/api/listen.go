package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// ErrNotLoopback is returned by Listen for an address that others can reach when there are no tokens.
var ErrNotLoopback = errors.New("without tokens only a loopback address may be listened on")

// Listen opens an address. When open is true, for a host without tokens, it must be a loopback address
// given as an IP address or as localhost.
func Listen(addr string, open bool) (net.Listener, error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %.80q: %w", addr, err)
	}
	if open {
		if name == "localhost" {
			name = "127.0.0.1" // a name server must not decide who can reach us
		}
		ip, err := netip.ParseAddr(name)
		if err != nil || !ip.IsLoopback() {
			return nil, fmt.Errorf("listen on %.80q: %w", addr, ErrNotLoopback)
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, fmt.Errorf("listen on %.80q: %w", addr, err)
	}
	return l, nil
}

// NewServer serves a handler with limits on what a slow or hostile client can hold. Bodies have
// their own deadline (Config.BodyTimeout); the server has none for them, because it would also end waits.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      MaxWait + time.Minute, // a wait, then a slow reader
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
