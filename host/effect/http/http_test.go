package httpeffect

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"reprise/abi"
	"reprise/host/effect"
	"reprise/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names resolves from a table, as DNS does without regard to case or a last dot.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, ok := n[strings.TrimSuffix(strings.ToLower(host), ".")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	addrs := make([]netip.Addr, len(texts))
	for i, t := range texts {
		addrs[i] = netip.MustParseAddr(t)
	}
	return addrs, nil
}

func start(t *testing.T, c Config) *handler {
	t.Helper()
	if c.Resolver == nil {
		c.Resolver = names{}
	}
	h, err := newHandler(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, l := range h.lanes {
			l.transport.CloseIdleConnections()
		}
	})
	return h
}

func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func call(h *handler, in string) ([]byte, error) {
	return h.Handle(context.Background(), effect.Request{Tenant: tenant.Default, Name: Name, Input: []byte(in), IdempotencyKey: "key-1", Attempt: 1})
}

func get(h *handler, url string) (output, error) {
	b, err := call(h, fmt.Sprintf(`{"url":%q}`, url))
	var out output
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}

func wantFailure(t *testing.T, err error, code string) *abi.Failure {
	t.Helper()
	var f *abi.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure %s", err, code)
	}
	if f.Code != code {
		t.Fatalf("got %v, want code %s", f, code)
	}
	terminal := code != CodeUnreachable && code != CodeTimeout && code != CodeStatus
	if got := !retry.Retryable(f); got != terminal {
		t.Errorf("%s: got terminal %v, want %v", code, got, terminal)
	}
	return f
}

var loopback = []string{"127.0.0.1:*", "[::1]:*"}

func TestExchange(t *testing.T) {
	var got *http.Request
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Add("X-Twice", "a")
		w.Header().Add("X-Twice", "b")
		w.Header().Set("Date", "today")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "h\u00e9llo <b>")
	})
	b, err := call(start(t, Config{Allow: loopback}), fmt.Sprintf(`{"method":"post","url":"%s/a?b=c#frag","headers":{"x-one":"1","authorization":"Bearer t"},"body":"sent"}`, url))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"status":201,"headers":{"content-length":"10","content-type":"text/plain; charset=utf-8","date":"today","x-twice":"a, b"},"body":"h\u00e9llo <b>"}`
	want = strings.ReplaceAll(want, `\u00e9`, "\u00e9")
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if got.Method != "POST" || got.URL.String() != "/a?b=c" || string(body) != "sent" {
		t.Errorf("the server saw %s %s with body %q, want POST /a?b=c with sent", got.Method, got.URL, body)
	}
	sent := http.Header{"X-One": {"1"}, "Authorization": {"Bearer t"}, "Idempotency-Key": {"key-1"}, "User-Agent": {"reprise"}, "Content-Length": {"4"}}
	if diff := cmp.Diff(sent, got.Header); diff != "" {
		t.Errorf("headers that the server saw (-want +got):\n%s", diff)
	}
}

func TestBodies(t *testing.T) {
	binary := []byte{0, 0xff, 0xfe}
	control := bytes.Repeat([]byte{1}, 1<<20) // 6 MiB as a JSON string
	tests := []struct {
		name       string
		sent, want []byte
		base64     bool
	}{
		{"empty", nil, []byte{}, false},
		{"text", []byte("a\x00b"), []byte("a\x00b"), false},
		{"not UTF-8", binary, binary, true},
		{"too long as text", control, control, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
			b, err := call(start(t, Config{Allow: loopback}), fmt.Sprintf(`{"method":"PUT","url":%q,"body_base64":%q}`, url, base64.StdEncoding.EncodeToString(tt.sent)))
			if err != nil {
				t.Fatal(err)
			}
			var out output
			if err := json.Unmarshal(b, &out); err != nil {
				t.Fatal(err)
			}
			if tt.base64 != (out.BodyBase64 != nil) || tt.base64 == (out.Body != nil) {
				t.Fatalf("got body %v and base64 %v, want base64 %v", out.Body != nil, out.BodyBase64 != nil, tt.base64)
			}
			var got []byte
			if tt.base64 {
				got, _ = base64.StdEncoding.DecodeString(*out.BodyBase64)
			} else {
				got = []byte(*out.Body)
			}
			if !bytes.Equal(got, tt.want) {
				t.Errorf("got %.40q of %d bytes, want %.40q of %d", got, len(got), tt.want, len(tt.want))
			}
		})
	}
}

func TestGuestKeyWins(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Join(r.Header.Values("Idempotency-Key"), "|"))
	})
	b, err := call(start(t, Config{Allow: loopback}), fmt.Sprintf(`{"url":%q,"headers":{"idempotency-KEY":"mine"}}`, url))
	if err != nil || !strings.Contains(string(b), `"body":"mine"`) {
		t.Errorf("got %s, %v, want the guest's key", b, err)
	}
}

func TestInvalidRequests(t *testing.T) {
	var seen atomic.Int32
	url := serve(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	header := func(name, value string) string {
		b, _ := json.Marshal(map[string]any{"url": url, "headers": map[string]string{name: value}})
		return string(b)
	}
	tests := map[string]string{
		"not JSON":             `url`,
		"unknown field":        `{"url":"` + url + `","verb":"GET"}`,
		"bytes behind":         `{"url":"` + url + `"} x`,
		"no URL":               `{}`,
		"relative URL":         `{"url":"/a"}`,
		"file":                 `{"url":"file:///etc/passwd"}`,
		"gopher":               `{"url":"gopher://127.0.0.1/"}`,
		"opaque":               `{"url":"http:127.0.0.1"}`,
		"CRLF in the URL":      `{"url":"` + url + `/\r\nX: y"}`,
		"NUL in the URL":       `{"url":"` + url + `/\u0000"}`,
		"space in the URL":     `{"url":"` + url + `/a b"}`,
		"long URL":             `{"url":"` + url + "/" + strings.Repeat("a", maxURL) + `"}`,
		"user":                 `{"url":"` + strings.Replace(url, "//", "//user:pass@", 1) + `"}`,
		"port 0":               `{"url":"http://127.0.0.1:0/"}`,
		"port 65536":           `{"url":"http://127.0.0.1:65536/"}`,
		"empty port":           `{"url":"http://127.0.0.1:/"}`,
		"method with CRLF":     `{"url":"` + url + `","method":"GET / HTTP/1.1\r\n"}`,
		"CONNECT":              `{"url":"` + url + `","method":"CONNECT"}`,
		"TRACE":                `{"url":"` + url + `","method":"trace"}`,
		"two bodies":           `{"url":"` + url + `","body":"a","body_base64":"YQ=="}`,
		"body not base64":      `{"url":"` + url + `","body_base64":"*"}`,
		"negative timeout":     `{"url":"` + url + `","timeout_ms":-1}`,
		"timeout as text":      `{"url":"` + url + `","timeout_ms":"1"}`,
		"header value CRLF":    header("x-a", "b\r\nX-C: d"),
		"header value NUL":     header("x-a", "b\x00"),
		"header name CRLF":     header("x-a\r\nx-b", "c"),
		"header name empty":    header("", "c"),
		"header name space":    header("x a", "c"),
		"Host":                 header("Host", "internal"),
		"host, other case":     header("hOsT", "internal"),
		"Content-Length":       header("Content-Length", "5"),
		"Transfer-Encoding":    header("transfer-encoding", "chunked"),
		"Connection":           header("Connection", "X-Secret"),
		"TE":                   header("TE", "trailers"),
		"Upgrade":              header("Upgrade", "websocket"),
		"Proxy-Authorization":  header("proxy-authorization", "x"),
		"Expect":               header("Expect", "100-continue"),
		"header in two cases":  `{"url":"` + url + `","headers":{"x-a":"1","X-A":"2"}}`,
		"more than 64 KiB":     header("x-a", strings.Repeat("a", maxHeader)),
		"header with a number": `{"url":"` + url + `","headers":{"x":1}}`,
	}
	h := start(t, Config{Allow: loopback})
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := call(h, in)
			wantFailure(t, err, CodeInvalid)
		})
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the server saw %d requests, want none", n)
	}
}

