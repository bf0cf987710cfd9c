package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ledger is the world outside: it books each idempotency key once, answers a repeat as it answered the first, and
// remembers what was asked under which key.
type ledger struct {
	srv    *http.Server
	url    string
	served chan struct{}
	fault  fault

	mu       sync.Mutex
	booked   map[string]*record // by idempotency key
	counters map[string]int64
	requests int64
	oddities []finding
}

// record is what the ledger knows of one key.
type record struct {
	body     string // of the first request
	answer   string // "" until it is booked
	counter  string
	amount   int64
	requests int
}

// fault makes a ledger break its promise, in tests of what finds it out.
type fault func(key string, l *ledger, r *record)

// startLedger serves a ledger on a free loopback port.
func startLedger(broken fault) (*ledger, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &ledger{url: "http://" + listener.Addr().String(), served: make(chan struct{}), fault: broken,
		booked: map[string]*record{}, counters: map[string]int64{}}
	l.srv = &http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(l.served)
		_ = l.srv.Serve(listener) // ends with close
	}()
	return l, nil
}

func (l *ledger) close() {
	_ = l.srv.Close()
	<-l.served
}

// addr is what hosts must be allowed to reach.
func (l *ledger) addr() string { return strings.TrimPrefix(l.url, "http://") }

// maxBody bounds a request, far above what programs send.
const maxBody = 4 << 10

// ServeHTTP answers POST /add and POST /refuse. The body is a counter, an amount, and what the guest has seen.
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the sender is gone
	}
	w.Header()["Date"] = nil // a repeat gets the same answer
	w.Header().Set("Content-Type", "text/plain")
	fails, _ := strconv.Atoi(r.URL.Query().Get("fails"))
	answer, err := l.take(key, string(body), r.URL.Path == "/refuse", fails)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if ms, err := strconv.Atoi(r.URL.Query().Get("ms")); err == nil {
		wait(r.Context(), time.Duration(ms)*time.Millisecond)
	}
	_, _ = io.WriteString(w, answer)
}

// wait returns at the end of a time, or earlier when the context is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

var errRefused = errors.New("refused, as the request asked for")

// take books a request, once for each key.
func (l *ledger) take(key, body string, refuse bool, fails int) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	r := l.booked[key]
	if r == nil {
		r = &record{body: body}
		l.booked[key] = r
	}
	r.requests++
	if r.body != body {
		l.oddities = append(l.oddities, finding{duplicated, fmt.Sprintf("key %s: a repeat has another body, so its guest saw something else: first %q, then %q", key, r.body, body)})
	}
	if refuse || r.requests <= fails {
		return "", errRefused
	}
	if r.answer != "" {
		return r.answer, nil
	}
	words := strings.Fields(body)
	if len(words) < 2 || key == "" {
		l.oddities = append(l.oddities, finding{wrong, fmt.Sprintf("key %q: the request is %q", key, body)})
		return "", errRefused
	}
	amount, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		l.oddities = append(l.oddities, finding{wrong, fmt.Sprintf("key %s: the amount is %q", key, words[1])})
		return "", errRefused
	}
	r.counter, r.amount = words[0], amount
	r.answer = fmt.Sprintf("%s %d is entry %d", r.counter, amount, len(l.booked))
	l.counters[r.counter] += amount
	if l.fault != nil {
		l.fault(key, l, r)
	}
	return r.answer, nil
}

// of returns what was booked under a key.
func (l *ledger) of(key string) (record, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.booked[key]
	if r == nil {
		return record{}, false
	}
	return *r, true
}

// stats are the requests that came, and the keys that they came under.
func (l *ledger) stats() (requests, keys int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests, int64(len(l.booked))
}
