// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

// historyService is the name of the Service of the history API.
const historyService = "nestor-history"

// startWithGateway runs an operator that serves the history API and the gateway, at addresses that later operators keep.
func (s *Stack) startWithGateway(ctx context.Context) error {
	certificate, key, err := certutil.GenerateSelfSignedCertKey(historyService+"."+OperatorNamespace+".svc", nil, []string{"localhost"})
	if err != nil {
		return fmt.Errorf("create a certificate: %w", err)
	}
	certFile, keyFile := filepath.Join(s.Dir, "history.crt"), filepath.Join(s.Dir, "history.key")
	if err := os.WriteFile(certFile, certificate, 0o600); err != nil {
		return fmt.Errorf("write a certificate: %w", err)
	}
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	history, err := FreeAddress(ctx)
	if err != nil {
		return err
	}
	gateway, err := FreeAddress(ctx)
	if err != nil {
		return err
	}
	s.GatewayURL = "http://" + gateway
	s.gatewayFlags = []string{
		"--history-bind-address", history, "--history-cert-file", certFile, "--history-key-file", keyFile, "--gateway-bind-address", gateway, "--gateway-insecure",
	}
	if err := s.StartOperator(ctx); err != nil {
		return err
	}
	served, err := netip.ParseAddrPort(history)
	if err != nil {
		return fmt.Errorf("read the address of the history API: %w", err)
	}
	return s.Cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1.GroupVersion, Namespace: OperatorNamespace, Service: historyService, Port: int32(served.Port()), CABundle: certificate,
	})
}

// RegisterHistory applies the chart's registration of the history API for an operator that serves it at an address of this
// machine. The operator itself creates the certificate and the CA bundle.
func (s *Stack) RegisterHistory(ctx context.Context, address string) error {
	objects, err := operator.History()
	if err != nil {
		return err
	}
	served, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read the address of the history API: %w", err)
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			if err := unstructured.SetNestedField(object.Object, int64(served.Port()), "spec", "service", "port"); err != nil {
				return fmt.Errorf("set the port of the history API: %w", err)
			}
		}
		if err := s.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("stack"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Token returns the token of a new or existing service account that is bound to ClusterRoles in its namespace, once the roles apply.
func (s *Stack) Token(ctx context.Context, namespace, name string, clusterRoles ...string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.API.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create the service account %s: %w", name, err)
	}
	for _, role := range clusterRoles {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		if err := s.API.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("bind %s to %s: %w", name, role, err)
		}
		if err := s.AwaitRole(ctx, namespace, serviceaccount.MakeUsername(namespace, name), role); err != nil {
			return "", err
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := s.API.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("request a token for %s: %w", name, err)
	}
	return request.Status.Token, nil
}
