// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package giturl

import (
	"net"
	"slices"
	"strings"
)

// MatchesList reports whether a list of hosts, separated by commas or spaces, includes the remote. Its entries are
//
//	git.example.com           https and ssh, at their own ports
//	git.example.com:8443      https and ssh, at this port
//	http://git.example.com    this scheme only, which is how plain http is allowed
//
// There are no patterns, and invalid entries match nothing.
func (r Remote) MatchesList(hosts string) bool {
	entries := strings.FieldsFunc(hosts, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' })
	return slices.ContainsFunc(entries, r.matchesEntry)
}

func (r Remote) matchesEntry(entry string) bool {
	scheme, host, ok := strings.Cut(entry, "://")
	if !ok {
		scheme, host = r.Scheme, entry
		if scheme == "http" {
			return false // the password would be sent unencrypted
		}
	}
	port := ""
	if name, number, err := net.SplitHostPort(host); err == nil {
		host, port = name, number
	}
	number, err := parsePort(scheme, port)
	host = strings.Trim(host, "[]")
	return err == nil && scheme == r.Scheme && number == r.Port && host != "" && strings.EqualFold(host, r.Host)
}

// Entry returns the shortest entry that matches the remote, for messages.
func (r Remote) Entry() string {
	if r.Scheme == "http" {
		return r.Origin()
	}
	return r.HostPort()
}
