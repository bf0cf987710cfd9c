package httpeffect

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is a server that answers each connection, its request read, with f.
func peer(t *testing.T, f func(c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					f(c.(*net.TCPConn))
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

// drip writes text again and again, slowly, until the client has gone.
func drip(c net.Conn, text string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func flood(c net.Conn, text string) {
	text = strings.Repeat(text, 1000)
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func TestHostilePeers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name string
		f    func(c *net.TCPConn)
		code string
	}{
		{"says nothing", func(c *net.TCPConn) { io.Copy(io.Discard, c) }, CodeTimeout},
		{"drips the header", func(c *net.TCPConn) { io.WriteString(c, ok); drip(c, "X-A: b\r\n") }, CodeTimeout},
		{"drips the body", func(c *net.TCPConn) { io.WriteString(c, ok+"\r\n"); drip(c, "x") }, CodeTimeout},
		{"body without end", func(c *net.TCPConn) { io.WriteString(c, ok+"\r\n"); flood(c, "x") }, CodeTooLarge},
		{"chunks without end", func(c *net.TCPConn) {
			io.WriteString(c, ok+"Transfer-Encoding: chunked\r\n\r\n")
			flood(c, "1\r\nx\r\n")
		}, CodeTooLarge},
		{"announces a terabyte", func(c *net.TCPConn) { io.WriteString(c, ok+"Content-Length: 1099511627776\r\n\r\n") }, CodeTooLarge},
		{"headers without end", func(c *net.TCPConn) { io.WriteString(c, ok); flood(c, "X-A: b\r\n") }, CodeTooLarge},
		{"1xx without end", func(c *net.TCPConn) { flood(c, "HTTP/1.1 103 Early Hints\r\n\r\n") }, CodeTooLarge},
		{"body shorter than announced", func(c *net.TCPConn) { io.WriteString(c, ok+"Content-Length: 10\r\n\r\nabc") }, CodeUnreachable},
		{"ends before the header", func(c *net.TCPConn) {}, CodeUnreachable},
		{"ends in the header", func(c *net.TCPConn) { io.WriteString(c, ok) }, CodeUnreachable},
		{"resets", func(c *net.TCPConn) { c.SetLinger(0) }, CodeUnreachable},
		{"resets in the body", func(c *net.TCPConn) { io.WriteString(c, ok+"Content-Length: 10\r\n\r\nabc"); c.SetLinger(0) }, CodeUnreachable},
		{"no HTTP", func(c *net.TCPConn) { io.WriteString(c, "SSH-2.0-x\r\n") }, CodeUnreachable},
		{"two lengths", func(c *net.TCPConn) { io.WriteString(c, ok+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab") }, CodeUnreachable},
		{"switches protocols", func(c *net.TCPConn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		}, CodeUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Allow: loopback}
			if tt.code == CodeTimeout {
				c.Timeout = hurry
			}
			_, err := get(start(t, c), peer(t, tt.f))
			wantFailure(t, err, tt.code)
		})
	}
}

func TestBodyBeyondItsLengthIsCut(t *testing.T) {
	url := peer(t, func(c *net.TCPConn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcdef") })
	out, err := get(start(t, Config{Allow: loopback}), url)
	if err != nil || *out.Body != "ab" {
		t.Errorf("got %+v, %v, want the body ab", out, err)
	}
}

func TestResponseLimitIsExact(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", len(r.URL.Path))) })
	h := start(t, Config{Allow: loopback, MaxResponse: 5})
	if out, err := get(h, url+"/1234"); err != nil || *out.Body != "xxxxx" {
		t.Errorf("got %+v, %v, want 5 bytes", out, err)
	}
	_, err := get(h, url+"/12345")
	wantFailure(t, err, CodeTooLarge)
}

func TestRefusedConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = get(start(t, Config{Allow: loopback}), "http://"+l.Addr().String())
	if f := wantFailure(t, err, CodeUnreachable); !strings.Contains(f.Message, "refused") {
		t.Errorf("got %q, want it to say that the connection was refused", f.Message)
	}
	_, err = get(start(t, Config{Allow: []string{"*"}}), "http://absent.test/")
	if f := wantFailure(t, err, CodeUnreachable); !strings.Contains(f.Message, "no such host") {
		t.Errorf("got %q, want it to say that there is no such host", f.Message)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each handshake that we break off
	s.StartTLS()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	to := names{"example.com": {"127.0.0.1"}, "wrong.test": {"127.0.0.1"}}
	allow := []string{"*:" + port + "+private"}

	_, err := get(start(t, Config{Allow: allow, Resolver: to}), "https://example.com:"+port)
	wantFailure(t, err, CodeTLS) // not signed by an authority that the system trusts
	_, err = get(start(t, Config{Allow: allow, Resolver: to, RootCAs: roots}), "https://wrong.test:"+port)
	wantFailure(t, err, CodeTLS)
	out, err := get(start(t, Config{Allow: allow, Resolver: to, RootCAs: roots}), "https://example.com:"+port)
	if err != nil || *out.Body != "ok" {
		t.Errorf("got %+v, %v, want ok", out, err)
	}
}
