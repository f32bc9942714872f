// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// NotAllowedError means that the operator must not connect to an endpoint.
type NotAllowedError struct {
	// Address is the address or the host, and Reason describes its kind.
	Address, Reason string
}

func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("the operator does not connect to %s: it is %s", shorten.UntrustedLine(e.Address, 255), e.Reason)
}

// metadataPrefixes are the addresses of cloud metadata services that are not link-local.
var metadataPrefixes = []netip.Prefix{
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
	netip.MustParsePrefix("fd00:ec2::/32"),
	netip.MustParsePrefix("fd20:ce::/32"),
}

// privatePrefixes are the networks of organizations, providers and test laboratories.
var privatePrefixes = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("fc00::/7"),
	netip.MustParsePrefix("fec0::/10"),
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	// translated are networks whose IPv6 addresses embed an IPv4 address at a byte offset.
	translated = []struct {
		network netip.Prefix
		at      int
	}{
		{netip.MustParsePrefix("64:ff9b::/96"), 12},
		{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
		{netip.MustParsePrefix("2002::/16"), 2},
		{netip.MustParsePrefix("::/96"), 12},
	}
)

// CheckAddress returns a *NotAllowedError for an address that no endpoint may have: loopback (unless allowed),
// link-local, multicast, unspecified and metadata addresses, in any notation. Private and unique-local addresses are
// allowed, because clusters use them.
func CheckAddress(address netip.Addr, loopback bool) error {
	return check(address, func(a netip.Addr) string { return forbiddenReason(a, loopback) })
}

// CheckPublic returns a *NotAllowedError for an address that CheckAddress forbids or that is not reached through the
// internet, in any notation.
func CheckPublic(address netip.Addr) error {
	return check(address, func(a netip.Addr) string {
		if reason := forbiddenReason(a, false); reason != "" {
			return reason
		}
		if slices.ContainsFunc(privatePrefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
			return "a private address"
		}
		return ""
	})
}

// check applies a rule to an address and to the IPv4 address that it embeds.
func check(address netip.Addr, forbidden func(netip.Addr) string) error {
	plain := address.Unmap().WithZone("")
	if reason := forbidden(plain); reason != "" {
		return &NotAllowedError{Address: address.String(), Reason: reason}
	}
	if !plain.Is6() || plain.IsLoopback() {
		return nil
	}
	for _, t := range translated {
		if bytes := plain.As16(); t.network.Contains(plain) {
			if reason := forbidden(netip.AddrFrom4([4]byte(bytes[t.at : t.at+4]))); reason != "" {
				return &NotAllowedError{Address: address.String(), Reason: reason}
			}
		}
	}
	return nil
}

// forbiddenReason returns why an address is forbidden, or "".
func forbiddenReason(a netip.Addr, loopback bool) string {
	switch {
	case a.IsLoopback() && !loopback:
		return "a loopback address"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.IsMulticast() || a == broadcast:
		return "a multicast or broadcast address"
	case a.IsUnspecified() || thisNetwork.Contains(a):
		return "an unspecified address"
	}
	if slices.ContainsFunc(metadataPrefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return "the address of a metadata service"
	}
	return ""
}
