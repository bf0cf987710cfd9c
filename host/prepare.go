package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/host/internal/gate"
	"reprise/modules"
	"reprise/tenant"
)

const (
	// describeFor bounds what a module may take to describe itself at its upload.
	describeFor = 30 * time.Second
	// prepareWait bounds how long an upload waits until it is looked at.
	prepareWait = 30 * time.Second
	// waitingUploads and waitingUploadsEach bound the uploads that wait, of all tenants and of one. Each holds its
	// module's bytes; the API bounds their sum before it reads them.
	waitingUploads     = 512
	waitingUploadsEach = 128
)

// newPreparing makes the gate before the work on modules that are pushed. A single tenant gets half of the places.
func newPreparing(places int) *gate.Gate {
	return gate.New(gate.Config{Total: int64(places), Each: int64(max(1, places/2)), Waiting: waitingUploads, WaitingEach: waitingUploadsEach})
}

// prepare checks a module, rewrites it, compiles it and asks it to describe itself: seconds of work, for
// which there are few places. What this node has done already, and the tenant has stored, it does not do again.
func (h *Host) prepare(ctx context.Context, t tenant.ID, d modules.Digest, bytes []byte) (modules.Module, error) {
	if m, ok, err := h.prepared(ctx, t, d); ok || err != nil {
		return m, err
	}
	leave, err := h.enterPreparing(ctx, t)
	if err != nil {
		return modules.Module{}, err
	}
	defer leave()
	if m, ok, err := h.prepared(ctx, t, d); ok || err != nil { // while this one waited
		return m, err
	}
	p, err := modules.Prepare(ctx, bytes)
	if err != nil {
		return modules.Module{}, err
	}
	m := modules.Module{Tenant: t, Digest: p.Digest, Size: p.Size, Shape: p.Shape, Imports: p.Imports}
	m.Manifest, _, err = admit(ctx, h.engine, p)
	return m, err
}

// prepared finds a module that this process has compiled and the tenant has stored.
func (h *Host) prepared(ctx context.Context, t tenant.ID, d modules.Digest) (m modules.Module, ok bool, err error) {
	if _, ok := h.engine.Cached(d); !ok {
		return m, false, nil
	}
	m, err = h.cfg.Store.Module(ctx, t, d)
	if errors.Is(err, modules.ErrNotFound) {
		return m, false, nil
	}
	return m, err == nil, err
}

// enterPreparing waits for a place.
func (h *Host) enterPreparing(ctx context.Context, t tenant.ID) (leave func(), err error) {
	wctx, cancel := context.WithTimeout(ctx, prepareWait)
	defer cancel()
	leave, err = h.preparing.Enter(wctx, t, 1)
	switch {
	case err == nil:
		return leave, nil
	case errors.Is(err, gate.ErrTenantFull):
		return nil, &Error{Kind: Quota, Code: "uploads_queued", What: fmt.Sprintf("%d uploads of this tenant wait to be looked at", waitingUploadsEach),
			Where: "upload", Fix: "push fewer modules at once, and this one again later", Err: err}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &Error{Kind: Unavailable, Code: "uploads_busy", What: "this node has more uploads than it can look at now",
		Where: "upload", Fix: "push the module again later, or to another node", Err: err}
}
