package host

import (
	"context"
	"sync"

	"reprise/modules"
	"reprise/tenant"
)

// known keeps what the store has said of modules, which never change, and of workflows' names, which do. Whether a tenant
// still has a module, and what a name stands for, is for the store to say when a run is made.
type known struct {
	mu    sync.Mutex
	m     map[knownKey]modules.Module
	names map[knownName]modules.Digest
}

type knownName struct {
	tenant tenant.ID
	name   string
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

// alias returns what a name was last known to stand for.
func (k *known) alias(t tenant.ID, name string) (d modules.Digest, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok = k.names[knownName{t, name}]
	return d, ok
}

// learn takes what the store said that a name stands for. A digest stands for itself.
func (k *known) learn(t tenant.ID, name string, d modules.Digest) {
	if name == string(d) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil || len(k.names) >= maxKnown {
		k.names = map[knownName]modules.Digest{}
	}
	k.names[knownName{t, name}] = d
}

func (k *known) forget(t tenant.ID, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.names, knownName{t, name})
}
