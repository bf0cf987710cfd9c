package httpeffect

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// trap listens on loopback and counts who connects.
func trap(t *testing.T, address string) (port string, seen *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	seen = new(atomic.Int32)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			seen.Add(1)
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, seen
}

func TestDeniedEgress(t *testing.T) {
	port, seen := trap(t, "127.0.0.1:0")
	h := start(t, Config{
		Allow: []string{"*:*", "metadata.test:*+private"}, // every name and port, so that only the address can deny
		Resolver: names{
			"loopback.test": {"127.0.0.1"}, "loopback6.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"},
			"both.test": {"93.184.216.34", "127.0.0.1"}, "private.test": {"10.1.2.3"}, "metadata.test": {"169.254.169.254"},
			"nothing.test": {"0.0.0.0"}, "zone.test": {"fe80::1%lo"}, "localhost": {"127.0.0.1"},
		},
	})
	for _, host := range []string{
		"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "0.0.0.0", "[fe80::1%25lo]", "[::]",
		"[2001:0:7f00:1::]", "[fec0::1]", "[ff02::1]", "[::ffff:0:127.0.0.1]", "[100::1]", "[2001:db8::1]",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "127\u30020\u30020\u30021", "\uff4c\uff4f\uff43\uff41\uff4chost",
		"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0x7f.1", "017700000001", "0x7f.0x0.0x0.0x1", "a.0x1",
		"loopback.test", "loopback6.test", "mapped.test", "both.test", "private.test", "metadata.test", "nothing.test", "zone.test",
		"LOOPBACK.test", "loopback.test.", "localhost", "allowed@127.0.0.1", "a..b", "-", "*",
	} {
		t.Run(host, func(t *testing.T) {
			_, err := get(h, "http://"+host+":"+port+"/")
			if host == "-" {
				wantFailure(t, err, CodeUnreachable) // a name like any other, which nobody has
				return
			}
			f := wantFailure(t, err, CodeDenied)
			if strings.Contains(host, ".test") && strings.Contains(f.Message, "127.0.0.1") {
				t.Errorf("got %q, which tells what the name resolves to", f.Message)
			}
		})
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the listener saw %d connections, want none", n)
	}
}

func TestDefaultIsNothing(t *testing.T) {
	_, err := get(start(t, Config{}), "https://api.example.org/v1")
	f := wantFailure(t, err, CodeDenied)
	for _, want := range []string{"api.example.org", "443", "--allow-host api.example.org:443"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("got %q, want %q in it", f.Message, want)
		}
	}
}

func TestRules(t *testing.T) {
	tests := []struct {
		allow, host, port string
		want              bool
	}{
		{"api.example.org", "api.example.org", "443", true},
		{"api.example.org", "api.example.org", "80", true},
		{"api.example.org", "api.example.org", "8080", false},
		{"api.example.org", "API.Example.ORG.", "443", true},
		{"API.example.org", "api.example.org", "443", true},
		{"api.example.org", "example.org", "443", false},
		{"api.example.org", "x.api.example.org", "443", false},
		{"api.example.org:8443", "api.example.org", "8443", true},
		{"api.example.org:8443", "api.example.org", "443", false},
		{"api.example.org:*", "api.example.org", "1", true},
		{"*.example.org", "api.example.org", "443", true},
		{"*.example.org", "a.b.example.org", "443", true},
		{"*.example.org", "example.org", "443", false},
		{"*.example.org", "badexample.org", "443", false},
		{"*.example.org", "example.org.evil.test", "443", false},
		{"*", "anything.test", "443", true},
		{"*", "93.184.216.34", "80", true},
		{"*", "10.0.0.1", "80", false},
		{"*+private", "10.0.0.1", "80", true},
		{"*+private", "169.254.169.254", "80", false},
		{"*+private", "fd00:ec2::254", "80", false},
		{"*+private", "100.100.100.200", "80", false},
		{"127.0.0.1:8081", "127.0.0.1", "8081", true},
		{"127.0.0.1:8081", "::ffff:127.0.0.1", "8081", true},
		{"127.0.0.1:8081", "127.0.0.2", "8081", false},
		{"127.0.0.1:8081", "127.0.0.1", "80", false},
		{"[::1]:8081", "::1", "8081", true},
		{"::1", "::1", "80", true},
		{"[::1]", "::1", "443", true},
		{"169.254.169.254", "169.254.169.254", "80", true},
		{"localhost:9000", "localhost", "9000", true},
	}
	for _, tt := range tests {
		rs, err := newRules([]string{tt.allow}, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.allow, err)
			continue
		}
		if _, err := rs.find(tt.host, tt.port); (err == nil) != tt.want {
			t.Errorf("%s for %s port %s: got %v, want allowed %v", tt.allow, tt.host, tt.port, err, tt.want)
		}
	}
	for _, bad := range []string{"", "http://a.test", "a.test/", "a b", "*.*.test", "a.test:", "a.test:0", "a.test:65536", "a.test:x", "fe80::1%lo", "b\u00fccher.test", "127.1", "user@a.test"} {
		if _, err := newRules([]string{bad}, nil); err == nil {
			t.Errorf("%q: got no error, want one", bad)
		}
	}
}

func TestGrantsByAddress(t *testing.T) {
	addr := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	tests := []struct {
		allow, host, to string
		want            bool
	}{
		{"localhost:80", "localhost", "127.0.0.1:80", true},
		{"localhost:80", "localhost", "[::1]:80", true},
		{"localhost:80", "localhost", "10.0.0.1:80", false},
		{"db.corp+private", "db.corp", "10.0.0.1:80", true},
		{"db.corp+private", "db.corp", "[fd12::1]:80", true},
		{"db.corp+private", "db.corp", "[fd00:ec2::254]:80", false},
		{"db.corp+private", "db.corp", "169.254.169.254:80", false},
		{"db.corp", "db.corp", "10.0.0.1:80", false},
		{"db.corp", "db.corp", "93.184.216.34:80", true},
		{"db.corp", "db.corp", "[2606:2800:220:1::1]:80", true},
		{"db.corp+private", "db.corp", "192.168.7.7:443", false}, // denied by name below
	}
	for _, tt := range tests {
		rs, err := newRules([]string{tt.allow, "*"}, []netip.AddrPort{addr("192.168.7.7:443")})
		if err != nil {
			t.Fatal(err)
		}
		r, err := rs.find(tt.host, "80")
		if err != nil {
			t.Fatal(err)
		}
		if err := rs.check(r, addr(tt.to), tt.host); (err == nil) != tt.want {
			t.Errorf("%s to %s: got %v, want allowed %v", tt.allow, tt.to, err, tt.want)
		}
	}
}

func TestOwnServices(t *testing.T) {
	port, seen := trap(t, "127.0.0.1:0")
	own := netip.MustParseAddrPort("0.0.0.0:" + port)
	h := start(t, Config{Allow: []string{"*:*+private", "127.0.0.1:*"}, Deny: []netip.AddrPort{own}, Resolver: names{"self.test": {"127.0.0.1"}}})
	for _, host := range []string{"127.0.0.1", "self.test"} {
		_, err := get(h, "http://"+host+":"+port)
		wantFailure(t, err, CodeDenied)
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the listener saw %d connections, want none", n)
	}
}
