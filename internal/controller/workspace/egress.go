// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// A network policy matches addresses, not names. So the operator resolves the git server when it creates a pod, the
// policy allows these addresses at the server's port, and the pod has them in its host aliases: it needs no DNS,
// through which data could leak too. These addresses stay until the pod ends, even if the name changes: a policy that
// is restored for a running pod gets the addresses of that pod.
//
// The owner of a name chooses its addresses, and commands of agents reach all of them. So every address must be public,
// unless the operator lists the server (see [Servers]) or it is a Service of the workspace's namespace.

// maxAddresses bounds the addresses of a git server.
const maxAddresses = 32

// withGitEgress allows the pod of a spec to connect to the server of its repository. If the pod exists, running is that
// pod; otherwise nil.
func (p *pods) withGitEgress(ctx context.Context, spec pod.Spec, running *corev1.Pod) (pod.Spec, error) {
	if spec.Source.Git == nil {
		return spec, nil
	}
	remote, err := giturl.Parse(spec.Source.Git.URL)
	if err != nil {
		return spec, err
	}
	service, err := p.serviceOf(ctx, spec.Namespace, remote.Host)
	if err != nil {
		return spec, err
	}
	addresses := aliasesOf(running, remote.Host)
	if len(addresses) == 0 {
		if addresses, err = p.addressesOf(ctx, remote.Host, service); err != nil {
			return spec, err
		}
	}
	if err := p.options.PrivateGitServers.check(spec.Namespace, remote.Host, service, addresses); err != nil {
		return spec, err
	}
	spec.Egress = slices.Clone(spec.Egress)
	// The addresses of a headless Service are those of pods, which the labels select.
	if service == nil || service.Spec.ClusterIP != corev1.ClusterIPNone {
		spec.Egress = append(spec.Egress, pod.ToAddresses(addresses, remote.Port))
	}
	if service != nil {
		peer := pod.Peer{Namespace: service.Namespace, Labels: service.Spec.Selector}
		spec.Egress = append(spec.Egress, pod.ToPods(peer, targetOf(service, remote.Port)))
	}
	spec.Hosts = hosts(remote.Host, addresses)
	return spec, nil
}

func aliasesOf(running *corev1.Pod, host string) (addresses []netip.Addr) {
	if running == nil {
		return nil
	}
	for _, alias := range running.Spec.HostAliases {
		if address, err := netip.ParseAddr(alias.IP); err == nil && slices.Contains(alias.Hostnames, host) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// serviceOf returns the Service of this cluster that a host name refers to, as a pod of the namespace would resolve
// it: by name, with or without namespace and cluster domain. It returns nil for other hosts.
func (p *pods) serviceOf(ctx context.Context, namespace, host string) (*corev1.Service, error) {
	labels := strings.Split(host, ".")
	if len(labels) > 2 && labels[2] != "svc" {
		return nil, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil, nil
	}
	name := types.NamespacedName{Namespace: namespace, Name: labels[0]}
	if len(labels) > 1 {
		name.Namespace = labels[1]
	}
	var service corev1.Service
	err := p.options.Live.Get(ctx, name, &service)
	// An operator that is limited to some namespaces may not read others; DNS resolves the name too.
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the Service of the git server: %w", err)
	}
	if len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, nil // it leads to no pods, and its author chose the address
	}
	return &service, nil
}

func (p *pods) addressesOf(ctx context.Context, host string, service *corev1.Service) ([]netip.Addr, error) {
	var addresses []netip.Addr
	if address, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{address}
	}
	if service != nil {
		for _, text := range service.Spec.ClusterIPs {
			if address, err := netip.ParseAddr(text); err == nil {
				addresses = append(addresses, address)
			}
		}
	}
	if len(addresses) == 0 {
		name := host
		if service != nil {
			name = serviceHost(service) // the operator is in another namespace than the pod
		}
		resolved, err := p.options.Resolve(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("the operator cannot find the address of the git server %s: %w", host, err)
		}
		addresses = resolved
	}
	for i, address := range addresses {
		addresses[i] = address.Unmap().WithZone("")
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	addresses = slices.Compact(addresses)
	if len(addresses) == 0 || len(addresses) > maxAddresses {
		return nil, fmt.Errorf("the git server %s has %d addresses; 1 to %d are allowed", host, len(addresses), maxAddresses)
	}
	return addresses, nil
}

// targetOf returns the pod port behind a port of a Service.
func targetOf(service *corev1.Service, number int32) intstr.IntOrString {
	for _, port := range service.Spec.Ports {
		if port.Port == number && port.TargetPort != (intstr.IntOrString{}) {
			return port.TargetPort
		}
	}
	return intstr.FromInt32(number)
}

// hosts returns the host aliases for a name. An address needs none.
func hosts(name string, addresses []netip.Addr) []corev1.HostAlias {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	var aliases []corev1.HostAlias
	for _, address := range addresses {
		aliases = append(aliases, corev1.HostAlias{IP: address.String(), Hostnames: []string{name}})
	}
	return aliases
}
