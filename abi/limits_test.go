package abi

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestEveryLimitHasACeiling: each field has its JSON name in the table, can be set to 1 and to its ceiling, and
// to nothing else.
func TestEveryLimitHasACeiling(t *testing.T) {
	var l Limits
	typ := reflect.TypeFor[Limits]()
	if got, want := len(l.fields()), typ.NumField(); got != want {
		t.Fatalf("got %d limits in the table, want %d", got, want)
	}
	for i, f := range l.fields() {
		if want := typ.Field(i).Tag.Get("json"); f.name != want {
			t.Errorf("got name %q, want %q", f.name, want)
		}
		for v, ok := range map[int64]bool{1: true, f.ceiling: true, 0: false, -1: false, f.ceiling + 1: false, math.MaxInt64: false, math.MinInt64: false} {
			l := DefaultLimits()
			err := l.Set(f.name, v)
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), f.name) {
				t.Errorf("set %s to %d: got %v, want ok %v", f.name, v, err, ok)
			}
			if got := l.fields()[i].get(); ok && got != v || !ok && got != f.ceiling {
				t.Errorf("set %s to %d: got %d", f.name, v, got)
			}
		}
		low := DefaultLimits()
		low.fields()[i].set(0)
		if err := low.Check(); err == nil || !strings.Contains(err.Error(), f.name) {
			t.Errorf("%s is 0: got %v, want an error that names it", f.name, err)
		}
		if got := low.WithDefaults(); got != DefaultLimits() {
			t.Errorf("%s is 0: got %+v with defaults, want all ceilings", f.name, got)
		}
		high := DefaultLimits()
		high.fields()[i].set(f.ceiling + 1)
		if err := high.Check(); err == nil || !strings.Contains(err.Error(), f.name) {
			t.Errorf("%s is above its ceiling: got %v, want an error that names it", f.name, err)
		}
	}
	if err := DefaultLimits().Check(); err != nil {
		t.Error(err)
	}
	if err := l.Set("nope", 1); err == nil || !strings.Contains(err.Error(), "run_gas") {
		t.Errorf("got %v, want an error that lists the names", err)
	}
}

func TestLimitsSurviveJSON(t *testing.T) {
	want := DefaultLimits()
	for i, f := range want.fields() {
		f.set(int64(i) + 1)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Limits
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
