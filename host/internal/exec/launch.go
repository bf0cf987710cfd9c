package exec

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/internal/failpoint"
	"reprise/journal"
)

var (
	fpEffectBefore = failpoint.New("exec.effect.before") // durable so far, the effect has not left
	fpEffectAfter  = failpoint.New("exec.effect.after")  // the world has changed, nobody knows here
)

// opID is the id of an op's row in the inbox.
func opID(h int32) string { return "op:" + strconv.Itoa(int(h)) }

// launch sends out every effect and activity that is due, after making durable what the guest saw before
// it asked for them.
func (r *recorder) launch() (launched bool, err error) {
	var due []*op
	now := r.t.cfg.Clock.Now()
	for _, o := range r.x.m.pendingOps() {
		if o.launched || o.done {
			continue
		}
		if o.kind == journal.KindChild {
			if r.draining() {
				continue
			}
			if err := r.launchChild(o); err != nil {
				return false, err
			}
			launched = launched || o.done
			continue
		}
		if o.kind != journal.KindEffect && o.kind != journal.KindActivity {
			continue
		}
		if r.recover(o); !o.done && !o.retryAt.After(now) {
			due = append(due, o)
		}
	}
	if len(due) == 0 || r.draining() {
		return launched, nil
	}
	if err := r.flush(nil); err != nil {
		return false, err
	}
	fpFlushed.Hit()
	for _, o := range due {
		r.send(o)
	}
	return true, nil
}

// recover takes over what an earlier turn left about an op: its outcome, or how often it has failed.
func (r *recorder) recover(o *op) {
	for _, a := range r.arrivals {
		if a.Kind == journal.ArrivalDone && a.Op == o.handle {
			o.done, o.stashed = true, true
			return
		}
	}
	if a, ok := r.retries[o.handle]; ok {
		delete(r.retries, o.handle)
		o.attempts, o.retryAt, o.stashed = a.Attempt, a.RetryAt, true
	}
}

// send starts one attempt.
func (r *recorder) send(o *op) {
	o.launched, o.retryAt = true, time.Time{}
	a := attempt{r: r, op: *o, number: o.attempts + 1}
	ctx, cancel := r.t.within(r.ctx, a.limit())
	enter, leave := r.t.departs()
	r.mu.Lock()
	r.flights[o.handle] = flight{cancel}
	r.mu.Unlock()
	r.t.wg.Go(func() {
		enter()
		defer leave()
		defer cancel()
		a.run(ctx)
	})
}

// attempt is one execution of an effect or activity, on a goroutine of its own.
type attempt struct {
	r      *recorder
	op     op // a copy: the guest's goroutine owns the original
	number int
}

// run makes the attempt. ctx ends with its time, or is cancelled when it is given up.
func (a attempt) run(ctx context.Context) {
	retry, handle := a.handler()
	handle = a.staged(handle)
	if ctx.Err() == context.Canceled {
		return // given up before it left
	}
	fpEffectBefore.Hit()
	out, err := []byte(nil), ctx.Err()
	if err == nil {
		out, err = handle(ctx)
	}
	timedOut := ctx.Err() == context.DeadlineExceeded
	fpEffectAfter.Hit()
	if ctx.Err() == context.Canceled {
		return // given up by the guest, or the node may not go on: the outcome is nobody's
	}
	done := journal.Arrival{ID: opID(a.op.handle), Kind: journal.ArrivalDone, Op: a.op.handle, At: a.r.t.cfg.Clock.Now()}
	limit := int(a.r.x.m.limits.Payload)
	if err == nil && len(out) > limit {
		err = abi.NewFailure(abi.CodePayloadLarge, "the outcome has %d bytes, more than %d", len(out), limit).Terminal()
	}
	if err == nil {
		done.Status, done.Payload = abi.OK, out
		a.r.post(done)
		return
	}
	f := a.failure(err, timedOut)
	if n := len(f.Encode()); n > limit {
		f = &abi.Failure{Code: abi.CodePayloadLarge, Message: fmt.Sprintf("the failure has %d bytes, more than %d", n, limit), Retryable: f.Retryable}
	}
	if at, ok := a.again(retry, f); ok {
		a.r.post(journal.Arrival{ID: done.ID, Kind: journal.ArrivalRetry, Op: a.op.handle, Status: abi.Failed,
			Payload: brief(f), Attempt: a.number, RetryAt: at, At: done.At})
		return
	}
	done.Status, done.Payload = abi.Failed, f.Encode()
	if f.Code == abi.CodeTimeout {
		done.Status = abi.TimedOut
	}
	a.r.post(done)
}