func TestStatuses(t *testing.T) {
	for _, status := range []int{200, 204, 301, 304, 400, 404, 408, 409, 500, 501} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if out, err := get(start(t, Config{Allow: loopback}), url); err != nil || out.Status != status {
			t.Errorf("status %d: got %d, %v, want it as it is", status, out.Status, err)
		}
	}
	for _, status := range []int{429, 502, 503, 504} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, "come back "+strings.Repeat("\xff", 2*maxDetail))
		})
		_, err := get(start(t, Config{Allow: loopback}), url)
		f := wantFailure(t, err, CodeStatus)
		var details struct {
			Status int
			Body   string
		}
		if err := json.Unmarshal(f.Details, &details); err != nil || details.Status != status || !strings.HasPrefix(details.Body, "come back") {
			t.Errorf("status %d: got details %s, %v", status, f.Details, err)
		}
		if len(f.Details) > 4*maxDetail {
			t.Errorf("got details of %d bytes, want the body cut", len(f.Details))
		}
	}
}

func TestBoundedByTenant(t *testing.T) {
	var now, most atomic.Int32
	two := make(chan struct{})
	var once sync.Once
	url := serve(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 2 {
			once.Do(func() { close(two) })
		}
		<-two // the first waits until the limit is reached, so that the test cannot pass one by one
	})
	h := start(t, Config{Allow: loopback, MaxConcurrent: 2})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := get(h, url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got != 2 {
		t.Errorf("got %d exchanges at once, want 2", got)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	_, err := start(t, Config{Allow: loopback}).Handle(ctx, effect.Request{Tenant: tenant.Default, Input: []byte(`{"url":"` + url + `"}`)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestGzipStaysPacked(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range 100 {
		z.Write(zeros)
	}
	z.Close()
	var asked string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	})
	out, err := get(start(t, Config{Allow: loopback}), url)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := base64.StdEncoding.DecodeString(*out.BodyBase64)
	if !bytes.Equal(got, packed.Bytes()) || asked != "" {
		t.Errorf("got %d bytes for %d, having asked for %q, want them as they are, unasked", len(got), packed.Len(), asked)
	}
}

// hurry is a timeout for peers that never come to an end.
const hurry = 150 * time.Millisecond
