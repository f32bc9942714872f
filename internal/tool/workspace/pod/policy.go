// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NetworkPolicy returns a policy that admits only the operator and allows the egress of the spec.
func NetworkPolicy(s Spec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: s.meta(),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: s.selector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{fromOperator(s.Operator)},
			Egress:      s.Egress,
		},
	}
}

func fromOperator(operator Peer) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From:  []networkingv1.NetworkPolicyPeer{operator.selector()},
		Ports: []networkingv1.NetworkPolicyPort{tcp(intstr.FromInt32(Port))},
	}
}

// selector selects the peer's pods in its namespace only, because both selectors are in one peer.
func (p Peer) selector() networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": p.Namespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: p.Labels},
	}
}

// ToAddresses allows connections to a port of some addresses.
func ToAddresses(addresses []netip.Addr, number int32) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{tcp(intstr.FromInt32(number))}}
	for _, address := range addresses {
		block := &networkingv1.IPBlock{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: block})
	}
	return rule
}

// ToPods allows connections to a port of some pods. Policies apply to the addresses and ports of the pods behind a
// Service, not to those of the Service.
func ToPods(peer Peer, target intstr.IntOrString) networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{
		To: []networkingv1.NetworkPolicyPeer{peer.selector()}, Ports: []networkingv1.NetworkPolicyPort{tcp(target)},
	}
}

func tcp(port intstr.IntOrString) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: &port}
}
