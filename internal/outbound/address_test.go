// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"net/netip"
	"testing"
)

func TestAllowedAddresses(t *testing.T) {
	for address, allowed := range map[string]bool{
		"8.8.8.8": true, "10.0.0.7": true, "172.20.1.1": true, "192.168.1.1": true, "100.64.0.1": true,
		"2606:4700::1111": true, "fd12:3456::1": true, "64:ff9b::808:808": true, "::ffff:10.0.0.7": true,

		"127.0.0.1": false, "127.8.8.8": false, "::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::7f00:1": false,
		"169.254.169.254": false, "169.254.170.2": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00:ec2::254": false, "fd20:ce::254": false, "100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false,
		"0.0.0.0": false, "0.1.2.3": false, "::": false, "::ffff:0.0.0.0": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
	} {
		if err := CheckAddress(netip.MustParseAddr(address), false); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %t", address, err, allowed)
		}
	}
}

func TestAllowLoopbackAllowsNothingElse(t *testing.T) {
	for address, allowed := range map[string]bool{
		"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"0.0.0.0": false, "::": false, "169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false,
	} {
		if err := CheckAddress(netip.MustParseAddr(address), true); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %t", address, err, allowed)
		}
	}
}

func TestListedNetworks(t *testing.T) {
	reach := Options{PublicOnly: true, Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.0.0/16")}}
	for address, allowed := range map[string]bool{
		"8.8.8.8": true, "10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "192.168.0.1": false, "169.254.169.254": false, "127.0.0.1": false,
	} {
		if err := reach.Check(netip.MustParseAddr(address)); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %t", address, err, allowed)
		}
	}
	reach.AllowLoopback = true
	if err := reach.Check(netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Error(err)
	}
	if err := (Options{}).Check(netip.MustParseAddr("10.2.0.1")); err != nil {
		t.Error(err)
	}
}

func TestPublicAddresses(t *testing.T) {
	for address, public := range map[string]bool{
		"8.8.8.8": true, "192.0.2.7": true, "2606:4700::1111": true, "2001:db8::7": true, "64:ff9b::808:808": true, "::ffff:8.8.8.8": true,

		"10.0.0.7": false, "172.20.1.1": false, "192.168.1.1": false, "100.64.0.1": false, "198.18.0.1": false, "240.0.0.1": false,
		"fd12:3456::1": false, "fec0::1": false, "64:ff9b:1::808:808": false,
		"::ffff:10.0.0.7": false, "64:ff9b::a00:7": false, "2002:a00:7::": false, "::a00:7": false,
		"127.0.0.1": false, "169.254.169.254": false, "100.100.100.200": false, "::1": false, "::": false,
	} {
		if err := CheckPublic(netip.MustParseAddr(address)); (err == nil) != public {
			t.Errorf("%s: %v, want public %t", address, err, public)
		}
	}
}
