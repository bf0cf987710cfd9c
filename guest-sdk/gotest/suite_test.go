package gotest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host"
	"reprise/journal"
	"reprise/tenant"
)

// Each case runs both ways of building, and each run is replayed.
func TestCompletes(t *testing.T) {
	for _, tc := range []struct{ name, entry, input, want string }{
		{"sequential", "sequential", "25", "25"},
		{"parallel goroutines", "parallel", "12", "[0,1,4,9,16,25,36,49,64,81,100,121]"},
		{"select with time.After and cancel", "race", "", `"the request won"`},
		{"mutex, semaphore, condition", "locks", "8", "28"},
		{"first error cancels the others", "group", "", `"broken: on purpose"`},
		{"caught failure", "caught", "", `{"code":"declined","message":"no money","details":{"n":9007199254740993}}`},
		{"context deadline", "deadline", "", `"in time"`},
		{"activities and retry", "retry", "", `["attempt 3","not_yet: attempt 3","final: attempt 1","not_yet: attempt 1","unknown_activity"]`},
		{"tickers and timers", "ticks", "", `"ok"`},
		{"children", "children", "4", "[0,1,2,3]"},
		{"failure of a child", "child-fails", `{"code":"c","message":"m","details":{"k":9007199254740993}}`, `{"code":"c","message":"step 3: c: m","details":{"k":9007199254740993}}`},
		{"child that is given up", "child-given-up", "", "true"},
		{"child of an activity", "child-of-activity", "", `"abi_misuse: only a workflow starts child runs, not activity"`},
		{"continue as new in an activity", "again-elsewhere", "", `"error: only a workflow can continue as new"`},
		{"limit", "limits", "", ""},
		{"bytes", "payload", "\x00\xff\xfe not JSON {", "\x00\xff\xfe not JSON {"},
		{"no bytes", "payload", "", ""},
		{"lone surrogate", "payload", `"\ud800"`, `"\ud800"`},
		{"large integer, NUL, unicode, key order", "typed",
			`{"large":9007199254740993,"text":"é\u0000😀<&>","raw":{"b":9007199254740993,"a":1.0},"bytes":"AP8="}`,
			`{"large":9007199254740993,"text":"é\u0000😀<&>","raw":{"b":9007199254740993,"a":1.0},"bytes":"AP8="}`},
		{"HTTP", "fetch", `"http://h/"`,
			`"418 tea \"{\\\"method\\\":\\\"POST\\\",\\\"url\\\":\\\"http://h/\\\",\\\"headers\\\":{\\\"X-Test\\\":\\\"é\\\"},\\\"body_base64\\\":\\\"AP8=\\\"}\""`},
	} {
		for _, module := range []string{"suite", "suite-command"} {
			t.Run(tc.name+"/"+module, func(t *testing.T) {
				run := finish(t, start(t, module, tc.entry, tc.input))
				if run.State != journal.Completed {
					t.Fatalf("got %s %s, want completed", run.State, run.Failure)
				}
				if tc.entry == "limits" {
					if !strings.Contains(string(run.Output), abi.CodePayloadLarge) {
						t.Errorf("got %s, want a failure with code %s", run.Output, abi.CodePayloadLarge)
					}
				} else if diff := cmp.Diff(tc.want, string(run.Output)); diff != "" {
					t.Errorf("output (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestFails(t *testing.T) {
	for _, tc := range []struct {
		name, entry, input string
		want               abi.Failure // Message is a part of what is wanted
		details            string      // part of the details
	}{
		{"failure, wrapped", "fails", `{"code":"c","message":"m","retryable":false,"details":{"k":"v"}}`,
			abi.Failure{Code: "c", Message: "step 3: c: m"}, `{"k":"v"}`},
		{"panic", "panics", "", abi.Failure{Code: "panic", Message: "nil pointer dereference"}, "main.Panics"},
		{"panic in another goroutine", "panics-elsewhere", "", abi.Failure{Code: abi.CodeTrap, Message: "panic: in a goroutine"}, ""},
		{"where it panicked", "panics-elsewhere", "", abi.Failure{Code: abi.CodeTrap, Message: "main.PanicsElsewhere.func1"}, ""},
		{"deadline escapes", "deadline-escapes", "", abi.Failure{Code: "timeout", Message: "context deadline exceeded"}, ""},
		{"input of another type", "sequential", `"x"`, abi.Failure{Code: "invalid_input", Message: "input is not a int"}, ""},
		{"input that is not JSON", "typed", "\x00", abi.Failure{Code: "invalid_input", Message: "invalid character"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := finish(t, start(t, "suite", tc.entry, tc.input))
			var f abi.Failure
			if err := json.Unmarshal(run.Failure, &f); run.State != journal.Failed || err != nil {
				t.Fatalf("got %s with failure %q and output %q, want failed", run.State, run.Failure, run.Output)
			}
			if f.Code != tc.want.Code || !strings.Contains(f.Message, tc.want.Message) || !strings.Contains(string(f.Details), tc.details) {
				t.Errorf("got %s\nwant code %s, message with %q, details with %q", run.Failure, tc.want.Code, tc.want.Message, tc.details)
			}
		})
	}
}

// The host knows a module's workflows from its manifest, so a wrong name is refused at the start.
func TestUnknownWorkflow(t *testing.T) {
	_, _, err := env.host.StartRun(t.Context(), tenant.Default, host.StartRun{Workflow: "suite", Entry: "nope"})
	var refused *host.Error
	if !errors.As(err, &refused) || refused.Code != "unknown_entry" {
		t.Errorf("got %v, want unknown_entry", err)
	}
}

func TestSignals(t *testing.T) {
	id := start(t, "suite", "signals", "3")
	signal(t, id, "note", `"one"`)
	until(t, id, isWaiting) // the rest must wake a run that is suspended
	signal(t, id, "note", `"two"`)
	signal(t, id, "note", `"two"`) // the same id: once
	signal(t, id, "note", `"three"`)
	signal(t, id, "late", `"late"`)
	run := finish(t, id)
	if got, want := string(run.Output), `["one","two","three","late"]`; got != want {
		t.Errorf("got %s %s, want %s", got, run.Failure, want)
	}
}

// A run goes on as another, which has the signals that the first has not seen.
func TestContinueAsNew(t *testing.T) {
	id := start(t, "suite", "again", "")
	for _, note := range []string{`"one"`, `"two"`, `"three"`} {
		signal(t, id, "note", note)
	}
	run := finish(t, id)
	if got, want := string(run.Output), `["one","two","three"]`; got != want {
		t.Errorf("got %s %s %s, want %s", run.State, got, run.Failure, want)
	}
	for range 2 {
		v, err := env.host.Run(t.Context(), tenant.Default, id)
		if err != nil || v.Run.State != journal.Continued {
			t.Fatalf("got %s, %v, want continued", v.Run.State, err)
		}
		id = v.Run.Successor
	}
	if id != run.ID {
		t.Errorf("the third run is %s, and the result that of %s", id, run.ID)
	}
}

func TestCancellationWithCleanup(t *testing.T) {
	id := start(t, "suite", "cleanup", "")
	until(t, id, published("stage", `"waiting"`))
	if _, err := env.host.Cancel(t.Context(), tenant.Default, id, "the customer left"); err != nil {
		t.Fatal(err)
	}
	run := finish(t, id)
	if run.State != journal.Cancelled || !strings.Contains(string(run.Failure), `"cancelled"`) {
		t.Errorf("got %s %s, want cancelled", run.State, run.Failure)
	}
	until(t, id, published("stage", `"undone"`))
}

// A goroutine that waits for what never comes is ended by cancellation, not left for ever.
func TestStuckRunEndsWhenCancelled(t *testing.T) {
	id := start(t, "suite", "stuck", "")
	until(t, id, isWaiting)
	if _, err := env.host.Cancel(t.Context(), tenant.Default, id, ""); err != nil {
		t.Fatal(err)
	}
	if run := finish(t, id); !strings.Contains(string(run.Failure), abi.CodeDeadlock) {
		t.Errorf("got %s %s, want a failure with code %s", run.State, run.Failure, abi.CodeDeadlock)
	}
}

// What is random in Go is so between runs and the same in each replay of one (finish replays).
func TestRandomnessIsPerRun(t *testing.T) {
	a, b := finish(t, start(t, "suite", "order", "")), finish(t, start(t, "suite", "order", ""))
	if len(a.Output) == 0 || string(a.Output) == string(b.Output) {
		t.Errorf("two runs gave the same order: %s", a.Output)
	}
}

// Every source of randomness is the run's own, also in a program whose runs all begin from one image.
func TestEverySourceOfRandomnessIsPerRun(t *testing.T) {
	for _, module := range []string{"suite", "suite-command"} {
		var a, b map[string]string
		for _, to := range []*map[string]string{&a, &b} {
			if err := json.Unmarshal(finish(t, start(t, module, "draws", "{}")).Output, to); err != nil {
				t.Fatal(err)
			}
		}
		for source := range a {
			if a[source] == "" || a[source] == b[source] {
				t.Errorf("%s: two runs drew the same from %s: %s", module, source, a[source])
			}
		}
		if len(a) != 4 {
			t.Errorf("%s: got %v, want 4 sources", module, a)
		}
	}
}

// TestGoProgramsAreWarm fails when a toolchain's runtime has changed so that the SDK does not find its generator: then
// every run would initialise the whole runtime. See guest-sdk/go/reseed_wasip1.go.
func TestGoProgramsAreWarm(t *testing.T) {
	for module, want := range map[string]string{"suite": host.ImageWarm, "sleeper": host.ImageWarm, "hello": host.ImageWarm, "suite-command": host.ImageFresh} {
		b, err := os.ReadFile(filepath.Join(env.dir, module+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := host.Check(t.Context(), host.Config{CacheDir: env.cache}, b)
		if err != nil || r.Refused != nil || r.Image.Kind != want || r.Image.Why != "" {
			t.Errorf("%s: got %+v, %v, %v, want a %s image", module, r.Image, r.Refused, err, want)
		}
	}
}

func TestTells(t *testing.T) {
	id := start(t, "suite", "tells", "")
	run := finish(t, id)
	var got map[string]any
	if err := json.Unmarshal(run.Output, &got); err != nil {
		t.Fatalf("output %q: %v", run.Output, err)
	}
	want := map[string]any{"run": id.String(), "tenant": string(tenant.Default), "workflow": "suite", "key": "", "module": string(run.Digest), "attempt": 0.0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	until(t, id, published("progress", `{"percent":50}`))
	for _, line := range []string{"by Log", "by Logger n=1", "by package log", "by fmt"} {
		if n := strings.Count(env.log.String(), strconv.Quote(line)); n != 1 {
			t.Errorf("the log has %q %d times, want once: a replay must be silent", line, n)
		}
	}
}

func TestManifest(t *testing.T) {
	for _, module := range []string{"suite", "suite-command"} {
		v, err := env.host.Module(t.Context(), tenant.Default, module)
		if err != nil {
			t.Fatal(err)
		}
		m := v.Module.Manifest
		if !strings.HasPrefix(m.SDK, "go/") || len(m.Workflows) < 20 || !cmp.Equal(m.Activities, []string{"final", "flaky", "parent", "same"}) {
			t.Errorf("%s: got manifest %+v", module, m)
		}
	}
}

func TestSleeper(t *testing.T) {
	run := finish(t, start(t, "sleeper", "", `"1s"`))
	var out struct{ Slept string }
	if err := json.Unmarshal(run.Output, &out); err != nil {
		t.Fatalf("got %s %s (%v), want what it slept", run.Output, run.Failure, err)
	}
	if d, err := time.ParseDuration(out.Slept); err != nil || d < time.Second {
		t.Errorf("it slept %s (%v), want at least 1s", out.Slept, err)
	}
	id := start(t, "sleeper", "", `"24h"`)
	until(t, id, func(v host.RunView) bool {
		return isWaiting(v) && v.Run.WakeAt.After(v.Run.CreatedAt.Add(23*time.Hour))
	})
}

func TestPlainProgram(t *testing.T) {
	run := finish(t, start(t, "plain", "", "héllo\x00"))
	if got, want := string(run.Output), "HÉLLO\x00"; got != want || run.State != journal.Completed {
		t.Errorf("got %s %q %s, want %q", run.State, got, run.Failure, want)
	}
	run = finish(t, start(t, "plain", "", "fail"))
	if run.State != journal.Failed || !strings.Contains(string(run.Failure), "asked to fail") {
		t.Errorf("got %s %s, want a failure with the last words of stderr", run.State, run.Failure)
	}
}

// Libraries that know nothing of workflows work in them, and survive a replay.
func TestLibraries(t *testing.T) {
	for _, tc := range []struct{ entry, input, want string }{
		{"group", "7", "[0,1,4,9,16,25,36]"},
		{"first-error", "", `"broken: on purpose, context canceled"`},
		{"logs", "", "true"},
	} {
		t.Run(tc.entry, func(t *testing.T) {
			if run := finish(t, start(t, "libraries", tc.entry, tc.input)); string(run.Output) != tc.want {
				t.Errorf("got %s %s %s, want %s", run.State, run.Output, run.Failure, tc.want)
			}
		})
	}
	for _, line := range []string{`level=WARN msg="by slog n=1"`, `level=ERROR msg="by slog, with attributes request=7"`} {
		if n := strings.Count(env.log.String(), line); n != 1 {
			t.Errorf("the log has %q %d times, want once", line, n)
		}
	}
}

func TestHello(t *testing.T) {
	run := finish(t, start(t, "hello", "", `{"name":"Ada","after":"50ms"}`))
	if got, want := string(run.Output), `"Hello, Ada!"`; got != want {
		t.Errorf("got %s %s, want %s", got, run.Failure, want)
	}
	run = finish(t, start(t, "hello", "", `{"after":"soon"}`))
	if run.State != journal.Failed || !strings.Contains(string(run.Failure), "bad_duration") {
		t.Errorf("got %s %s, want a failure with code bad_duration", run.State, run.Failure)
	}
}
