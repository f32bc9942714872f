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
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/config/components/gateway"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/ports"
)

// historyService is the name of the Service of the history API.
const historyService = "nestor-history"

// startWithGateway runs an operator that serves the history API, and a gateway, at addresses that their successors
// keep.
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
	var history, endpoint, door string
	for _, address := range []*string{&history, &endpoint, &door} {
		if *address, err = ports.Free(ctx); err != nil {
			return err
		}
	}
	s.intakeFlags = []string{
		"--history-bind-address", history, "--history-cert-file", certFile, "--history-key-file", keyFile, "--intake-bind-address", endpoint,
	}
	if err := s.StartOperator(ctx); err != nil {
		return err
	}
	port, err := parsePort(endpoint)
	if err != nil {
		return err
	}
	s.GatewayURL, s.Intake = "http://"+door, intake.Operator{URL: fmt.Sprintf("https://localhost:%d", port), CAFile: certFile}
	s.gatewayFlags = []string{
		"--gateway-bind-address", door, "--gateway-insecure", "--operator-url", s.Intake.URL, "--operator-ca-file", certFile,
	}
	if err := s.StartGateway(ctx); err != nil {
		return err
	}
	if port, err = parsePort(history); err != nil {
		return err
	}
	return s.Cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1.GroupVersion, Namespace: OperatorNamespace, Service: historyService, Port: port, CABundle: certificate,
	})
}

func parsePort(address string) (int32, error) {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, fmt.Errorf("read the port of %s: %w", address, err)
	}
	return int32(parsed.Port()), nil
}

// StartGateway runs the gateway of a stack with one, and waits until it is ready. Stop the previous one first.
func (s *Stack) StartGateway(ctx context.Context) (err error) {
	s.Gateway, err = s.LaunchGateway(ctx, s.gatewayFlags...)
	return err
}

// LaunchGateway runs a gateway with exactly the permissions of the chart, and waits until it is ready. The stack ends
// it, unless the caller did.
func (s *Stack) LaunchGateway(ctx context.Context, flags ...string) (*Process, error) {
	kubeconfig, tokenFile := filepath.Join(s.Dir, "gateway.kubeconfig"), filepath.Join(s.Dir, "gateway.token")
	if _, err := os.Stat(tokenFile); err != nil {
		if err := s.grantGateway(ctx, kubeconfig, tokenFile); err != nil {
			return nil, err
		}
	}
	probes, err := ports.Free(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--kubeconfig", kubeconfig, "--operator-token-file", tokenFile, "--health-probe-bind-address", probes}, flags...)
	process, err := run(s.log, s.log, nil, filepath.Join(s.options.Programs, "nestor-gateway"), args...)
	if err != nil {
		return nil, err
	}
	s.served = append(s.served, process)
	return process, (&Replica{Process: process, Probes: probes, Log: s.log.Name()}).AwaitReady(ctx)
}

// grantGateway gives the gateway the permissions of the chart. It writes a kubeconfig with a token of its service
// account, and a token for the operator.
func (s *Stack) grantGateway(ctx context.Context, kubeconfig, tokenFile string) error {
	objects, err := gateway.Access()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("stack"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	own, err := s.TokenFor(ctx, OperatorNamespace, gateway.ServiceAccount)
	if err != nil {
		return err
	}
	forOperator, err := s.TokenFor(ctx, OperatorNamespace, gateway.ServiceAccount, intake.Audience)
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(s.OperatorKubeconfig)
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		user.Token = own
	}
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return fmt.Errorf("write the gateway's kubeconfig: %w", err)
	}
	return os.WriteFile(tokenFile, []byte(forOperator), 0o600)
}

// TokenFor returns a token of a service account for audiences; none means the API server.
func (s *Stack) TokenFor(ctx context.Context, namespace, name string, audiences ...string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds, Audiences: audiences}}
	if err := s.API.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("request a token for %s: %w", name, err)
	}
	return request.Status.Token, nil
}

// RegisterHistory applies the chart's registration of the history API for an operator that serves it at an address of
// this machine. The operator itself creates the certificate and the CA bundle.
func (s *Stack) RegisterHistory(ctx context.Context, address string) error {
	objects, err := operator.History()
	if err != nil {
		return err
	}
	port, err := parsePort(address)
	if err != nil {
		return err
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			if err := unstructured.SetNestedField(object.Object, int64(port), "spec", "service", "port"); err != nil {
				return fmt.Errorf("set the port of the history API: %w", err)
			}
		}
		if err := s.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("stack"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Token returns the token of a new or existing service account that is bound to ClusterRoles in its namespace, once the
// roles apply.
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
	return s.TokenFor(ctx, namespace, name)
}
