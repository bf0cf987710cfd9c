package reprise

import "context"

// ChildOptions say what a child run is of.
type ChildOptions struct {
	// Module is a workflow name or a digest ("sha256:..."). Empty: the run's own.
	Module string
	// Abandon lets the child go on when its handle is given up, or when the run that started it ends. Otherwise it is cancelled.
	Abandon bool
}

func (o ChildOptions) encode() []byte {
	if o == (ChildOptions{}) {
		return nil
	}
	b, err := encode(struct {
		Module  string `json:"module,omitempty"`
		Abandon bool   `json:"abandon,omitempty"`
	}(o))
	if err != nil { // never: both can be encoded
		return []byte(err.Error())
	}
	return b
}

// Child starts a workflow as a run of its own, exactly once, and waits for its outcome; see Future.Get for its errors. Only
// workflows have children.
func Child[Out any](ctx context.Context, workflow string, in any, opts ChildOptions) (Out, error) {
	return StartChild[Out](ctx, workflow, in, opts).Get(ctx)
}

// StartChild is Child that returns at once.
func StartChild[Out any](ctx context.Context, workflow string, in any, opts ChildOptions) *Future[Out] {
	return startRequest[Out](ctx, callChild, workflow, in, opts.encode())
}

// ContinueAsNew is what a workflow returns as its error to go on as a new run with an input and an empty journal:
//
//	return nil, reprise.ContinueAsNew(next)
//
// An activity that returns it fails.
func ContinueAsNew(in any) error {
	payload, err := encode(in)
	if err != nil {
		return NonRetryable(Failf(CodeInvalidInput, "the input of the next run cannot be encoded: %v", err))
	}
	return &continuation{begin: func() { callContinueAsNew(payload) }}
}

// continuation ends a run by beginning the next. It holds the call, so that a program that never makes one does not import it.
type continuation struct{ begin func() }

// Error is what an activity fails with.
func (*continuation) Error() string { return "only a workflow can continue as new" }
