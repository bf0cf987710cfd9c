package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// order is the body of every booking request.
type order struct {
	Order   string `json:"order"`
	Amount  int64  `json:"amount_cents,omitempty"`
	Item    string `json:"item,omitempty"`
	Carrier string `json:"carrier,omitempty"`
}

// entry is one line of the ledger: something that happened, for ever.
type entry struct {
	ID   string    `json:"id"`
	Step string    `json:"step"`
	Key  string    `json:"key"` // the request's Idempotency-Key
	At   time.Time `json:"at"`
	order
}

// errKeyReused says that a key was used before for another booking.
var errKeyReused = errors.New("the idempotency key was used for another booking")

// ledger is an append-only file of entries, synced before a booking is answered. At most one entry
// has a given key.
type ledger struct {
	mu      sync.Mutex
	file    *os.File
	entries []entry
	byKey   map[string]int // index into entries
}

// openLedger reads a ledger or makes an empty one. A last line without a line end was never answered
// and is cut off.
func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &ledger{file: f, byKey: map[string]int{}}
	if err := l.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

func (l *ledger) read() error {
	var size int64
	for r := bufio.NewReader(l.file); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return fmt.Errorf("line %d: %w", len(l.entries)+1, err)
		}
		size += int64(len(line))
		l.keep(e)
	}
	if err := l.file.Truncate(size); err != nil {
		return err
	}
	_, err := l.file.Seek(size, io.SeekStart)
	return err
}

func (l *ledger) keep(e entry) {
	l.byKey[e.Key] = len(l.entries)
	l.entries = append(l.entries, e)
}

// book writes an entry, or finds the one that the key has already; again is then true.
func (l *ledger) book(step, key string, o order) (e entry, again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i, ok := l.byKey[key]; ok {
		e := l.entries[i]
		if e.Step != step || e.order != o {
			return e, true, errKeyReused
		}
		return e, true, nil
	}
	e = entry{ID: fmt.Sprintf("%s-%d", step, len(l.entries)+1), Step: step, Key: key, At: time.Now().UTC(), order: o}
	line, err := json.Marshal(e)
	if err != nil {
		return e, false, err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return e, false, fmt.Errorf("write ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return e, false, fmt.Errorf("sync ledger: %w", err)
	}
	l.keep(e)
	return e, false, nil
}

// has says whether a step of an order was booked.
func (l *ledger) has(step, order string) bool {
	for _, e := range l.all() {
		if e.Step == step && e.Order == order {
			return true
		}
	}
	return false
}

func (l *ledger) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry{}, l.entries...)
}

func (l *ledger) close() error { return l.file.Close() }
