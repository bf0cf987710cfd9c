package reprise

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestErrorsBecomeFailures(t *testing.T) {
	declined := &Failure{Code: "declined", Message: "no money", Details: []byte(`{"n":1}`)}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"plain", errors.New("oops"), `{"code":"error","message":"oops"}`},
		{"failure", declined, `{"code":"declined","message":"no money","details":{"n":1}}`},
		{"wrapped failure", fmt.Errorf("charge: %w", declined), `{"code":"declined","message":"charge: declined: no money","details":{"n":1}}`},
		{"final", NonRetryable(errors.New("oops")), `{"code":"error","message":"oops","retryable":false}`},
		{"final failure", NonRetryable(declined), `{"code":"declined","message":"no money","retryable":false,"details":{"n":1}}`},
		{"final inside", fmt.Errorf("a: %w", NonRetryable(declined)), `{"code":"declined","message":"a: declined: no money","retryable":false,"details":{"n":1}}`},
		{"cancelled", fmt.Errorf("wait: %w", context.Canceled), `{"code":"cancelled","message":"wait: context canceled"}`},
		{"cause", ErrCancelled, `{"code":"cancelled","message":"run is cancelled: context canceled"}`},
		{"deadline", context.DeadlineExceeded, `{"code":"timeout","message":"context deadline exceeded"}`},
		{"no code", &Failure{Message: "m"}, `{"code":"error","message":"m"}`},
		{"details that are not JSON", &Failure{Code: "c", Message: "m", Details: []byte("{")}, `{"code":"c","message":"m"}`},
		{"details of a value", Failf("c", "m").WithDetails(map[string]any{"<n>": int64(1<<53 + 1)}), `{"code":"c","message":"m","details":{"<n>":9007199254740993}}`},
		{"details that cannot be encoded", Failf("c", "m").WithDetails(func() {}), `{"code":"c","message":"m","details":"json: unsupported type: func()"}`},
		{"text that is not UTF-8", errors.New("a\xffb"), `{"code":"error","message":"a\ufffdb"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(encodeFailure(toFailure(tc.err))); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestFailuresBecomeErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int32
		payload string
		code    string
		is      error
	}{
		{"failed", 2, `{"code":"declined","message":"m"}`, "declined", nil},
		{"not an object", 2, "text", CodeError, nil},
		{"cancelled", statusCancelled, `{"code":"cancelled","message":""}`, CodeCancelled, ErrCancelled},
		{"cancelled without payload", statusCancelled, "", CodeCancelled, context.Canceled},
		{"timed out", statusTimedOut, "", CodeTimeout, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var err error = decodeFailure(tc.status, []byte(tc.payload))
			var f *Failure
			if !errors.As(err, &f) || f.Code != tc.code {
				t.Errorf("got %v, want code %s", err, tc.code)
			}
			for _, target := range []error{ErrCancelled, context.DeadlineExceeded} {
				want := tc.is == target || tc.is == context.Canceled && target == ErrCancelled
				if got := errors.Is(err, target); got != want {
					t.Errorf("errors.Is(%v, %v): got %t, want %t", err, target, got, want)
				}
			}
		})
	}
}

func TestResponseErr(t *testing.T) {
	for status, final := range map[int]bool{400: true, 404: true, 408: false, 500: false, 503: false} {
		f := toFailure((&Response{Status: status, Body: []byte("why\xff")}).Err())
		if want := fmt.Sprintf(`{"status":%d,"body":"why\ufffd"}`, status); f.Code != CodeHTTPStatus || string(f.Details) != want {
			t.Errorf("status %d: got %v with details %s, want %s", status, f, f.Details, want)
		}
		if got := f.Retryable != nil && !*f.Retryable; got != final {
			t.Errorf("status %d: got final %t, want %t", status, got, final)
		}
	}
	if err := (&Response{Status: 399}).Err(); err != nil {
		t.Errorf("status 399: got %v", err)
	}
}
