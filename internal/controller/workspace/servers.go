// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/internal/outbound"
)

// Servers lists git servers that workspaces may use although they have private addresses or are Services of another
// namespace.
type Servers struct {
	names    []string
	networks []netip.Prefix
}

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// ParseServers parses host names, addresses and networks such as 10.1.0.0/16.
func ParseServers(entries []string) (Servers, error) {
	var s Servers
	for _, entry := range entries {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if network, err := netip.ParsePrefix(entry); err == nil {
			s.networks = append(s.networks, network.Masked())
			continue
		}
		if address, err := netip.ParseAddr(entry); err == nil {
			s.networks = append(s.networks, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		if !hostName.MatchString(entry) {
			return Servers{}, fmt.Errorf("%q is not a host name, address or network", entry)
		}
		s.names = append(s.names, entry)
	}
	return s, nil
}

// check returns an error if a workspace of a namespace may not connect to all addresses of a git server.
func (s Servers) check(namespace, host string, service *corev1.Service, addresses []netip.Addr) error {
	var private []netip.Addr
	for _, address := range addresses {
		var forbidden *outbound.NotAllowedError
		if errors.As(outbound.CheckAddress(address, false), &forbidden) {
			return notAllowed("The git server %s has the address %s, which workspaces must not reach: it is %s.",
				host, address, forbidden.Reason)
		}
		if outbound.CheckPublic(address) != nil {
			private = append(private, address)
		}
	}
	name := host
	if service != nil {
		name = serviceHost(service)
	}
	const allow = " To allow this server, start the operator with --workspace-private-git-servers=%s" +
		" (chart: workspace.privateGitServers)."
	switch {
	case service != nil && service.Namespace == namespace:
		return nil
	case len(private) > 0 && len(private) < len(addresses):
		return notAllowed("The git server %s has public addresses and the private address %s, which workspaces "+
			"must not reach: use a name that has only one kind of address.", host, private[0])
	case service == nil && len(private) == 0, s.lists(host, name, addresses):
		return nil
	case service != nil:
		return notAllowed("The git server %s is a Service of the namespace %s, which workspaces of other "+
			"namespaces must not reach."+allow, host, service.Namespace, name)
	}
	return notAllowed("The git server %s has the private address %s, which workspaces must not reach."+allow,
		host, private[0], name)
}

func (s Servers) lists(host, name string, addresses []netip.Addr) bool {
	if slices.Contains(s.names, host) || slices.Contains(s.names, name) {
		return true
	}
	return !slices.ContainsFunc(addresses, func(a netip.Addr) bool {
		return !slices.ContainsFunc(s.networks, func(n netip.Prefix) bool { return n.Contains(a) })
	})
}

func serviceHost(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc"
}
