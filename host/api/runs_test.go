package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/abi"
	"reprise/host/api/wire"
	"reprise/journal"
	"reprise/tenant"
)

// payloads are inputs that a layer which decodes and encodes again would change.
var payloads = []struct {
	name, body string
	json       bool
}{
	{"beyond 2^53", `9007199254740993`, true},
	{"white space", "{ \"b\" : 1,\n\t\"a\":2 }", true},
	{"key order and repeats", `{"b":1,"a":2,"b":3}`, true},
	{"markup", `"<script>&'\u2028"`, true},
	{"lone surrogate", `"\ud800"`, true},
	{"exponent", `1e400`, true},
	{"not a number", `-0.0`, true},
	{"nothing but null", `null`, true},
	{"deep", strings.Repeat("[", 900) + strings.Repeat("]", 900), true},
	{"too deep to show", strings.Repeat("[", 1100) + strings.Repeat("]", 1100), false},
	{"no JSON", `{"a":`, false},
	{"zero byte", "a\x00b", false},
	{"not UTF-8", "\"\xff\"", false},
	{"largest", strings.Repeat("x", abi.MaxPayload), false},
}

func TestInputsKeepTheirBytes(t *testing.T) {
	for _, p := range payloads {
		t.Run(p.name, func(t *testing.T) {
			f := newFake()
			h := New(Config{UseCases: f})
			bodies := []string{`{"workflow":"w","input_base64":"` + base64.StdEncoding.EncodeToString([]byte(p.body)) + `"}`}
			if json.Valid([]byte(p.body)) && p.name != "not UTF-8" {
				bodies = append(bodies, `{"workflow":"w","input":`+p.body+`}`, "{ \"input\" : "+p.body+" , \"workflow\":\"w\"}")
			}
			for _, body := range bodies {
				w := req{method: "POST", path: "/v1/runs", body: body}.do(h)
				mustStatus(t, w, http.StatusCreated)
				id, err := journal.ParseRunID(strings.TrimPrefix(w.Header().Get("Location"), "/v1/runs/"))
				if err != nil {
					t.Fatalf("got Location %q: %v", w.Header().Get("Location"), err)
				}
				run, err := f.get(tenant.Default, id)
				if err != nil || string(run.Input) != p.body {
					t.Errorf("the use case got %.80q (%v), want %.80q", run.Input, err, p.body)
				}
				if p.json && !strings.Contains(w.Body.String(), `"input":`+p.body+`,`) {
					t.Errorf("the answer does not show the input as it is: %.300s", w.Body)
				}
				var shown wire.Run
				if err := json.Unmarshal(w.Body.Bytes(), &shown); err != nil {
					t.Fatalf("the answer is not JSON: %v: %.300s", err, w.Body)
				}
				if got := wire.Bytes(shown.Input, shown.InputBase64); string(got) != p.body {
					t.Errorf("a client reads %.80q, want %.80q", got, p.body)
				}
			}
		})
	}
}

func TestResultIsTheBytes(t *testing.T) {
	for _, p := range payloads {
		t.Run(p.name, func(t *testing.T) {
			f := newFake()
			r := f.put(tenant.Default, journal.Run{State: journal.Completed, Output: []byte(p.body)})
			w := req{path: "/v1/runs/" + r.ID.String() + "/result"}.do(New(Config{UseCases: f}))
			mustStatus(t, w, http.StatusOK)
			if !bytes.Equal(w.Body.Bytes(), []byte(p.body)) {
				t.Errorf("got %.80q, want %.80q", w.Body, p.body)
			}
			want := "application/octet-stream"
			if p.json {
				want = "application/json"
			}
			if got := w.Header().Get("Content-Type"); got != want {
				t.Errorf("got Content-Type %q, want %q", got, want)
			}
		})
	}
}

func TestResultByState(t *testing.T) {
	failure := `{"code":"boom",  "message":"<b>"}`
	tests := []struct {
		state  journal.State
		status int
		code   string
	}{
		{journal.Ready, 202, ""}, {journal.Running, 202, ""}, {journal.Waiting, 202, ""},
		{journal.Paused, 409, "run_paused"}, {journal.Blocked, 409, "run_blocked"},
		{journal.Completed, 200, ""}, {journal.Failed, 409, "run_failed"}, {journal.Cancelled, 409, "run_cancelled"},
		{journal.Terminated, 409, "run_terminated"}, {journal.TimedOut, 409, "run_timed_out"}, {journal.Continued, 409, "run_continued"},
	}
	if len(tests) != len(journal.States) {
		t.Fatalf("got %d states in the test, want %d", len(tests), len(journal.States))
	}
	for _, tt := range tests {
		t.Run(string(tt.state), func(t *testing.T) {
			f := newFake()
			r := f.put(tenant.Default, journal.Run{State: tt.state, Reason: "why", Failure: []byte(failure)})
			w := req{path: "/v1/runs/" + r.ID.String() + "/result"}.do(New(Config{UseCases: f}))
			mustStatus(t, w, tt.status)
			if tt.code == "" {
				return
			}
			if !strings.Contains(w.Body.String(), `"failure":`+failure) {
				t.Errorf("the problem does not show the failure as it is: %s", w.Body)
			}
			var p wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if p.Code != tt.code || p.State != string(tt.state) || p.RunID != r.ID.String() {
				t.Errorf("got code %q state %q run %q, want %q %q %q", p.Code, p.State, p.RunID, tt.code, tt.state, r.ID)
			}
		})
	}
}

