// Package effect owns what a guest may ask of the world: the handler of each named effect, and the
// default policy under which it is attempted. Handlers run at least once for each request and are
// given the same idempotency key each time. The package never writes a journal and never sees guest
// memory; exec calls it.
package effect

import (
	"context"
	"fmt"
	"sort"

	"reprise/abi"
	"reprise/tenant"
)

// Request is one attempt of one effect.
type Request struct {
	Tenant tenant.ID
	Run    string // printed run id
	Name   string // effect, for example http.request
	Input  []byte // the guest's bytes
	// IdempotencyKey is the same in every attempt of this request, on every node, for ever.
	IdempotencyKey string
	Attempt        int // from 1
}

// Handler carries out an effect. It returns the outcome's bytes, or an *abi.Failure for an outcome
// that the guest should see as failed; any other error is recorded as code internal and its
// text goes to the host's log only. It must return soon after ctx is done.
type Handler interface {
	Handle(ctx context.Context, r Request) ([]byte, error)
}

// HandlerFunc is a function as Handler.
type HandlerFunc func(ctx context.Context, r Request) ([]byte, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r Request) ([]byte, error) { return f(ctx, r) }

// Effect is a handler with the policy that applies when the guest gives none.
type Effect struct {
	Handler Handler
	Retry   abi.Retry
}

// Registry is the set of effects that a host offers. It does not change after the host has started.
type Registry map[string]Effect

// Find returns the effect of a name, or the failure that the guest is to see.
func (r Registry) Find(name string) (Effect, *abi.Failure) {
	e, ok := r[name]
	if !ok {
		return Effect{}, abi.NewFailure(abi.CodeUnknownEffect, "this host offers no effect %.80q; it offers %s", name, r.list()).Terminal()
	}
	return e, nil
}

func (r Registry) list() string {
	if len(r) == 0 {
		return "none"
	}
	names := make([]string, 0, len(r))
	for n := range r {
		names = append(names, n)
	}
	sort.Strings(names)
	return fmt.Sprint(names)
}
