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

// A network policy knows addresses and no names. So the operator looks the git server up when it makes a pod, the policy allows these
// addresses at the server's port, and the pod has them in its list of hosts: it needs no name server, through which data could leave too.

// reach adds to a spec that its pod may connect to the server of its repository.
func (p *pods) reach(ctx context.Context, spec pod.Spec) (pod.Spec, error) {
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
	addresses, err := p.addressesOf(ctx, remote.Host, service)
	if err != nil {
		return spec, err
	}
	spec.Egress = append(slices.Clone(spec.Egress), pod.ToAddresses(addresses, remote.Port))
	if service != nil {
		spec.Egress = append(spec.Egress, pod.ToPods(pod.Peer{Namespace: service.Namespace, Labels: service.Spec.Selector}, targetOf(service, remote.Port)))
	}
	spec.Hosts = hosts(remote.Host, addresses)
	return spec, nil
}

// serviceOf finds the Service of this cluster that a host is, as a pod of the namespace would: by its name, with or without its
// namespace, and with or without the cluster's domain. Other hosts have none.
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
	var found corev1.Service
	err := p.options.Live.Get(ctx, name, &found)
	// An operator of some namespaces may not read others: the name servers know it, too.
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the Service of the git server: %w", err)
	}
	if len(found.Spec.Selector) == 0 {
		return nil, nil // it leads to addresses, and not to pods
	}
	return &found, nil
}

// addressesOf finds the addresses of a git server.
func (p *pods) addressesOf(ctx context.Context, host string, service *corev1.Service) ([]netip.Addr, error) {
	var found []netip.Addr
	if address, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{address}
	}
	if service != nil {
		for _, text := range service.Spec.ClusterIPs {
			if address, err := netip.ParseAddr(text); err == nil {
				found = append(found, address)
			}
		}
	}
	if len(found) == 0 {
		resolved, err := p.options.Resolve(ctx, host)
		if err != nil {
			return nil, fmt.Errorf("the operator cannot find the address of the git server %s: %w", host, err)
		}
		found = resolved
	}
	for i, address := range found {
		found[i] = address.Unmap().WithZone("")
		if reserved(found[i]) {
			return nil, fmt.Errorf("the git server %s has the address %s, which workspaces may not reach", host, address)
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found), nil
}

// awsMetadata is where a cloud serves its nodes' credentials by IPv6; by IPv4 it is link-local.
var awsMetadata = netip.MustParsePrefix("fd00:ec2::/32")

// reserved says that an address is not that of a git server: the pod itself, its node, or the metadata service of a cloud.
func reserved(address netip.Addr) bool {
	return !address.IsGlobalUnicast() || awsMetadata.Contains(address)
}

// targetOf is the port of the pods behind a port of a Service.
func targetOf(service *corev1.Service, number int32) intstr.IntOrString {
	for _, port := range service.Spec.Ports {
		if port.Port == number && port.TargetPort != (intstr.IntOrString{}) {
			return port.TargetPort
		}
	}
	return intstr.FromInt32(number)
}

// hosts lets a pod find a name. An address needs none.
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
