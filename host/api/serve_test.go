package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/journal"
	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTokensDecideTheTenant(t *testing.T) {
	f := newFake()
	mine := f.put("ann", journal.Run{})
	others := f.put("bob", journal.Run{})
	h := New(Config{UseCases: f, Tokens: tenant.Tokens{tenant.NewToken("ann", "token-of-ann"), tenant.NewToken("bob", "token-of-bob")}})
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	tests := []struct {
		name   string
		req    req
		status int
	}{
		{"own run", req{path: "/v1/runs/" + mine.ID.String(), header: bearer("token-of-ann")}, 200},
		{"scheme in small letters", req{path: "/v1/runs/" + mine.ID.String(), header: map[string]string{"Authorization": "bearer token-of-ann"}}, 200},
		{"any host with a token", req{path: "/v1/runs/" + mine.ID.String(), header: bearer("token-of-ann"), host: "reprise.example"}, 200},
		{"another tenant's run", req{path: "/v1/runs/" + others.ID.String(), header: bearer("token-of-ann")}, 404},
		{"another tenant's journal", req{path: "/v1/runs/" + others.ID.String() + "/journal", header: bearer("token-of-ann")}, 404},
		{"another tenant's result", req{path: "/v1/runs/" + others.ID.String() + "/result", header: bearer("token-of-ann")}, 404},
		{"signal to another tenant's run", req{method: "POST", path: "/v1/runs/" + others.ID.String() + "/signals/s", header: bearer("token-of-ann")}, 404},
		{"cancel of another tenant's run", req{method: "POST", path: "/v1/runs/" + others.ID.String() + "/cancel", header: bearer("token-of-ann")}, 404},
		{"resume of another tenant's run", req{method: "POST", path: "/v1/runs/" + others.ID.String() + "/resume", header: bearer("token-of-ann")}, 404},
		{"delete of another tenant's run", req{method: "DELETE", path: "/v1/runs/" + others.ID.String(), header: bearer("token-of-ann")}, 404},
		{"replay of another tenant's run", req{method: "POST", path: "/v1/runs/" + others.ID.String() + "/replay", header: bearer("token-of-ann")}, 404},
		{"no token", req{path: "/v1/runs"}, 401},
		{"empty token", req{path: "/v1/runs", header: bearer("")}, 401},
		{"wrong token", req{path: "/v1/runs", header: bearer("token-of-anna")}, 401},
		{"other scheme", req{path: "/v1/runs", header: map[string]string{"Authorization": "Basic token-of-ann"}}, 401},
		{"unknown route without a token", req{path: "/v1/nothing"}, 401},
		{"health without a token", req{path: "/healthz"}, 200},
		{"readiness without a token", req{path: "/readyz"}, 200},
		{"description without a token", req{path: "/openapi.json"}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.req.do(h)
			mustStatus(t, w, tt.status)
			if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (tt.status == 401) {
				t.Errorf("got WWW-Authenticate %q with status %d", challenge, tt.status)
			}
		})
	}
}

func TestLoopbackNames(t *testing.T) {
	for name, want := range map[string]bool{
		"127.0.0.1:7070": true, "127.8.8.8": true, "localhost": true, "LOCALHOST:1": true, "[::1]:7070": true, "[::1]": true,
		"10.0.0.1:7070": false, "0.0.0.0:7070": false, "localhost.evil.example": false, "127.0.0.1.evil.example:7070": false, "": false,
	} {
		if got := loopbackName(name); got != want {
			t.Errorf("loopbackName(%q): got %v, want %v", name, got, want)
		}
	}
}

func TestListenRefusesOthersWithoutTokens(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "10.1.2.3:0", "example.com:0"} {
		if l, err := Listen(addr, true); !errors.Is(err, ErrNotLoopback) {
			t.Errorf("Listen(%q): got %v, want ErrNotLoopback", addr, err)
			if err == nil {
				l.Close()
			}
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := Listen(addr, true)
		if err != nil {
			t.Errorf("Listen(%q): got %v, want a listener", addr, err)
			continue
		}
		l.Close()
	}
	if _, err := Listen("127.0.0.1", true); err == nil {
		t.Error("Listen without a port: got no error, want one")
	}
}

// serve runs a real server, for what a recorder cannot show.
func serve(t *testing.T, cfg Config) string {
	t.Helper()
	l, err := Listen("127.0.0.1:0", true)
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(New(cfg), slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

func TestServerBoundsWhatAClientCanHold(t *testing.T) {
	s := NewServer(nil, slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("got header timeout %s, idle timeout %s, header bytes %d, want bounds", s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
	if s.WriteTimeout <= MaxWait {
		t.Errorf("got write timeout %s, want more than the longest wait, %s", s.WriteTimeout, MaxWait)
	}
	if s.ReadTimeout != 0 {
		t.Errorf("got read timeout %s, want none: it would end waits", s.ReadTimeout)
	}
}

// broken is a connection whose client has gone.
type broken struct{ *httptest.ResponseRecorder }

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAClientThatIsGoneIsNoFailure(t *testing.T) {
	var log bytes.Buffer
	h := New(Config{UseCases: newFake(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest("GET", "/v1/runs", nil)
	r.Host = "localhost"
	h.ServeHTTP(broken{httptest.NewRecorder()}, r)
	if log.Len() > 0 {
		t.Errorf("the log has %q, want nothing", &log)
	}
}

func TestSlowBodyIsCutOff(t *testing.T) {
	addr := serve(t, Config{UseCases: newFake(), BodyTimeout: 50 * time.Millisecond})
	for name, head := range map[string]string{
		"module": "PUT /v1/modules/m HTTP/1.1\r\nContent-Type: application/wasm\r\n",
		"start":  "POST /v1/runs HTTP/1.1\r\nContent-Type: application/json\r\n",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%sHost: %s\r\nContent-Length: 10\r\n\r\n{", head, addr)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(body), "body_timeout") {
			t.Errorf("%s: got %d %s, want 408 body_timeout", name, resp.StatusCode, body)
		}
		c.Close()
	}
}

func TestAWaitOutlivesTheBodyTimeout(t *testing.T) {
	f := newFake()
	const timeout = 20 * time.Millisecond
	waited := make(chan error, 1)
	f.wait = waitPast(2*timeout, waited)
	addr := serve(t, Config{UseCases: f, BodyTimeout: timeout})
	resp, err := http.Post("http://"+addr+"/v1/runs?wait=10s", "application/json", strings.NewReader(`{"workflow":"w"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err := <-waited; err != nil || resp.StatusCode != http.StatusCreated {
		t.Errorf("got status %d and a wait that ended with %v, want 201 and nil", resp.StatusCode, err)
	}
}

func TestATruncatedBodyIsNotAModule(t *testing.T) {
	addr := serve(t, Config{UseCases: newFake()})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "PUT /v1/modules/m HTTP/1.1\r\nHost: %s\r\nContent-Type: application/wasm\r\nContent-Length: 10\r\n\r\n\x00asm", addr)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "body_unreadable") {
		t.Errorf("got %d %s, want 400 body_unreadable", resp.StatusCode, body)
	}
}
