package host

import (
	"context"
	"sync"

	"reprise/modules"
	"reprise/tenant"
)

// known keeps what the store has said of modules, which never change. Whether a tenant still has one is for the
// store to say when a run is made.
type known struct {
	mu sync.Mutex
	m  map[knownKey]modules.Module
}

type knownKey struct {
	tenant tenant.ID
	digest modules.Digest
}

// maxKnown bounds what is kept; when it is full it is forgotten as a whole.
const maxKnown = 1024

// module returns what is known of a module, or asks.
func (k *known) module(ctx context.Context, t tenant.ID, d modules.Digest, ask func(context.Context, tenant.ID, modules.Digest) (modules.Module, error)) (modules.Module, error) {
	key := knownKey{t, d}
	k.mu.Lock()
	m, ok := k.m[key]
	k.mu.Unlock()
	if ok {
		return m, nil
	}
	m, err := ask(ctx, t, d)
	if err != nil {
		return m, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil || len(k.m) >= maxKnown {
		k.m = map[knownKey]modules.Module{}
	}
	k.m[key] = m
	return m, nil
}
