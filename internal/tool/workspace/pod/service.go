// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func Service(s Spec) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: s.meta(),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: s.selector(),
			Ports:    []corev1.ServicePort{{Name: "mcp", Port: Port, TargetPort: intstr.FromString("mcp"), Protocol: corev1.ProtocolTCP}},
		},
	}
}

// Secret returns the secret with the token, which the caller generates. It never changes: a new token would need a
// new pod.
func Secret(s Spec, token string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: s.meta(),
		Immutable:  new(true),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{TokenKey: []byte(token)},
	}
}
