package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise/host"
	"reprise/journal/sqlite"
	"reprise/modules"
	"reprise/tenant"
)

// counted is a body that counts what is read of it; it has no end of its own.
type counted struct{ n int64 }

func (c *counted) Read(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// neverPushed fails the test when a module reaches the host.
func neverPushed(t *testing.T) *fake {
	f := newFake()
	f.push = func(name string, bytes []byte, _ modules.Digest) (host.Pushed, error) {
		t.Errorf("the host was given %d bytes as %q, want nothing", len(bytes), name)
		return host.Pushed{}, errBroken
	}
	return f
}

// TestTooLargeAModuleIsNotRead: a length that is said is enough to refuse it; one that is not said is found
// out by one byte too many.
func TestTooLargeAModuleIsNotRead(t *testing.T) {
	for name, tt := range map[string]struct{ length, atMost int64 }{
		"length said":      {MaxModule + 1, 0},
		"huge length said": {1 << 62, 0},
		"chunked":          {-1, MaxModule + 1},
	} {
		var body counted
		r := httptest.NewRequest("PUT", "/v1/modules/m", nil)
		r.Body, r.ContentLength, r.Host = io.NopCloser(&body), tt.length, "localhost"
		r.Header.Set("Content-Type", "application/wasm")
		w := httptest.NewRecorder()
		New(Config{UseCases: neverPushed(t)}).ServeHTTP(w, r)
		mustStatus(t, w, http.StatusRequestEntityTooLarge)
		if body.n > tt.atMost {
			t.Errorf("%s: got %d bytes read, want at most %d", name, body.n, tt.atMost)
		}
	}
	var largest int
	f := newFake()
	f.push = func(_ string, bytes []byte, _ modules.Digest) (host.Pushed, error) {
		largest = len(bytes)
		return host.Pushed{}, nil
	}
	wasm := map[string]string{"Content-Type": "application/wasm"}
	mustStatus(t, req{method: "PUT", path: "/v1/modules/m", body: strings.Repeat("x", MaxModule), header: wasm}.do(New(Config{UseCases: f})), http.StatusOK)
	if largest != MaxModule {
		t.Errorf("the largest module: got %d bytes, want %d", largest, MaxModule)
	}
}

// TestBodiesThatDoNotEnd sends chunked bodies that stall or drip for ever. The answer comes, by the
// server's bound and not by the client's patience.
func TestBodiesThatDoNotEnd(t *testing.T) {
	const bound = 60 * time.Millisecond
	addr := serve(t, Config{UseCases: neverPushed(t), BodyTimeout: bound})
	for name, send := range map[string]func(c net.Conn) error{
		"stalls before a chunk": func(net.Conn) error { return nil },
		"stalls in a chunk":     func(c net.Conn) error { _, err := io.WriteString(c, "ff\r\n\x00asm"); return err },
		"drips": func(c net.Conn) error { // one byte a chunk, until the server has had enough
			for {
				if _, err := io.WriteString(c, "1\r\nx\r\n"); err != nil {
					return nil
				}
				time.Sleep(bound / 20)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "PUT /v1/modules/m HTTP/1.1\r\nHost: %s\r\nContent-Type: application/wasm\r\nTransfer-Encoding: chunked\r\n\r\n", addr)
			sent := make(chan error, 1)
			go func() { sent <- send(c) }()
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(body), "body_timeout") {
				t.Errorf("got %d %s, want 408 body_timeout", resp.StatusCode, body)
			}
			if !resp.Close {
				t.Error("the connection is kept, with a body that has no end")
			}
			c.Close()
			if err := <-sent; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUploadsInOtherForms(t *testing.T) {
	multipart := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../../etc/passwd\"\r\nContent-Type: application/wasm\r\n\r\n\x00asm\r\n--b--\r\n"
	wasm := "application/wasm"
	for name, tt := range map[string]struct {
		header http.Header
		code   string
	}{
		"gzip":                 {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"gzip"}}, "unsupported_encoding"},
		"deflate":              {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"deflate"}}, "unsupported_encoding"},
		"br":                   {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"br"}}, "unsupported_encoding"},
		"zstd":                 {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"zstd"}}, "unsupported_encoding"},
		"capitals":             {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"GZIP"}}, "unsupported_encoding"},
		"identity, then gzip":  {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"identity, gzip"}}, "unsupported_encoding"},
		"gzip on another line": {http.Header{"Content-Type": {wasm}, "Content-Encoding": {"identity", "gzip"}}, "unsupported_encoding"},
		"multipart/form-data":  {http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}, "unsupported_media_type"},
		"multipart/mixed":      {http.Header{"Content-Type": {"multipart/mixed; boundary=b"}}, "unsupported_media_type"},
		"multipart, and Wasm":  {http.Header{"Content-Type": {wasm, "multipart/form-data; boundary=b"}}, "unsupported_media_type"},
		"multipart, as a file": {http.Header{"Content-Type": {"multipart/form-data; boundary=b"}, "Content-Disposition": {`attachment; filename="../../etc/passwd"`}}, "unsupported_media_type"},
		"form":                 {http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "unsupported_media_type"},
		"no type":              {http.Header{}, "unsupported_media_type"},
		"a word for signature": {http.Header{"Content-Type": {wasm}, signatureHeader: {"trust me"}}, "invalid_signature"},
	} {
		for _, target := range []string{"PUT /v1/modules/m", "POST /v1/modules"} {
			method, path, _ := strings.Cut(target, " ")
			var body countedText
			body.Reader = strings.NewReader(multipart)
			r := httptest.NewRequest(method, path, &body)
			r.Host, r.Header = "localhost", tt.header.Clone()
			w := httptest.NewRecorder()
			New(Config{UseCases: neverPushed(t)}).ServeHTTP(w, r)
			if want := map[bool]int{true: 400, false: 415}[tt.code == "invalid_signature"]; w.Code != want || !strings.Contains(w.Body.String(), tt.code) {
				t.Errorf("%s to %s: got %d %s, want %d %s", name, target, w.Code, w.Body, want, tt.code)
			}
			if body.n != 0 {
				t.Errorf("%s to %s: got %d bytes read, want none", name, target, body.n)
			}
		}
	}
	// A name that a client gives its file is not asked for.
	f := newFake()
	var as string
	f.push = func(name string, _ []byte, _ modules.Digest) (host.Pushed, error) {
		as = name
		return host.Pushed{}, nil
	}
	header := map[string]string{"Content-Type": wasm, "Content-Disposition": `attachment; filename="../../etc/passwd"`, "Content-Encoding": "Identity"}
	mustStatus(t, req{method: "PUT", path: "/v1/modules/m", body: "x", header: header}.do(New(Config{UseCases: f})), http.StatusOK)
	if as != "m" {
		t.Errorf("got name %q, want that of the path, m", as)
	}
}

