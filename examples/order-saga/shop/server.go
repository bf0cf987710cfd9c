package main

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"
)

// rules say how the shop behaves.
type rules struct {
	chargeDelay time.Duration
	bookLate    bool   // book a charge after the delay
	refuse      string // step that is refused
}

// undoes names the step that a compensation takes back; without it there is nothing to book.
var undoes = map[string]string{"refund": "charge", "release": "reserve"}

// server answers bookings and counts them.
type server struct {
	book  *ledger
	rules rules

	mu       sync.Mutex
	requests map[string]int // by step, repeated ones included
	inFlight map[string]int // by step, not yet answered
}

// report is the answer to GET /ledger.
type report struct {
	Requests map[string]int `json:"requests"`
	Lines    []entry        `json:"lines"`
}

func newServer(book *ledger, rules rules) http.Handler {
	s := &server{book: book, rules: rules, requests: map[string]int{}, inFlight: map[string]int{}}
	mux := http.NewServeMux()
	for _, step := range []string{"reserve", "charge", "ship", "refund", "release"} {
		mux.HandleFunc("POST /"+step, func(w http.ResponseWriter, r *http.Request) { s.serveStep(w, r, step) })
	}
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		requests := maps.Clone(s.requests)
		s.mu.Unlock()
		answer(w, http.StatusOK, report{requests, s.book.all()})
	})
	mux.HandleFunc("GET /inflight", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		inFlight := maps.Clone(s.inFlight)
		s.mu.Unlock()
		answer(w, http.StatusOK, inFlight)
	})
	return mux
}

func (s *server) serveStep(w http.ResponseWriter, r *http.Request, step string) {
	const maxBody = 64 << 10
	key := r.Header.Get("Idempotency-Key")
	var o order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&o); err != nil || o.Order == "" {
		refuse(w, http.StatusBadRequest, "the body is not an object with an order")
		return
	}
	if key == "" {
		refuse(w, http.StatusBadRequest, "the header Idempotency-Key is missing")
		return
	}
	s.count(step, 1)
	defer s.count(step, -1)
	if s.rules.refuse == step {
		status := http.StatusUnprocessableEntity
		if step == "charge" {
			status = http.StatusPaymentRequired
		}
		refuse(w, status, step+" is refused")
		return
	}
	if done, ok := undoes[step]; ok && !s.book.has(done, o.Order) {
		answer(w, http.StatusOK, entry{Step: step, order: o})
		return
	}
	e, err := s.carryOut(step, key, o)
	switch {
	case errors.Is(err, errKeyReused):
		refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, http.StatusOK, e)
	}
}

// carryOut books a step. A charge takes its time, also when nobody waits for the answer any more; one
// that was booked before is answered at once.
func (s *server) carryOut(step, key string, o order) (entry, error) {
	if step == "charge" && s.rules.bookLate {
		time.Sleep(s.rules.chargeDelay)
	}
	e, again, err := s.book.book(step, key, o)
	if step == "charge" && !s.rules.bookLate && !again {
		time.Sleep(s.rules.chargeDelay)
	}
	return e, err
}

// count notes that a request has come (1) or is answered (-1).
func (s *server) count(step string, d int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight[step] += d
	if d > 0 {
		s.requests[step]++
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]string{"error": why})
}
