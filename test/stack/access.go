// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/test/patience"
)

// tokenSeconds is the lifetime of the operator's token: longer than any suite.
const tokenSeconds = 24 * 60 * 60

const operatorRole = "nestor-operator"

// grant gives the operator, and people, exactly the permissions and policies of the chart. It writes a kubeconfig with
// which the operator is the chart's service account.
func (s *Stack) grant(ctx context.Context) error {
	objects, err := operator.Access()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("stack"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	// An operator that starts before its permissions apply would log errors, and suites check the log for them.
	if err := s.AwaitRole(ctx, metav1.NamespaceAll, serviceaccount.MakeUsername(operator.Namespace, operator.ServiceAccount), operatorRole); err != nil {
		return err
	}
	token, err := s.TokenFor(ctx, operator.Namespace, operator.ServiceAccount)
	if err != nil {
		return err
	}
	return s.writeKubeconfig(token)
}

func (s *Stack) writeKubeconfig(token string) error {
	s.OperatorKubeconfig = filepath.Join(s.Dir, "operator.kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["stack"] = &clientcmdapi.Cluster{Server: s.Cluster.Config.Host, CertificateAuthorityData: s.Cluster.Config.CAData}
	if s.options.DelayWatches {
		if err := s.startDelays(); err != nil {
			return err
		}
		config.Clusters["stack"] = &clientcmdapi.Cluster{Server: s.delays.address(), CertificateAuthorityData: s.delays.certificate}
	}
	s.OperatorAPI = config.Clusters["stack"].Server
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["stack"] = &clientcmdapi.Context{Cluster: "stack", AuthInfo: "operator"}
	config.CurrentContext = "stack"
	if err := clientcmd.WriteToFile(*config, s.OperatorKubeconfig); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	return nil
}

// AwaitRole waits until the API server permits a person the actions of a ClusterRole in a namespace: a new binding
// takes effect only after some time.
func (s *Stack) AwaitRole(ctx context.Context, namespace, person, role string) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		var found rbacv1.ClusterRole
		if err := s.API.Get(ctx, client.ObjectKey{Name: role}, &found); err != nil {
			return false, err
		}
		for _, rule := range found.Rules {
			if may, err := s.may(ctx, namespace, person, rule); err != nil || !may {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s has the role %s in namespace %s: %w", person, role, namespace, err)
	}
	return nil
}

// AwaitRule waits until the API server permits a person the first action of a rule in a namespace.
func (s *Stack) AwaitRule(ctx context.Context, namespace, person string, rule rbacv1.PolicyRule) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		return s.may(ctx, namespace, person, rule)
	})
	if err != nil {
		return fmt.Errorf("wait until %s may %s %s in namespace %s: %w", person, rule.Verbs[0], rule.Resources[0], namespace, err)
	}
	return nil
}

// may reports whether a person may perform the first action that a rule allows.
func (s *Stack) may(ctx context.Context, namespace, person string, rule rbacv1.PolicyRule) (bool, error) {
	if len(rule.Resources) == 0 {
		return true, nil // a non-resource rule
	}
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: person, ResourceAttributes: attributes}}
	if err := s.API.Create(ctx, review); err != nil {
		return false, fmt.Errorf("review the access of %s: %w", person, err)
	}
	return review.Status.Allowed, nil
}
