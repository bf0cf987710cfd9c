package httpeffect

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rule is one entry of the allowlist.
type rule struct {
	name    string     // exact name, or the part behind "*."; "" with any
	below   bool       // the entry began with "*."
	any     bool       // the entry was "*"
	addr    netip.Addr // of an entry that is an address
	port    string     // "" for 80 and 443, "*" for all
	private bool       // private and loopback addresses too
	local   bool       // loopback addresses too
}

type rules struct {
	allow []rule
	deny  []netip.AddrPort
}

func newRules(allow []string, deny []netip.AddrPort) (rules, error) {
	var rs rules
	for _, entry := range allow {
		r, err := parseRule(entry)
		if err != nil {
			return rs, fmt.Errorf("allowed host %.80q: %w", entry, err)
		}
		rs.allow = append(rs.allow, r)
	}
	for _, d := range deny {
		if !d.Addr().IsUnspecified() {
			rs.deny = append(rs.deny, netip.AddrPortFrom(d.Addr().Unmap(), d.Port()))
			continue
		}
		own, err := net.InterfaceAddrs()
		if err != nil {
			return rs, fmt.Errorf("find this machine's addresses: %w", err)
		}
		for _, a := range own {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				rs.deny = append(rs.deny, netip.AddrPortFrom(p.Addr().Unmap(), d.Port()))
			}
		}
	}
	return rs, nil
}

func parseRule(entry string) (rule, error) {
	var r rule
	host, private := strings.CutSuffix(entry, "+private")
	r.private = private
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		r.addr = a.Unmap()
		return r, zoneless(r.addr)
	}
	if h, port, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); port != "*" && (err != nil || n == 0) {
			return r, fmt.Errorf("the port %.20q is not a number from 1 to 65535, or *", port)
		}
		host, r.port = h, port
	}
	if a, err := netip.ParseAddr(host); err == nil {
		r.addr = a.Unmap()
		return r, zoneless(r.addr)
	}
	host = strings.ToLower(host)
	if host == "*" {
		r.any = true
		return r, nil
	}
	r.name, r.below = strings.CutPrefix(host, "*.")
	r.local = r.name == "localhost"
	if !isHostName(r.name) {
		return r, fmt.Errorf("want HOST or HOST:PORT, with a name in ASCII (xn-- for others), an address, or *.NAME")
	}
	return r, nil
}

func zoneless(a netip.Addr) error {
	if a.Zone() != "" {
		return fmt.Errorf("an address with a zone cannot be allowed")
	}
	return nil
}

// find returns the rule that allows a host and port. The host is as the URL has it, an IPv6 address
// without brackets.
func (rs rules) find(host, port string) (rule, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return rs.findAddr(a, port)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !isHostName(name) {
		return rule{}, &deniedError{fmt.Sprintf("%.80q is no host name: names are ASCII (xn-- for others), and addresses are written a.b.c.d or [a:b::c]", host)}
	}
	var best rule
	found := false
	for _, r := range rs.allow {
		named := r.any || r.name == name && !r.below || r.below && strings.HasSuffix(name, "."+r.name)
		if !r.addr.IsValid() && named && r.onPort(port) && (!found || r.private || r.local && !best.private) {
			best, found = r, true // of several entries for a name, the one that grants most
		}
	}
	if !found {
		return rule{}, notAllowed(host, port)
	}
	return best, nil
}

func (rs rules) findAddr(a netip.Addr, port string) (rule, error) {
	for _, r := range rs.allow {
		if (r.any || r.addr == a.Unmap()) && a.Zone() == "" && r.onPort(port) {
			if err := rs.check(r, netip.AddrPortFrom(a, portNumber(port)), a.String()); err == nil {
				return r, nil
			}
		}
	}
	return rule{}, notAllowed(a.String(), port)
}

func notAllowed(host, port string) error {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return &deniedError{fmt.Sprintf("this host does not let guests reach %.80q on port %.5s; its operator allows that with --allow-host %.80s:%.5s", host, port, host, port)}
}

func (r rule) onPort(port string) bool {
	if r.port == "" {
		return port == "80" || port == "443"
	}
	return r.port == "*" || r.port == port
}

// portNumber is 0 for what is no port.
func portNumber(port string) uint16 {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// check judges the address that is about to be dialled for a host under the rule that allowed it.
func (rs rules) check(r rule, to netip.AddrPort, host string) error {
	a := to.Addr().Unmap()
	granted := a == r.addr || r.private && privateAddr(a) || r.local && a.IsLoopback()
	switch {
	case slices.Contains(rs.deny, netip.AddrPortFrom(a, to.Port())):
		return &deniedError{fmt.Sprintf("%.80q is this host's own service", host)}
	case a.Zone() != "" || !granted && deniedAddr(a):
		return &deniedError{fmt.Sprintf("%.80q resolves to an address that guests may not reach; its operator allows private ones with +private behind the entry of --allow-host", host)}
	}
	return nil
}

// isHostName says whether s is a name that only DNS can mean: ASCII letters, digits, '-' and '_' between
// dots, whose last label is not a number. "127.1", "0x7f000001" and "2130706433" are addresses to some
// resolvers, and so are digits of other scripts to some libraries.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return false
		}
		for _, c := range []byte(l) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") != "" && (!isHex || strings.Trim(hex, "0123456789abcdef") != "")
}
