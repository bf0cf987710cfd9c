package httpeffect

import "net/netip"

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// deniedRanges are the IPv4 addresses that are not the public internet (IANA's special-purpose registry)
// and the IPv6 ones inside 2000::/3 that are not; the rest of IPv6 is denied as a whole. The standard
// library takes many of these for ordinary unicast addresses, so the table is written out.
var deniedRanges = prefixes(
	"0.0.0.0/8",       // this network; Linux connects 0.0.0.0 to itself
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carrier-grade NAT; a cloud's metadata service lives there
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, and the metadata services of clouds
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast
	"2001::/23",       // protocol assignments, Teredo: IPv4 addresses inside
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: an IPv4 address inside
	"3fff::/20",       // documentation
)

// globalUnicast is the part of IPv6 that is given out. Outside are loopback, IPv4-compatible, NAT64,
// unique local, link-local, site-local and multicast addresses.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// privateRanges are what an entry with +private may reach. fd00:ec2::/32 is a metadata service.
var (
	privateRanges = prefixes("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
	metadata      = netip.MustParsePrefix("fd00:ec2::/32")
)

// deniedAddr says whether an unmapped address is not on the public internet.
func deniedAddr(a netip.Addr) bool {
	return within(a, deniedRanges) || a.Is6() && !globalUnicast.Contains(a)
}

// privateAddr says whether an unmapped address is one that +private grants.
func privateAddr(a netip.Addr) bool {
	return within(a, privateRanges) && !metadata.Contains(a)
}

func within(a netip.Addr, ranges []netip.Prefix) bool {
	for _, p := range ranges {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
