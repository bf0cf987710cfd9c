package httpeffect

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
)

func TestRedirectsAreNotFollowed(t *testing.T) {
	port, seen := trap(t, "127.0.0.1:0")
	for _, to := range []string{"http://127.0.0.1:" + port + "/", "file:///etc/passwd", "/self"} {
		var asked atomic.Int32
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		out, err := get(start(t, Config{Allow: loopback}), url)
		if err != nil || out.Status != 302 || out.Headers["location"] != to {
			t.Errorf("%s: got %+v, %v, want the redirect as it is", to, out, err)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: the server saw %d requests, want 1", to, n)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the target saw %d connections, want none", n)
	}
}

func TestProxyFromEnvironmentIsIgnored(t *testing.T) {
	port, seen := trap(t, "127.0.0.1:0")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:"+port)
	}
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, target, _ := net.SplitHostPort(url[len("http://"):])
	h := start(t, Config{Allow: []string{"target.test:*+private"}, Resolver: names{"target.test": {"127.0.0.1"}}})
	if _, err := get(h, "http://target.test:"+target); err != nil {
		t.Error(err)
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the proxy saw %d connections, want none", n)
	}
}

// flip answers each look-up with the next of its addresses.
type flip struct {
	addrs []string
	n     atomic.Int32
}

func (f *flip) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n := int(f.n.Add(1)) - 1
	return []netip.Addr{netip.MustParseAddr(f.addrs[n%len(f.addrs)])}, nil
}

// TestRebinding has a name that is granted one address and then moves to one that is not. Connections are
// not kept, so that each request looks the name up.
func TestRebinding(t *testing.T) {
	port, seen := trap(t, "127.0.0.2:0")
	good := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	_, goodPort, _ := net.SplitHostPort(good[len("http://"):])
	h := start(t, Config{Allow: []string{"localhost:" + goodPort, "rebind.test:" + port}, Resolver: &flip{addrs: []string{"127.0.0.1", "10.0.0.1", "127.0.0.2"}}})
	if _, err := get(h, "http://localhost:"+goodPort); err != nil {
		t.Fatal(err)
	}
	_, err := get(h, "http://localhost:"+goodPort) // now 10.0.0.1
	wantFailure(t, err, CodeDenied)
	_, err = get(h, "http://rebind.test:"+port) // now 127.0.0.2
	wantFailure(t, err, CodeDenied)
	if n := seen.Load(); n != 0 {
		t.Errorf("the listener saw %d connections, want none", n)
	}
}