// maxBrief bounds the failure of an attempt that is not the last, in bytes: up to abi.MaxPending of them are in a run's
// inbox, for people to read.
const maxBrief = 4 << 10

func brief(f *abi.Failure) []byte {
	b := f.Encode()
	if len(b) > maxBrief {
		b = abi.NewFailure(printable(f.Code, abi.MaxName), "%s", printable(f.Message, maxReason)).Encode()
	}
	return b
}

// limit is how long the attempt may take: as long as one may, and no longer than is left for all.
func (a attempt) limit() time.Duration {
	limit := a.op.opts.Timeout()
	if total := a.op.opts.TotalTimeout(); total > 0 {
		limit = min(limit, a.op.issuedAt.Add(total).Sub(a.r.t.cfg.Clock.Now()))
	}
	return limit
}

// handler finds what to run and the policy for its failures.
func (a attempt) handler() (*abi.Retry, func(context.Context) ([]byte, error)) {
	if a.op.kind == journal.KindActivity {
		return a.op.opts.Retry, a.activity
	}
	e, refusal := a.r.t.cfg.Effects.Find(a.op.name)
	if refusal != nil {
		return nil, func(context.Context) ([]byte, error) { return nil, refusal }
	}
	retry := a.op.opts.Retry
	if retry == nil {
		retry = &e.Retry
	}
	return retry, func(ctx context.Context) ([]byte, error) {
		return handle(ctx, e.Handler, a.request())
	}
}

func (a attempt) request() effect.Request {
	return effect.Request{Tenant: a.r.x.run.Tenant, Run: a.r.x.run.ID.String(), Name: a.op.name,
		Input: a.op.request, IdempotencyKey: a.key(), Attempt: a.number}
}

// handle keeps a panic of a handler from taking the host with it.
func handle(ctx context.Context, h effect.Handler, req effect.Request) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("effect %s panicked: %v", req.Name, p)
		}
	}()
	return h.Handle(ctx, req)
}

// key names this request the same way in every attempt, on every node.
func (a attempt) key() string { return a.r.x.idempotency + "/" + strconv.Itoa(int(a.op.handle)) }

// failure is what the guest is told of an error.
func (a attempt) failure(err error, timedOut bool) *abi.Failure {
	var f *abi.Failure
	switch {
	case timedOut:
		return abi.NewFailure(abi.CodeTimeout, "attempt %d of %s was not done in its time; an attempt has %s%s", a.number, a.op.name, a.op.opts.Timeout(), a.inAll())
	case errors.As(err, &f) && f != nil:
		return f
	}
	a.r.t.cfg.Logger.Error("effect failed inside the host", "run", a.r.x.run.ID.String(), "effect", a.op.name, "error", err)
	return abi.NewFailure(abi.CodeInternal, "the host failed to carry out %s; its log says why", a.op.name)
}

func (a attempt) inAll() string {
	if total := a.op.opts.TotalTimeout(); total > 0 {
		return ", all of them have " + total.String()
	}
	return ""
}

// again says whether and when there is another attempt.
func (a attempt) again(policy *abi.Retry, f *abi.Failure) (time.Time, bool) {
	if a.number >= policy.Max() || !policy.Retryable(f) {
		return time.Time{}, false
	}
	at := due(a.r.t.cfg.Clock.Now().Add(policy.Backoff(a.number)))
	if total := a.op.opts.TotalTimeout(); total > 0 && at.After(a.op.issuedAt.Add(total)) {
		return time.Time{}, false
	}
	return at, true
}
