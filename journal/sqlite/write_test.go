package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reprise/journal"
	"reprise/modules"
)

// started opens a store on a file with a module and n ready runs that a node has claimed.
func started(t testing.TB, c Config, n int) (*Store, []journal.Lease) {
	t.Helper()
	s := open(t, c)
	ctx := t.Context()
	if _, err := s.PutModule(ctx, modules.Module{Tenant: owner, Digest: digest}, module); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, _, err := s.Create(ctx, journal.Run{Tenant: owner, ID: journal.NewRunID(), Digest: digest}); err != nil {
			t.Fatal(err)
		}
	}
	node, err := s.Register(ctx, "n1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := s.Claim(ctx, node.ID, journal.Want{Limit: n})
	if err != nil || len(cs.Claims) != n {
		t.Fatalf("claim: got %d, %v, want %d", len(cs.Claims), err, n)
	}
	var leases []journal.Lease
	for _, c := range cs.Claims {
		leases = append(leases, c.Lease)
	}
	return s, leases
}

// held keeps the writer busy while act queues n writes, and then lets them go into one transaction.
func held(t *testing.T, s *Store, n int, act func(i int)) {
	t.Helper()
	w := <-s.writer
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { act(i) })
	}
	waitQueued(s, n)
	s.writer <- w
	wg.Wait()
}

func waitQueued(s *Store, n int) {
	for {
		s.queue.mu.Lock()
		queued := len(s.queue.writes)
		s.queue.mu.Unlock()
		if queued == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestSharedTransaction(t *testing.T) {
	const n = 20
	s, leases := started(t, Config{Path: filepath.Join(t.TempDir(), "journal.db")}, n)
	errs := make([]error, n)
	held(t, s, n, func(i int) {
		b := journal.Batch{Entries: []journal.Entry{{Kind: journal.KindStarted, Name: fmt.Sprint(i)}}}
		if i%4 == 0 {
			b.Entries[0].Seq = 7 // refused before it writes
		}
		if i%4 == 1 {
			b.Entries[0].Kind = "nonsense" // refused by the schema while it writes
		}
		_, errs[i] = s.Commit(t.Context(), leases[i], b)
	})
	for i, l := range leases {
		es, err := s.Entries(t.Context(), owner, l.Run, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			if !errors.Is(errs[i], journal.ErrConflict) || len(es) != 0 {
				t.Errorf("commit %d: got %v and %d entries, want a conflict and none", i, errs[i], len(es))
			}
		case 1:
			if errs[i] == nil || !strings.Contains(errs[i].Error(), "CHECK") || len(es) != 0 {
				t.Errorf("commit %d: got %v and %d entries, want a failed check and none", i, errs[i], len(es))
			}
		default:
			if errs[i] != nil || len(es) != 1 || es[0].Name != fmt.Sprint(i) {
				t.Errorf("commit %d: got %v and %v, want its own entry", i, errs[i], es)
			}
		}
	}
}

func TestWithdraw(t *testing.T) {
	s, leases := started(t, Config{}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make([]error, 2)
	w := <-s.writer
	var wg sync.WaitGroup
	for i, ctx := range []context.Context{ctx, t.Context()} {
		wg.Go(func() {
			_, errs[i] = s.Commit(ctx, leases[i], journal.Batch{Entries: []journal.Entry{{Kind: journal.KindStarted}}})
		})
	}
	waitQueued(s, 2)
	cancel()
	waitQueued(s, 1)
	s.writer <- w
	wg.Wait()
	if !errors.Is(errs[0], context.Canceled) || errs[1] != nil {
		t.Fatalf("commits: got %v and %v, want cancelled and nil", errs[0], errs[1])
	}
	for i, l := range leases {
		if r, err := s.Run(t.Context(), owner, l.Run); err != nil || r.NextSeq != int64(i) {
			t.Errorf("run %d: got next seq %d, %v, want %d", i, r.NextSeq, err, i)
		}
	}
}

func TestCloseWhileOthersWait(t *testing.T) {
	s, leases := started(t, Config{}, 1)
	w := <-s.writer
	waiting, closed := make(chan error), make(chan error)
	go func() {
		_, err := s.Commit(t.Context(), leases[0], journal.Batch{})
		waiting <- err
	}()
	waitQueued(s, 1)
	go func() { closed <- s.Close() }()
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("commit: got %v, want %v", err, errClosed)
	}
	s.writer <- w
	if err := <-closed; err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
}

// TestDiskFull makes the file as large as it may be. Whatever did not fit was not written, not even in
// part, and when there is room again the same commit goes through.
func TestDiskFull(t *testing.T) {
	for _, c := range []Config{{}, {Path: filepath.Join(t.TempDir(), "journal.db")}} {
		s, leases := started(t, c, 4)
		limitPages(t, s, `PRAGMA max_page_count = 1`) // the present size, since it cannot be less
		batch := journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: noise(1 << 20)}}
		for i := range 3 {
			batch.Entries = append(batch.Entries, journal.Entry{Seq: int64(i), Kind: journal.KindStarted, Payload: noise(1<<20 + i + 1)})
		}
		errs := make([]error, len(leases))
		held(t, s, len(leases), func(i int) { _, errs[i] = s.Commit(t.Context(), leases[i], batch) })
		for i, l := range leases {
			if errs[i] == nil || !strings.Contains(errs[i].Error(), "full") {
				t.Fatalf("commit %d: got error %v, want that the disk is full", i, errs[i])
			}
			es, err := s.Entries(t.Context(), owner, l.Run, 0, 10)
			r, err2 := s.Run(t.Context(), owner, l.Run)
			if err := errors.Join(err, err2); err != nil || len(es) != 0 || r.State != journal.Running || r.NextSeq != 0 || r.Output != nil && len(r.Output) > 0 {
				t.Fatalf("run %d: got %d entries, %s, %v; want none, running", i, len(es), r.State, err)
			}
		}
		limitPages(t, s, `PRAGMA max_page_count = 1000000`)
		for i, l := range leases {
			if state, err := s.Commit(t.Context(), l, batch); err != nil || state != journal.Completed {
				t.Fatalf("commit %d with room again: got %s, %v, want completed", i, state, err)
			}
		}
	}
}

