package reprise

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func TestLookup(t *testing.T) {
	none, one, two := newRegistry(), newRegistry(), newRegistry()
	for _, r := range []*registry{one, two} {
		add(r.workflows, "workflow", "double", wrap(double))
		add(r.activities, "activity", "act", wrap(double))
	}
	add(two.workflows, "workflow", "again", wrap(double))
	for _, tc := range []struct {
		name  string
		r     *registry
		entry string
		want  string // part of the failure; "" for success
	}{
		{"only one", one, "", ""},
		{"by name", two, "again", ""},
		{"several", two, "", "has several: again, double"},
		{"unknown", two, "x", `no workflow "x"; it has again, double`},
		{"none", none, "", "it has none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.r.workflow(tc.entry)
			if tc.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || toFailure(err).Code != CodeUnknownWorkflow {
				t.Errorf("got %v, want %s with %q", err, CodeUnknownWorkflow, tc.want)
			}
		})
	}
	if _, err := one.activity("double"); err == nil || toFailure(err).Code != CodeUnknownActivity {
		t.Errorf("activity: got %v, want %s", err, CodeUnknownActivity)
	}
	if got, err := encode(two.manifest()); err != nil || string(got) != `{"sdk":"go/`+Version+`","workflows":["again","double"],"activities":["act"]}` {
		t.Errorf("manifest: got %s, %v", got, err)
	}
}

func TestAddPanics(t *testing.T) {
	for name, of := range map[string]string{"empty": "", "long": strings.Repeat("n", 256), "taken": "taken", "not UTF-8": "\xff", "NUL": "a\x00"} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p, _ := recover().(string); !strings.HasPrefix(p, "reprise: ") {
					t.Errorf("got panic %q, want one that begins with reprise:", p)
				}
			}()
			add(map[string]handler{"taken": nil}, "workflow", of, wrap(double))
		})
	}
}

func TestExecute(t *testing.T) {
	var missing *Failure
	for _, tc := range []struct {
		name, input string
		h           handler
		out, code   string
	}{
		{"result", "21", wrap(double), "42", ""},
		{"bad input", `"x"`, wrap(double), "", CodeInvalidInput},
		{"bad output", "", wrap(func(context.Context, int) (any, error) { return make(chan int), nil }), "", CodeInvalidOutput},
		{"error", "", wrap(func(context.Context, int) (int, error) { return 1, errors.New("no") }), "", CodeError},
		{"panic", "", wrap(func(context.Context, int) (int, error) { panic("boom") }), "", CodePanic},
		{"nil pointer", "", wrap(func(context.Context, int) (string, error) { return missing.Code, nil }), "", CodePanic},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := execute(t.Context(), tc.h, []byte(tc.input))
			if string(out) != tc.out {
				t.Errorf("got output %q, want %q", out, tc.out)
			}
			if tc.code == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("got no error, want %s", tc.code)
			}
			f := toFailure(err)
			if f.Code != tc.code {
				t.Errorf("got %v, want code %s", f, tc.code)
			}
			if tc.code == CodePanic && !strings.Contains(string(f.Details), "registry_test.go") {
				t.Errorf("details do not show the stack: %s", f.Details)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opts   ActivityOptions
		module string
		want   string
	}{
		{"defaults", ActivityOptions{}, "", ""},
		{"module", ActivityOptions{}, "other", `{"module":"other"}`},
		{"rounded up", ActivityOptions{Timeout: time.Microsecond, TotalTimeout: time.Minute}, "", `{"timeout_ms":1,"total_timeout_ms":60000}`},
		{"retry", ActivityOptions{Retry: &Retry{Attempts: 3, Backoff: time.Second, Factor: 1.5, MaxBackoff: time.Minute, NonRetryable: []string{"declined"}}}, "",
			`{"retry":{"attempts":3,"backoff_ms":1000,"factor":1.5,"max_backoff_ms":60000,"non_retryable":["declined"]}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(tc.opts.encode(tc.module)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
