package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"reprise/journal"
	"reprise/journal/internal/payload"
)

func (s *Store) count(t *testing.T, text string, args ...any) (n int) {
	t.Helper()
	w := <-s.writer
	defer func() { s.writer <- w }()
	if _, err := w.row(text, args, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *Store) must(t *testing.T, text string, args ...any) {
	t.Helper()
	w := <-s.writer
	defer func() { s.writer <- w }()
	if _, err := w.exec(text, args...); err != nil {
		t.Fatal(err)
	}
}

// largeRun is a run with one large payload in every place.
func largeRun(t *testing.T, s *Store, l journal.Lease, p []byte) {
	t.Helper()
	var b journal.Batch
	for seq := range int64(10) {
		b.Entries = append(b.Entries, journal.Entry{Seq: seq, Kind: journal.KindStarted, Request: p, Payload: bytes.Clone(p)})
	}
	b.Stash = []journal.Arrival{{ID: "op:1", Kind: journal.ArrivalDone, Op: 1, Payload: p}}
	b.Published = []journal.Published{{Key: "k", Value: p}}
	if _, err := s.Commit(t.Context(), l, b); err != nil {
		t.Fatal(err)
	}
}

func TestAPayloadIsStoredOnce(t *testing.T) {
	s, leases := started(t, Config{}, 2)
	p := bytes.Repeat([]byte("payload "), 100_000)
	for _, l := range leases {
		largeRun(t, s, l, p)
		if _, err := s.Signal(t.Context(), l.Tenant, l.Run, "s1", "paid", p); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), l, journal.Batch{Next: &journal.Transition{State: journal.Completed, Output: p}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.count(t, `SELECT count(*) FROM payloads`); got != 1 {
		t.Errorf("payloads: got %d, want 1", got)
	}
	if got := s.count(t, `SELECT sum(length(bytes)) FROM payload_bytes`); got > len(p)/100 {
		t.Errorf("bytes: got %d of %d that repeat, want few", got, len(p))
	}
	if got := s.count(t, `SELECT max(length(payload)) FROM entries`); got != 32 {
		t.Errorf("an entry holds %d bytes, want a digest", got)
	}
}

func TestASmallPayloadCostsNoRow(t *testing.T) {
	s, leases := started(t, Config{}, 1)
	largeRun(t, s, leases[0], make([]byte, payload.Inline))
	if got := s.count(t, `SELECT (SELECT count(*) FROM payloads) + (SELECT count(*) FROM payload_names)`); got != 0 {
		t.Errorf("rows: got %d, want 0", got)
	}
}

// TestADamagedPayload: what was not damaged is read, and the rest says so.
func TestADamagedPayload(t *testing.T) {
	p := bytes.Repeat([]byte("payload "), 100_000)
	for name, damage := range map[string]string{
		"a bit":   `UPDATE payload_bytes SET bytes = CAST(substr(bytes, 1, 20) || x'ff' || substr(bytes, 22) AS BLOB)`,
		"cut":     `UPDATE payload_bytes SET bytes = x''`,
		"missing": `DELETE FROM payload_bytes`,
		"codec":   `UPDATE payloads SET codec = 9`,
		"size":    `UPDATE payloads SET size = size + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			s, leases := started(t, Config{}, 1)
			ctx, l := t.Context(), leases[0]
			largeRun(t, s, l, p)
			r, err := s.Run(ctx, l.Tenant, l.Run)
			if err != nil {
				t.Fatal(err)
			}
			r.ID, r.Input = journal.NewRunID(), p
			if _, _, err := s.Create(ctx, r); err != nil {
				t.Fatal(err)
			}
			s.must(t, damage)
			_, err1 := s.Entries(ctx, l.Tenant, l.Run, 0, 10)
			_, err2 := s.Arrivals(ctx, l.Tenant, l.Run, 0)
			_, err3 := s.Published(ctx, l.Tenant, l.Run)
			got, err4 := s.Run(ctx, l.Tenant, r.ID)
			for i, err := range []error{err1, err2, err3, err4} {
				if !errors.Is(err, journal.ErrPayload) {
					t.Errorf("read %d: got %v, want %v", i, err, journal.ErrPayload)
				}
			}
			if got.ID != r.ID || got.Input != nil || got.State != journal.Ready {
				t.Errorf("run: got %s %s with %d bytes of input, want it without", got.ID, got.State, len(got.Input))
			}
			cs, err := s.Claim(ctx, l.Node, journal.Want{Limit: 10})
			if err != nil || len(cs.Claims) != 1 || !errors.Is(cs.Claims[0].Unreadable, journal.ErrPayload) {
				t.Fatalf("claim: got %v, %v; want the run, unreadable", fmt.Sprint(cs.Claims), err)
			}
			if _, err := s.Commit(ctx, cs.Claims[0].Lease, journal.Batch{Next: &journal.Transition{State: journal.Blocked, Reason: "payload_unreadable: x"}}); err != nil {
				t.Fatal(err)
			}
			if got, err := s.RequestCancel(ctx, l.Tenant, r.ID, "give up"); err != nil || got.State != journal.Cancelled {
				t.Errorf("cancel: got %s, %v, want cancelled", got.State, err)
			}
		})
	}
}
