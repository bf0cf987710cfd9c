package sqlite

import (
	"errors"
	"testing"

	"reprise/journal"
	"reprise/modules"
)

// TestEntriesBeyondTheRow: the journal goes on where the run's row says that it ends.
func TestEntriesBeyondTheRow(t *testing.T) {
	s := open(t, Config{})
	ctx, wasm := t.Context(), []byte("a module")
	m := modules.Module{Tenant: "acme", Digest: modules.DigestOf(wasm), Size: int64(len(wasm)), Shape: modules.Command}
	if _, err := s.PutModule(ctx, m, wasm); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create(ctx, journal.Run{Tenant: "acme", ID: journal.NewRunID(), Workflow: "w", Digest: m.Digest}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Register(ctx, "n1", 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(ctx, n.ID, journal.Want{Limit: 1})
	if err != nil || len(got.Claims) != 1 {
		t.Fatalf("got %d claims, %v; want 1", len(got.Claims), err)
	}
	b := journal.Batch{Entries: []journal.Entry{{Kind: journal.KindStarted, Op: journal.NoOp}}}
	if _, err := s.Commit(ctx, got.Claims[0].Lease, b); err != nil {
		t.Fatal(err)
	}
	if err := s.write(ctx, func(t *tx) error { _, err := t.exec(`UPDATE runs SET next_seq = 0`); return err }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, got.Claims[0].Lease, b); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("got %v, want a conflict: trying again would not help", err)
	}
}
