package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"reprise/host/internal/gate"
)

const (
	uploadBytes = 256 << 20
	// uploadShare is the part of all bytes that one tenant gets: eight must act together to keep others out.
	uploadShare = 8
	uploadWait  = 30 * time.Second
	// uploadsWaiting and uploadsWaitingEach bound the uploads that wait to be read. Each holds a connection and a goroutine.
	uploadsWaiting     = 1024
	uploadsWaitingEach = 256
	// pushAnswer bounds the time from the last byte of a module to the answer: a wait for a place, and a compilation
	// that takes all that it may, which together are longer than the server's own timeout.
	pushAnswer = 4 * time.Minute
)

func newIntake(total int64) *gate.Gate {
	if total < 1 {
		total = uploadBytes
	}
	total = max(total, MaxModule)
	return gate.New(gate.Config{Total: total, Each: max(total/uploadShare, MaxModule), Waiting: uploadsWaiting, WaitingEach: uploadsWaitingEach})
}

// enterIntake waits until there is room for a module's bytes, which are not read before. Nothing is held in
// memory for those that wait. A body that does not say its length counts as the largest.
func (h *Handler) enterIntake(b *body) (leave func(), err error) {
	r, w := humago.Unwrap(b.ctx)
	size := r.ContentLength
	if size < 0 {
		size = MaxModule
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.cfg.UploadWait)
	defer cancel()
	leave, err = h.intake.Enter(ctx, callOf(r.Context()).tenant, size)
	switch {
	case errors.Is(err, gate.ErrTenantFull):
		return nil, refuse("uploads_queued", "too many uploads of this tenant wait to be read", "upload")
	case err != nil && r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, refuse("uploads_busy", "this node has more uploads than it can read now", "upload")
	}
	now := time.Now()
	control := http.NewResponseController(w) // a recorder has no deadlines
	_ = control.SetReadDeadline(now.Add(h.cfg.BodyTimeout))
	_ = control.SetWriteDeadline(now.Add(h.cfg.BodyTimeout + pushAnswer))
	return leave, nil
}
