// Command suite holds one workflow for each thing that a Go guest must be able to do. The tests of
// guest-sdk/gotest run them on a host that offers the effects test.echo (returns its input),
// test.fail (fails with the failure in its input) and test.hang (never returns).
package main

import (
	"context"

	"reprise/guest-sdk/go"
)

func echo[T any](ctx context.Context, v T) (T, error) { return startEcho(ctx, v).Get(ctx) }

func startEcho[T any](ctx context.Context, v T) *reprise.Future[T] {
	return reprise.StartEffect[T](ctx, "test.echo", v, reprise.EffectOptions{})
}

func startHang(ctx context.Context) *reprise.Future[string] {
	return reprise.StartEffect[string](ctx, "test.hang", "", reprise.EffectOptions{})
}

func main() { reprise.Main() }
