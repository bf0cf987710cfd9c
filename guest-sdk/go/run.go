package reprise

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// The kinds of entry, as the contract numbers them.
const (
	entryWorkflow int32 = 0
	entryActivity int32 = 1
	entryDescribe int32 = 3
)

// run does what this instance was made for and returns the entry's status, 0 for success.
func run() int32 {
	kind := callEntryKind()
	out, err := enter(kind)
	var next *continuation
	if kind == entryWorkflow && errors.As(err, &next) {
		next.begin()
		return 0
	}
	if err != nil {
		callFail(encodeFailure(toFailure(err)))
		return 1
	}
	callOutput(out)
	return 0
}

func enter(kind int32) ([]byte, error) {
	switch kind {
	case entryDescribe:
		return encode(program.manifest())
	case entryWorkflow:
		h, err := program.workflow(callEntry())
		if err != nil {
			return nil, err
		}
		return execute(runContext(), h, callInput())
	case entryActivity:
		h, err := program.activity(callEntry())
		if err != nil {
			return nil, err
		}
		return execute(runContext(), h, callInput())
	}
	return nil, NonRetryable(Failf("unsupported", "this SDK does not serve entries of kind %d", kind))
}

// runContext starts the pump and returns the context that the run's cancellation ends.
func runContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	go pump(openCompletions(), callCancelHandle(), func() { cancel(ErrCancelled) })
	return ctx
}

// maxStack bounds the stack in a panic's details; what is longer tells nothing new.
const maxStack = 8 << 10

// execute runs a function and turns its panic into a failure. A panic of another goroutine ends the
// instance, as it ends any Go program.
func execute(ctx context.Context, h handler, input []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			details, _ := encode(map[string]string{"stack": string(stack[:min(len(stack), maxStack)])})
			f := Failf(CodePanic, "%s", panicText(p))
			f.Details = details
			out, err = nil, f
		}
	}()
	return h(ctx, input)
}

func panicText(p any) string {
	if err, ok := p.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(p)
}
