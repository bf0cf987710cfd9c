package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Options are the options of effect, activity and child: one JSON object, or no bytes for the defaults.
// Unknown fields are refused, so that a misspelt policy is not a silent default.
type Options struct {
	// Module names the module of an activity or a child: a workflow name or a digest. Empty: the run's own.
	Module string `json:"module,omitempty"`
	// TimeoutMS bounds one attempt in milliseconds. 0: 30,000.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	// TotalTimeoutMS bounds all attempts together, from the request on. 0: no bound.
	TotalTimeoutMS int64 `json:"total_timeout_ms,omitempty"`
	// Retry says how failures are retried. Absent: the effect's own default.
	Retry *Retry `json:"retry,omitempty"`
	// Abandon lets a child go on when the run that started it gives up its handle or ends. A child takes no option but module and this one.
	Abandon bool `json:"abandon,omitempty"`
}

// Retry is a policy for failed attempts. The wait before attempt n+1 is
// min(BackoffMS * Factor^(n-1), MaxBackoffMS).
type Retry struct {
	// Attempts is the number of attempts in all. 0: 1, that is no retry.
	Attempts int `json:"attempts,omitempty"`
	// BackoffMS is the wait after the first failure in milliseconds. 0: 1,000.
	BackoffMS int64 `json:"backoff_ms,omitempty"`
	// Factor is the growth of the wait. 0: 2.
	Factor float64 `json:"factor,omitempty"`
	// MaxBackoffMS bounds the wait in milliseconds. 0: 60,000.
	MaxBackoffMS int64 `json:"max_backoff_ms,omitempty"`
	// NonRetryable lists failure codes that end the effect at once.
	NonRetryable []string `json:"non_retryable,omitempty"`
}

// Bounds of the options. A value beyond one is refused with CodeOptions.
const (
	maxOptionMS = 366 * 24 * 3600 * 1000 // a year
	maxAttempts = 10_000
	maxFactor   = 100
)

// DecodeOptions reads and checks the options of a request.
func DecodeOptions(b []byte) (Options, error) {
	var o Options
	if len(b) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("options are not the JSON object that the contract describes: %w", err)
	}
	if d.More() {
		return o, fmt.Errorf("options have bytes after the JSON object")
	}
	check := func(field string, v, limit int64) error {
		if v < 0 || v > limit {
			return fmt.Errorf("options: %s is %d, outside 0 to %d", field, v, limit)
		}
		return nil
	}
	if err := check("timeout_ms", o.TimeoutMS, maxOptionMS); err != nil {
		return o, err
	}
	if err := check("total_timeout_ms", o.TotalTimeoutMS, maxOptionMS); err != nil {
		return o, err
	}
	if len(o.Module) > MaxName {
		return o, fmt.Errorf("options: module has %d bytes, more than %d", len(o.Module), MaxName)
	}
	if r := o.Retry; r != nil {
		if err := check("retry.attempts", int64(r.Attempts), maxAttempts); err != nil {
			return o, err
		}
		if err := check("retry.backoff_ms", r.BackoffMS, maxOptionMS); err != nil {
			return o, err
		}
		if err := check("retry.max_backoff_ms", r.MaxBackoffMS, maxOptionMS); err != nil {
			return o, err
		}
		if r.Factor != 0 && (r.Factor < 1 || r.Factor > maxFactor) {
			return o, fmt.Errorf("options: retry.factor is %v, outside 1 to %d", r.Factor, maxFactor)
		}
	}
	return o, nil
}

// CheckFor says which option a request that is a child, or is none, does not take.
func (o Options) CheckFor(child bool) error {
	switch {
	case !child && o.Abandon:
		return fmt.Errorf("options: abandon is for children only")
	case child && (o.TimeoutMS != 0 || o.TotalTimeoutMS != 0 || o.Retry != nil):
		return fmt.Errorf("options: a child takes no timeout_ms, total_timeout_ms and retry")
	}
	return nil
}

// Timeout is the bound of one attempt.
func (o Options) Timeout() time.Duration {
	if o.TimeoutMS == 0 {
		return 30 * time.Second
	}
	return time.Duration(o.TimeoutMS) * time.Millisecond
}

// TotalTimeout is the bound of all attempts, 0 for none.
func (o Options) TotalTimeout() time.Duration {
	return time.Duration(o.TotalTimeoutMS) * time.Millisecond
}

// Max is the number of attempts in all, at least 1.
func (r *Retry) Max() int {
	if r == nil || r.Attempts < 1 {
		return 1
	}
	return r.Attempts
}

// Backoff is the wait after the n-th failed attempt, n from 1. It is a pure function of the policy:
// no jitter, because what decides when a run wakes must be the same on every node.
func (r *Retry) Backoff(n int) time.Duration {
	base, factor, limit := int64(1000), 2.0, int64(60_000)
	if r != nil {
		if r.BackoffMS > 0 {
			base = r.BackoffMS
		}
		if r.Factor > 0 {
			factor = r.Factor
		}
		if r.MaxBackoffMS > 0 {
			limit = r.MaxBackoffMS
		}
	}
	wait := float64(base)
	for ; n > 1 && wait < float64(limit); n-- {
		wait *= factor
	}
	return time.Duration(min(wait, float64(limit)) * float64(time.Millisecond))
}

// Retryable says whether a failure may be attempted again under r, attempts left aside.
func (r *Retry) Retryable(f *Failure) bool {
	if f.Retryable != nil && !*f.Retryable {
		return false
	}
	if r != nil {
		for _, code := range r.NonRetryable {
			if code == f.Code {
				return false
			}
		}
	}
	return true
}
