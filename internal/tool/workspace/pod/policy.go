// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NetworkPolicy lets the operator in and nobody else. Out it lets what the
// source needs: name resolution and the port of the git server, but not the
// cloud's metadata service; nothing for other sources.
func NetworkPolicy(s Spec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: s.meta(),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: s.selector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{fromOperator(s.Operator)},
			Egress:      append(gitEgress(s.Source.Git), s.Egress...),
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

func gitEgress(git *Git) []networkingv1.NetworkPolicyEgressRule {
	if git == nil {
		return nil
	}
	number, err := gitPort(git.URL)
	if err != nil {
		// Validate refuses it; here the safe answer is to let nothing out.
		return nil
	}
	return []networkingv1.NetworkPolicyEgressRule{
		{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53)}},
		{
			To: []networkingv1.NetworkPolicyPeer{
				{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"169.254.0.0/16"}}},
				{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: []string{"fe80::/10", "fd00:ec2::/32"}}},
			},
			Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, number)},
		},
	}
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	value := intstr.FromInt32(number)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &value}
}
