package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"reprise/internal/failpoint"
)

// tx is one caller's part of a transaction.
type tx struct {
	*conn
	now    time.Time // the database's clock, once for the whole part
	before []*failpoint.Point
	after  []*failpoint.Point
	hint   bool // something became due or arrived
}

// step names the durable step that this part takes.
func (t *tx) step(before, after *failpoint.Point) {
	t.before = append(t.before, before)
	t.after = append(t.after, after)
}

// write is one caller's wish to write.
type write struct {
	do   func(*tx) error
	tx   tx
	err  error
	done chan struct{} // closed when err is final
}

// queue holds the writes that no transaction has taken up.
type queue struct {
	mu     sync.Mutex
	writes []*write
}

func (q *queue) put(w *write) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes = append(q.writes, w)
}

func (q *queue) takeAll() []*write {
	q.mu.Lock()
	defer q.mu.Unlock()
	ws := q.writes
	q.writes = nil
	return ws
}

// withdraw takes w back; false when a transaction has it.
func (q *queue) withdraw(w *write) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, o := range q.writes {
		if o == w {
			q.writes = append(q.writes[:i], q.writes[i+1:]...)
			return true
		}
	}
	return false
}

// write runs do in a transaction and returns when that is durable. When do fails, nothing of it was
// written. Callers queue up; whoever gets the connection first runs all that wait in one transaction,
// each in a savepoint of its own, and the rest find theirs done. So n callers pay for one flush to
// disk, and nobody waits for company.
func (s *Store) write(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &write{do: do, done: make(chan struct{})}
	s.queue.put(w)
	var stop error
	select {
	case c := <-s.writer:
		s.lead(c)
		s.writer <- c
	case <-w.done:
	case <-ctx.Done():
		stop = ctx.Err()
	case <-s.closed:
		stop = errClosed
	}
	if stop != nil && s.queue.withdraw(w) {
		return stop
	}
	<-w.done // it was in the queue when the writer became ours, or another leader has taken it
	return w.err
}

// lead runs all that wait.
func (s *Store) lead(c *conn) {
	ws := s.queue.takeAll()
	if len(ws) == 0 {
		return
	}
	err := s.transact(c, ws)
	hint := false
	for _, w := range ws {
		if err != nil {
			w.err = err
		}
		hint = hint || w.err == nil && w.tx.hint
	}
	if hint {
		s.hint()
	}
	for _, w := range ws {
		close(w.done)
	}
}

// transact runs writes in one transaction. Its own error means that none of them is known to be durable.
func (s *Store) transact(c *conn, ws []*write) error {
	if _, err := c.exec(`BEGIN IMMEDIATE`); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := s.attemptAll(c, ws)
	if err == nil {
		if _, err = c.exec(`COMMIT`); err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
	}
	if err != nil {
		_, _ = c.exec(`ROLLBACK`) // fails when SQLite has rolled back itself, as it does when the disk is full
		return err
	}
	for _, w := range ws {
		hitAll(w, w.tx.after)
	}
	return nil
}

func (s *Store) attemptAll(c *conn, ws []*write) error {
	for _, w := range ws {
		w.tx = tx{conn: c, now: s.now()}
		if err := w.attempt(); err != nil {
			return err
		}
	}
	for _, w := range ws {
		hitAll(w, w.tx.before)
	}
	return nil
}

// attempt runs one write in a savepoint. Its own error means that the transaction is broken.
func (w *write) attempt() error {
	if _, err := w.tx.exec(`SAVEPOINT part`); err != nil {
		return err
	}
	if w.err = w.do(&w.tx); w.err != nil {
		if _, err := w.tx.exec(`ROLLBACK TO part`); err != nil {
			return w.err // the transaction is gone, and this is why
		}
	}
	_, err := w.tx.exec(`RELEASE part`)
	return err
}

func hitAll(w *write, points []*failpoint.Point) {
	if w.err == nil {
		for _, p := range points {
			p.Hit()
		}
	}
}
