package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shop is the world outside: it books each idempotency key once, and counts how often it was asked.
type shop struct {
	srv *httptest.Server

	mu       sync.Mutex
	bookings map[string]string // idempotency key -> what was booked
	asked    map[string]int    // by idempotency key
	// hold, when set, delays the answer to a booking until it is closed.
	hold   chan struct{}
	heldAt chan string
}

func newShop(t testing.TB) *shop {
	s := &shop{bookings: map[string]string{}, asked: map[string]int{}, heldAt: make(chan string, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /book/{what}", s.book)
	s.srv = httptest.NewServer(mux)
	t.Cleanup(s.srv.Close)
	return s
}

func (s *shop) host() string { return strings.TrimPrefix(s.srv.URL, "http://") }

// delays make the answers to parallel bookings come in one order.
var delays = map[string]time.Duration{"ship0": 0, "ship1": 120 * time.Millisecond, "ship2": 240 * time.Millisecond}

func (s *shop) book(w http.ResponseWriter, r *http.Request) {
	what, key := r.PathValue("what"), r.Header.Get("Idempotency-Key")
	if key == "" {
		http.Error(w, "no idempotency key", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked[key]++
	first := s.asked[key] == 1
	hold := s.hold
	fails := first && (what == "flaky" || what == "reserve")
	if !fails {
		s.bookings[key] = what
	}
	s.mu.Unlock()
	if fails {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	if hold != nil {
		s.heldAt <- what
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	time.Sleep(delays[what])
	w.Header().Set("Content-Type", "application/json")
	w.Header()["Date"] = nil // two runs must get the same answer
	_ = json.NewEncoder(w).Encode(map[string]string{"booking": "booked:" + what})
}

// ledger lists what a run has booked, sorted: one line for each key, so a step that was booked under two keys shows.
func (s *shop) ledger(run string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for key, what := range s.bookings {
		if strings.Contains(key, run) {
			lines = append(lines, what)
		}
	}
	slices.Sort(lines)
	return lines
}

// requests is the largest number of times that one key of a run was asked for.
func (s *shop) requests(run string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 0
	for key, n := range s.asked {
		if strings.Contains(key, run) {
			most = max(most, n)
		}
	}
	return most
}

// holdAnswers keeps the answers to bookings back until answer is called.
func (s *shop) holdAnswers() (answer func()) {
	hold := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold = nil
		close(hold)
	}
}

// counts is how often each idempotency key was asked for.
func (s *shop) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// keys are those under which a run has booked something whose name begins so.
func (s *shop) keys(run, prefix string) (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, what := range s.bookings {
		if strings.Contains(key, run) && strings.HasPrefix(what, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}
