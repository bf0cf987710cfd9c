package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a host that gives one answer after the other, the last for ever; status 0 cuts the
// connection. It remembers what was asked.
type answers struct {
	mu       sync.Mutex
	statuses []int
	body     string
	asked    []string
	keys     []string
	bodies   []string
	tokens   []string
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI())
	a.keys = append(a.keys, r.Header.Get("Idempotency-Key"))
	a.tokens = append(a.tokens, r.Header.Get("Authorization"))
	a.bodies = append(a.bodies, string(body))
	status := a.statuses[0]
	if len(a.statuses) > 1 {
		a.statuses = a.statuses[1:]
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
	w.WriteHeader(status)
	io.WriteString(w, a.body)
}

func newClient(t *testing.T, a *answers) *Client {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	c, err := New(Config{Addr: s.URL, Token: "secret", Backoff: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRepeats(t *testing.T) {
	const problem = `{"type":"t","title":"t","status":503,"code":"not_ready","retryable":true}`
	start := func(c *Client) error {
		_, err := c.StartRun(context.Background(), StartRun{Workflow: "w", Input: []byte("x")})
		return err
	}
	signal := func(c *Client) error {
		_, err := c.Signal(context.Background(), "run_1", "s", "", nil)
		return err
	}
	resume := func(c *Client) error {
		_, err := c.Resume(context.Background(), "run_1")
		return err
	}
	remove := func(c *Client) error { return c.Delete(context.Background(), "run_1") }
	show := func(c *Client) error {
		_, err := c.Run(context.Background(), "run_1")
		return err
	}
	tests := []struct {
		name     string
		statuses []int
		call     func(*Client) error
		asked    int
		ok       bool
	}{
		{"start after a cut connection", []int{0, 0, 201}, start, 3, true},
		{"start after 503", []int{503, 201}, start, 2, true},
		{"start gives up", []int{503}, start, 4, false},
		{"signal after a cut connection", []int{0, 202}, signal, 2, true},
		{"resume is not repeated", []int{503, 200}, resume, 1, false},
		{"resume is not repeated after a cut connection", []int{0, 200}, resume, 1, false},
		{"delete", []int{204}, remove, 1, true},
		{"delete is not repeated after a cut connection", []int{0, 204}, remove, 1, false},
		{"a conflict is an answer", []int{409, 200}, start, 1, false},
		{"not found is an answer", []int{404, 200}, show, 1, false},
		{"429 is an answer", []int{429, 200}, show, 1, false},
		{"a redirect is not followed", []int{301}, show, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &answers{statuses: tt.statuses, body: problem}
			err := tt.call(newClient(t, a))
			a.mu.Lock() // a connection is cut before its handler has ended
			defer a.mu.Unlock()
			if (err == nil) != tt.ok || len(a.asked) != tt.asked {
				t.Errorf("got %d requests and %v, want %d and success %v", len(a.asked), err, tt.asked, tt.ok)
			}
			if len(slices.Compact(slices.Clone(a.keys))) != 1 || len(slices.Compact(slices.Clone(a.bodies))) != 1 {
				t.Errorf("got the keys %q and bodies %q, want the same in every repeat", a.keys, a.bodies)
			}
		})
	}
}

func TestEachStartHasItsOwnKey(t *testing.T) {
	a := &answers{statuses: []int{201}, body: "{}"}
	c := newClient(t, a)
	for range 2 {
		if _, err := c.StartRun(context.Background(), StartRun{Workflow: "w"}); err != nil {
			t.Fatal(err)
		}
	}
	if a.keys[0] == a.keys[1] || len(a.keys[0]) < 16 {
		t.Errorf("got the keys %q, want two that differ", a.keys)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, body, code string
		status           int
	}{
		{"problem", `{"code":"run_not_found","detail":"d","status":200}`, "run_not_found", 404},
		{"page of a proxy", `<html>`, "not_a_problem", 502},
		{"other JSON", `{"error":"x"}`, "not_a_problem", 500},
		{"redirect", ``, "not_a_problem", 302},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newClient(t, &answers{statuses: []int{tt.status}, body: tt.body}).Run(context.Background(), "x")
			var e *Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Status != tt.status {
				t.Errorf("got %#v, want code %s and status %d", err, tt.code, tt.status)
			}
		})
	}
	var u *UnreachableError
	if _, err := newClient(t, &answers{statuses: []int{0}}).Run(context.Background(), "x"); !errors.As(err, &u) {
		t.Errorf("got %v, want an UnreachableError", err)
	}
	if _, err := newClient(t, &answers{statuses: []int{200}, body: "<html>"}).Run(context.Background(), "x"); err == nil {
		t.Error("an answer that is no JSON: got no error, want one")
	}
}

func TestPathsAreEscaped(t *testing.T) {
	a := &answers{statuses: []int{200}, body: "{}"}
	c := newClient(t, a)
	ctx := context.Background()
	for _, err := range []error{
		second(c.Run(ctx, "../x?y#z")), second(c.Signal(ctx, "r", "a/b c", "", nil)), second(c.PushModule(ctx, "m%", nil, "sha256:0")),
		second(c.Runs(ctx, Filter{Key: "a&b", Limit: 3})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"GET /v1/runs/..%2Fx%3Fy%23z", "POST /v1/runs/r/signals/a%2Fb%20c", "PUT /v1/modules/m%25?digest=sha256%3A0", "GET /v1/runs?key=a%26b&limit=3"}
	if diff := cmp.Diff(want, a.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if got := a.tokens[0]; got != "Bearer secret" {
		t.Errorf("got Authorization %q, want %q", got, "Bearer secret")
	}
}

func second[T any](_ T, err error) error { return err }

func TestWait(t *testing.T) {
	open := &answers{statuses: []int{202}, body: `{"state":"waiting"}`}
	if _, err := newClient(t, open).Wait(context.Background(), "r", time.Millisecond); !errors.Is(err, ErrStillOpen) {
		t.Errorf("got %v, want ErrStillOpen", err)
	}
	done := &answers{statuses: []int{202, 202, 200}, body: "{ }"}
	output, err := newClient(t, done).Wait(context.Background(), "r", 0)
	if err != nil || string(output) != "{ }" || len(done.asked) != 3 {
		t.Errorf("got %q, %v after %d requests, want the output's bytes after 3", output, err, len(done.asked))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newClient(t, open).Wait(ctx, "r", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"": DefaultAddr, "127.0.0.1:1": "http://127.0.0.1:1", "https://h/": "https://h", "http://h:1/base": "http://h:1/base",
		"ftp://h": "", "http://": "", "http://[": "",
	} {
		c, err := New(Config{Addr: addr})
		if (err != nil) != (want == "") {
			t.Errorf("New(%q): got %v, want an error: %v", addr, err, want == "")
		}
		if err == nil && c.Addr() != want {
			t.Errorf("New(%q): got %q, want %q", addr, c.Addr(), want)
		}
	}
}