type countedText struct {
	*strings.Reader
	n int
}

func (c *countedText) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// upload sends a module to a real server.
func upload(t *testing.T, addr string, wasm []byte, query string, sigs ...modules.Signature) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequest("PUT", "http://"+addr+"/v1/modules/echo"+query, bytes.NewReader(wasm))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/wasm")
	for _, s := range sigs {
		r.Header.Add(signatureHeader, s.String())
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(b)
}

// serveHost serves a real host on a journal in memory.
func serveHost(t *testing.T, cfg host.Config) (addr string, h *host.Host) {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Store = store
	if h, err = host.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := errors.Join(h.Stop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return serve(t, Config{UseCases: h}), h
}

func echo(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../../testdata/wasm/echo.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestTheSameUploadAtOnce(t *testing.T) {
	addr, h := serveHost(t, host.Config{})
	wasm := echo(t)
	var wg sync.WaitGroup
	statuses := make(chan int, 100)
	for range 100 {
		wg.Go(func() {
			status, answer := upload(t, addr, wasm, "")
			if status != http.StatusOK && status != http.StatusCreated {
				t.Errorf("got %d %s, want it taken", status, answer)
			}
			statuses <- status
		})
	}
	wg.Wait()
	close(statuses)
	created := 0
	for s := range statuses {
		if s == http.StatusCreated {
			created++
		}
	}
	v, err := h.Module(t.Context(), tenant.Default, "echo")
	mods, lerr := h.Modules(t.Context(), tenant.Default)
	if err != nil || lerr != nil || created != 1 || len(mods) != 1 || len(v.History) != 1 {
		t.Errorf("got created %d times, %d modules, %d steps of the name (%v, %v); want one of each", created, len(mods), len(v.History), err, lerr)
	}
}

func TestADigestThatIsNotTheBodys(t *testing.T) {
	addr, h := serveHost(t, host.Config{})
	wasm := echo(t)
	if status, answer := upload(t, addr, wasm, "?digest="+string(modules.DigestOf(wasm[1:]))); status != http.StatusConflict || !strings.Contains(answer, "digest_mismatch") {
		t.Errorf("got %d %s, want 409 digest_mismatch", status, answer)
	}
	if mods, err := h.Modules(t.Context(), tenant.Default); err != nil || len(mods) != 0 {
		t.Errorf("got %v, %v; want nothing stored", mods, err)
	}
	if status, answer := upload(t, addr, wasm, "?digest="+string(modules.DigestOf(wasm))); status != http.StatusCreated {
		t.Errorf("got %d %s, want 201", status, answer)
	}
}

func TestSignedUploads(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	addr, h := serveHost(t, host.Config{Trust: modules.Trust{Everyone: []modules.TrustedKey{modules.PublicKey(key)}}})
	wasm := echo(t)
	sign := func(k ed25519.PrivateKey, of []byte, lives time.Duration) modules.Signature {
		s, err := modules.Sign(k, modules.Statement{Digest: modules.DigestOf(of), Expires: time.Now().Add(lives)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		code string
		sigs []modules.Signature
	}{
		{"signature_missing", nil},
		{"signature_untrusted", []modules.Signature{sign(stranger, wasm, time.Hour)}},
		{"signature_mismatch", []modules.Signature{sign(key, wasm[1:], time.Hour)}},
		{"signature_expired", []modules.Signature{sign(key, wasm, -time.Hour)}},
	} {
		if status, answer := upload(t, addr, wasm, "", tt.sigs...); status != http.StatusForbidden || !strings.Contains(answer, tt.code) {
			t.Errorf("got %d %s, want 403 %s", status, answer, tt.code)
		}
	}
	if mods, err := h.Modules(t.Context(), tenant.Default); err != nil || len(mods) != 0 {
		t.Errorf("got %v, %v; want nothing stored", mods, err)
	}
	// The header may stand there twice.
	if status, answer := upload(t, addr, wasm, "", sign(stranger, wasm, time.Hour), sign(key, wasm, time.Hour)); status != http.StatusCreated {
		t.Errorf("got %d %s, want 201", status, answer)
	}
}

// TestUploadsWaitUnread: beyond the bytes that may be held, uploads wait without being read, and are told to
// come again when they have waited long enough. Another tenant has its own share.
func TestUploadsWaitUnread(t *testing.T) {
	f := newFake()
	entered, goOn := make(chan struct{}, 2), make(chan struct{})
	f.push = func(string, []byte, modules.Digest) (host.Pushed, error) {
		entered <- struct{}{}
		<-goOn
		return host.Pushed{}, nil
	}
	h := New(Config{UseCases: f, UploadBytes: 2 * MaxModule, UploadWait: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Tokens: tenant.Tokens{tenant.NewToken("ann", "token-of-ann"), tenant.NewToken("bob", "token-of-bob")}})
	push := func(token string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest("PUT", "/v1/modules/m", body)
		r.Header.Set("Content-Type", "application/wasm")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var wg sync.WaitGroup
	wantOK := func(w *httptest.ResponseRecorder) {
		if w.Code != http.StatusOK {
			t.Errorf("got %d %s, want 200", w.Code, w.Body)
		}
	}
	wg.Go(func() { wantOK(push("token-of-ann", bytes.NewReader(make([]byte, MaxModule)))) })
	<-entered
	waits := countedText{Reader: strings.NewReader("a module")}
	w := push("token-of-ann", &waits)
	mustStatus(t, w, http.StatusServiceUnavailable)
	if !strings.Contains(w.Body.String(), "uploads_busy") || w.Header().Get("Retry-After") == "" || waits.n != 0 {
		t.Errorf("got %s, Retry-After %q and %d bytes read; want uploads_busy, one, and none", w.Body, w.Header().Get("Retry-After"), waits.n)
	}
	wg.Go(func() { wantOK(push("token-of-bob", strings.NewReader("a module"))) })
	<-entered
	close(goOn)
	wg.Wait()
	wantOK(push("token-of-ann", strings.NewReader("a module"))) // the room is free again
}
