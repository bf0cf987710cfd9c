package reprise

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// The states of a handle, as the contract numbers them.
const (
	statusPending   int32 = 0
	statusOK        int32 = 1
	statusCancelled int32 = 3
	statusTimedOut  int32 = 4
)

// op is one request in flight. Its outcome is written once, before done is closed.
type op struct {
	handle  int32
	done    chan struct{}
	stop    func() bool // forgets the context that start was given
	payload []byte
	err     error
}

// table holds the requests in flight by handle. Whoever takes one out settles it.
type table struct {
	mu   sync.Mutex
	open map[int32]*op
}

var inFlight = table{open: map[int32]*op{}}

func (t *table) put(o *op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[o.handle] = o
}

func (t *table) take(handle int32) *op {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.open[handle]
	delete(t.open, handle)
	return o
}

// settled is a request that failed before it was made.
func settled(err error) *op {
	o := &op{done: make(chan struct{}), err: err}
	close(o.done)
	return o
}

// start makes a request and binds it to ctx: when ctx is done first, the request is given up.
func start(ctx context.Context, request func() int32) *op {
	if err := ctx.Err(); err != nil {
		return settled(err)
	}
	o := &op{handle: request(), done: make(chan struct{})}
	o.stop = context.AfterFunc(ctx, func() { o.cancel(ctx.Err()) })
	if callStatus(o.handle) != statusPending { // it broke a limit: there is nothing to wait for
		o.collect()
		return o
	}
	inFlight.put(o)
	return o
}

// collect reads the outcome that the host has. The caller has taken o out of the table.
func (o *op) collect() {
	status := callStatus(o.handle)
	o.payload = callResult(o.handle)
	callDrop(o.handle)
	if status != statusOK {
		o.err = decodeFailure(status, o.payload)
		o.payload = nil
	}
	o.stop()
	close(o.done)
}

// cancel gives a pending request up; its outcome is then reason. Nothing happens when it is done.
func (o *op) cancel(reason error) {
	if inFlight.take(o.handle) != o {
		return
	}
	callCancel(o.handle)
	callDrop(o.handle)
	o.err = reason
	o.stop()
	close(o.done)
}

// wait returns the outcome, or gives the request up when ctx is done first.
func (o *op) wait(ctx context.Context) ([]byte, error) {
	select {
	case <-o.done:
	case <-ctx.Done():
		o.cancel(ctx.Err()) // loses to an outcome that is there already
	}
	<-o.done
	return o.payload, o.err
}

// pump completes requests as the host makes their outcomes visible. It is the only reader of the
// completion descriptor; the Go runtime parks it there, beside the program's timers, and that is where
// a run is suspended. It lives as long as the instance.
func pump(completions io.Reader, cancelHandle int32, cancelRun func()) {
	buf := make([]byte, 4096)
	for {
		heap.tidy()
		n, err := completions.Read(buf)
		if err != nil {
			panic(fmt.Sprintf("reprise: reading completions: %v", err))
		}
		for b := buf[:n]; len(b) >= 4; b = b[4:] {
			handle := int32(binary.LittleEndian.Uint32(b))
			if handle == cancelHandle {
				cancelRun()
			} else if handle == queryHandle {
				go answerQuery()
			} else if o := inFlight.take(handle); o != nil {
				o.collect()
			}
		}
	}
}

// Future is the outcome of a request that was started. It may be used by many goroutines.
type Future[T any] struct{ op *op }

// Done is closed when the outcome is there; use it in a select.
func (f *Future[T]) Done() <-chan struct{} { return f.op.done }

// Get waits for the outcome. It fails with a *Failure when the request failed or Cancel was called,
// and with ctx.Err() when ctx, or the context that the request was started with, was done first; the
// request is then given up.
func (f *Future[T]) Get(ctx context.Context) (T, error) {
	payload, err := f.op.wait(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := decode[T](payload)
	if err != nil {
		return v, NonRetryable(Failf(CodeInvalidOutput, "outcome is not a %T: %v", v, err))
	}
	return v, nil
}

// Cancel gives the request up. A signal that was not delivered stays in the run's queue; an effect
// may have happened all the same. Nothing happens when the outcome is there already.
func (f *Future[T]) Cancel() {
	f.op.cancel(&Failure{Code: CodeCancelled, Message: "the request was given up"})
}