// noise is bytes that do not get shorter.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

func limitPages(t *testing.T, s *Store, pragma string) {
	t.Helper()
	w := <-s.writer
	defer func() { s.writer <- w }()
	var pages int
	if _, err := w.row(pragma, nil, &pages); err != nil {
		t.Fatal(err)
	}
}

// TestInBubble runs a store where time is fake: leases lapse and timers fire without anybody waiting.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leases := started(t, Config{}, 1)
		ctx := t.Context()
		now, err := s.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		next := &journal.Transition{State: journal.Waiting, WakeAt: now.Add(365 * 24 * time.Hour)}
		if _, err := s.Commit(ctx, leases[0], journal.Batch{Next: next}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(365*24*time.Hour - time.Second)
		node, err := s.Register(ctx, "n1", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		cs, err := s.Claim(ctx, node.ID, journal.Want{Limit: 1})
		if err != nil || len(cs.Claims) != 0 || cs.NextDue != time.Second {
			t.Fatalf("claim: got %d, next due %s, %v; want none, 1s", len(cs.Claims), cs.NextDue, err)
		}
		var wg sync.WaitGroup
		for range 8 { // callers that wait for each other must not keep the bubble's clock from moving
			wg.Go(func() {
				time.Sleep(time.Second)
				if _, err := s.Heartbeat(ctx, node.ID, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if cs, err = s.Claim(ctx, node.ID, journal.Want{Limit: 1}); err != nil || len(cs.Claims) != 1 {
			t.Fatalf("claim: got %d, %v; want 1", len(cs.Claims), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
