package reprise

import "context"

// Signal waits for the next signal of a name and returns its payload. Signals are delivered once, in
// order of arrival; those that came earlier count.
func Signal[T any](ctx context.Context, name string) (T, error) {
	return StartSignal[T](ctx, name).Get(ctx)
}

// StartSignal is Signal that returns at once. When it is given up, a signal that has not been
// delivered stays in the queue.
func StartSignal[T any](ctx context.Context, name string) *Future[T] {
	if name == "" {
		return &Future[T]{settled(NonRetryable(Failf(CodeInvalidInput, "a signal needs a name")))}
	}
	return &Future[T]{start(ctx, func() int32 { return callSignal(name) })}
}
