package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"reprise/host/internal/gate"
)

// TestUploadsWaitForAPlace: who cannot wait, or has waited long enough, is told to come again.
func TestUploadsWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Host{preparing: gate.New(gate.Config{Total: 2, Each: 1, Waiting: 2, WaitingEach: 1})}
		leave, err := h.enterPreparing(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() {
			_, err := h.enterPreparing(t.Context(), "ann")
			waited <- err
		}()
		synctest.Wait()
		_, err = h.enterPreparing(t.Context(), "ann")
		wantKind(t, err, Quota, "uploads_queued")
		bobs, err := h.enterPreparing(t.Context(), "bob")
		if err != nil {
			t.Fatalf("another tenant: got %v, want a place", err)
		}
		wantKind(t, <-waited, Unavailable, "uploads_busy") // after prepareWait

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.enterPreparing(ctx, "ann"); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended: got %v, want its own end", err)
		}
		leave()
		bobs()
	})
}

func wantKind(t *testing.T, err error, kind ErrorKind, code string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || e.Code != code || e.What == "" || e.Where == "" || e.Fix == "" {
		t.Errorf("got %#v, want %s %s with what, where and fix", err, kind, code)
	}
}
