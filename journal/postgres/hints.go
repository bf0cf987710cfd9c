package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// Times of the hints. None decides anything: with every hint lost the callers' polls find the work.
const (
	notifyGap    = 5 * time.Millisecond // between two notifications: 200 a second at most, from each store
	notifyWait   = 5 * time.Second      // for one to be sent
	listenPing   = 30 * time.Second     // of silence, until the connection is tried
	listenWait   = 5 * time.Second      // for it to answer
	reconnectMin = 100 * time.Millisecond
	reconnectMax = 5 * time.Second
)

// Hints implements journal.Claimer.
func (s *Store) Hints() <-chan struct{} { return s.hints }

// hint says to this process that it may be worth looking.
func (s *Store) hint() {
	select {
	case s.hints <- struct{}{}:
	default:
	}
}

// tell says so to every process. It never waits.
func (s *Store) tell() {
	s.hint()
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// notifyLoop sends what tell asked for, many in one. A notification inside the transaction that it is
// about would make the commits of all writers wait for each other; so it follows on its own.
func (s *Store) notifyLoop() {
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-s.notify:
		case <-s.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, notifyWait)
		if _, err := s.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, s.channel(), s.self); err != nil && s.ctx.Err() == nil {
			s.log.Debug("a hint to other nodes was lost", "error", err)
		}
		cancel()
		gap.Reset(notifyGap)
		select {
		case <-gap.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// channel is the name under which the nodes of one schema talk.
func (s *Store) channel() string { return s.cfg.Schema }

// listenLoop keeps a connection of its own that hears the other nodes' notifications, and makes a
// fresh one whenever it is lost.
func (s *Store) listenLoop() {
	wait := reconnectMin
	for {
		began := time.Now()
		ctx, cancel := context.WithCancel(s.ctx)
		s.listening.Store(&cancel)
		err := s.listen(ctx)
		cancel()
		if s.ctx.Err() != nil {
			return
		}
		s.log.Debug("listening for other nodes' hints has stopped and begins again", "error", err)
		if time.Since(began) > reconnectMax {
			wait = reconnectMin // it worked for a while
		}
		timer := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(wait)))
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		wait = min(2*wait, reconnectMax)
	}
}

// listen hears notifications until its connection fails or is to be replaced, when lctx is done.
func (s *Store) listen(lctx context.Context) error {
	ctx, cancel := context.WithTimeout(lctx, listenWait)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.listenConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, `LISTEN "`+s.channel()+`"`); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.hint() // something may have been said before
	for {
		if err := s.hear(lctx, conn); err != nil {
			return err
		}
	}
}

// hear waits for one notification, or makes sure after a silence that the server is still there.
func (s *Store) hear(lctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(lctx, listenPing)
	n, err := conn.WaitForNotification(ctx)
	cancel()
	if err == nil {
		if n.Payload != s.self {
			s.hint()
		}
		return nil
	}
	if lctx.Err() != nil || conn.IsClosed() || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	ctx, cancel = context.WithTimeout(lctx, listenWait)
	defer cancel()
	return conn.Ping(ctx)
}