func TestStartAgainReturnsTheFirstRun(t *testing.T) {
	h := New(Config{UseCases: newFake()})
	start := req{method: "POST", path: "/v1/runs", body: `{"workflow":"w","key":"k"}`, header: map[string]string{"Idempotency-Key": "one"}}
	first, second := start.do(h), start.do(h)
	mustStatus(t, first, http.StatusCreated)
	mustStatus(t, second, http.StatusOK)
	var a, b wire.Run
	if err := json.Unmarshal(first.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(second.Body.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if a.Existing || !b.Existing {
		t.Errorf("got existing %v then %v, want false then true", a.Existing, b.Existing)
	}
	b.Existing = false
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the second answer shows another run (-first +second):\n%s", diff)
	}
	start.header = nil
	conflict := start.do(h)
	mustStatus(t, conflict, http.StatusConflict)
	if !strings.Contains(conflict.Body.String(), `"run_id":"`+a.ID+`"`) {
		t.Errorf("the conflict does not name the run in the way: %s", conflict.Body)
	}
}

func TestJournalEntriesInJSON(t *testing.T) {
	f := newFake()
	f.entry = []journal.Entry{{
		Seq: 0, Kind: journal.KindEffect, Op: 4, Name: "http.request", Request: []byte(`{ "url":"<x>" }`), Options: []byte{0xff},
		Status: abi.OK, Payload: []byte("plain"), Issued: 7, Trail: 0xabc, Token: 3, At: time.Unix(1_700_000_000, 123_456_789),
	}}
	r := f.put(tenant.Default, journal.Run{})
	w := req{path: "/v1/runs/" + r.ID.String() + "/journal"}.do(New(Config{UseCases: f}))
	mustStatus(t, w, http.StatusOK)
	want := `{"entries":[{"seq":0,"kind":"effect","op":4,"name":"http.request","status":"ok","request":{ "url":"<x>" },` +
		`"options_base64":"/w==","payload_base64":"cGxhaW4=","issued":7,"trail":"0000000000000abc","token":3,"at":"2023-11-14T22:13:20.123456Z"}],"next":1}` + "\n"
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	end := req{path: "/v1/runs/" + r.ID.String() + "/journal?from=1"}.do(New(Config{UseCases: f}))
	if got, want := end.Body.String(), `{"entries":[],"next":1}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSignalsKeepTheirBytes(t *testing.T) {
	f := newFake()
	h := New(Config{UseCases: f})
	r := f.put(tenant.Default, journal.Run{})
	path := "/v1/runs/" + r.ID.String() + "/signals/a%2Fb"
	w := req{method: "POST", path: path, body: "\x00{ }", header: map[string]string{"Idempotency-Key": "again", "Content-Type": "text/plain"}}.do(h)
	mustStatus(t, w, http.StatusAccepted)
	if got, want := w.Body.String(), `{"id":"again","duplicate":true}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"again", "a/b", "\x00{ }"}, f.signals); diff != "" {
		t.Errorf("the use case got (-want +got):\n%s", diff)
	}
	w = req{method: "POST", path: path}.do(h)
	mustStatus(t, w, http.StatusAccepted)
	if len(f.signals) != 6 || len(f.signals[3]) < 16 {
		t.Errorf("got %q, want a signal with an id that the server made", f.signals)
	}
}

func TestDrainEndsWaits(t *testing.T) {
	f := newFake()
	waiting := make(chan struct{})
	f.wait = func(ctx context.Context) { close(waiting); <-ctx.Done() }
	r := f.put(tenant.Default, journal.Run{State: journal.Running})
	h := New(Config{UseCases: f})
	answered := make(chan int)
	go func() { answered <- req{path: "/v1/runs/" + r.ID.String() + "/result?wait=60s"}.do(h).Code }()
	<-waiting
	h.Drain()
	if got := <-answered; got != http.StatusAccepted {
		t.Errorf("got status %d, want %d", got, http.StatusAccepted)
	}
	w := req{path: "/readyz"}.do(h)
	mustStatus(t, w, http.StatusServiceUnavailable)
	if !strings.Contains(w.Body.String(), `{"name":"draining","ok":false,"error":"the host is stopping"}`) {
		t.Errorf("readyz does not name the check that failed: %s", w.Body)
	}
}
