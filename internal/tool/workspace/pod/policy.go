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
		// Both selectors in one peer: these pods in that namespace.
		From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": operator.Namespace}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: operator.Labels},
		}},
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, Port)},
	}
}

// ToAddresses allows connections to a port of some addresses.
func ToAddresses(addresses []netip.Addr, number int32) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, number)}}
	for _, address := range addresses {
		block := &networkingv1.IPBlock{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: block})
	}
	return rule
}

// ToPods allows connections to a port of some pods. Policies apply to the addresses and ports of the pods behind a
// Service, not to those of the Service.
func ToPods(peer Peer, target intstr.IntOrString) networkingv1.NetworkPolicyEgressRule {
	protocol := corev1.ProtocolTCP
	return networkingv1.NetworkPolicyEgressRule{
		To: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": peer.Namespace}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: peer.Labels},
		}},
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: &target}},
	}
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	value := intstr.FromInt32(number)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &value}
}
