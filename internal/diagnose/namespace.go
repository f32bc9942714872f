// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// provider checks the model provider that chats of the namespace use, and its key.
func (t Target) provider(ctx context.Context) []Finding {
	finder := resolve.Finder{Reader: t.API, Live: t.API, OperatorNamespace: t.OperatorNamespace}
	provider, err := finder.Provider(ctx, t.Namespace, t.Provider)
	var missing *resolve.Missing
	switch {
	case errors.As(err, &missing):
		return []Finding{finding("provider", Failed, "there is no ModelProvider %s for the namespace %s", t.Provider, t.Namespace).
			advise("%s config/samples/modelprovider.yaml is an example.", missing.Message)}
	case apierrors.IsForbidden(err):
		return []Finding{finding("provider", Unknown, "you are not allowed to read the ModelProvider %s", t.Provider)}
	case err != nil:
		return []Finding{finding("provider", Failed, "%v", err)}
	}
	findings := []Finding{readiness("provider", fmt.Sprintf("ModelProvider %s/%s", provider.Namespace, provider.Name), provider.Status.Conditions)}
	for _, ref := range resolve.IdentitySecrets(&provider.Spec) {
		findings = append(findings, t.secret(ctx, provider.Namespace, ref))
	}
	if provider.Spec.DefaultModel == "" {
		findings = append(findings, finding("model", Warning, "the ModelProvider %s names no default model", provider.Name).
			advise("Set spec.defaultModel of the ModelProvider, or a model in each chat and role."))
	}
	return findings
}

// readiness converts a Ready condition to a finding. The message of the condition is the advice.
func readiness(check, what string, conditions []metav1.Condition) Finding {
	c := meta.FindStatusCondition(conditions, v1beta1.ConditionReady)
	switch {
	case c == nil:
		return finding(check, Unknown, "%s has no conditions yet", what).advise("Is the operator running?")
	case c.Status == metav1.ConditionTrue:
		return finding(check, OK, "%s is ready", what)
	case c.Status == metav1.ConditionUnknown:
		return finding(check, Unknown, "%s: %s", what, c.Reason).advise("%s", c.Message)
	}
	return finding(check, Failed, "%s is not ready: %s", what, c.Reason).advise("%s", c.Message)
}

// secret checks that a key exists. It does not read the value.
func (t Target) secret(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) Finding {
	var secret corev1.Secret
	err := t.API.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return finding("secret", Failed, "there is no Secret %s/%s for the provider's key", namespace, ref.Name).
			advise("kubectl create secret generic %s -n %s --from-literal=%s=YOUR-KEY", ref.Name, namespace, ref.Key)
	case apierrors.IsForbidden(err):
		return finding("secret", Unknown, "you are not allowed to read the Secret %s/%s; the provider's condition shows whether the operator can", namespace, ref.Name)
	case err != nil:
		return finding("secret", Failed, "%v", err)
	case len(secret.Data[ref.Key]) == 0:
		return finding("secret", Failed, "the Secret %s/%s has no key %s", namespace, ref.Name, ref.Key).
			advise("kubectl patch secret %s -n %s -p '{\"stringData\":{\"%s\":\"YOUR-KEY\"}}'", ref.Name, namespace, ref.Key)
	}
	return finding("secret", OK, "the Secret %s/%s has the key %s", namespace, ref.Name, ref.Key)
}

// The permissions that users of chats need, and those without which chats work.
var (
	required = []string{
		"get agentchats", "list agentchats", "watch agentchats", "create agentchats", "list agentmessages", "watch agentmessages",
		"create agentmessages", "get agenttasks", "list agenttasks", "watch agenttasks", "list subagents", "watch subagents",
	}
	optional = []string{"create agenttasks", "get transcripts", "get transcripts/log", "list usages"}
)

// denied returns those of the permissions that the user does not have in the namespace.
func (t Target) denied(ctx context.Context, permissions []string) ([]string, error) {
	var denied []string
	for _, permission := range permissions {
		verb, name, _ := strings.Cut(permission, " ")
		resource, subresource, _ := strings.Cut(name, "/")
		group := v1beta1.GroupVersion.Group
		if resource == "transcripts" || resource == "usages" {
			group = historyv1.GroupVersion.Group
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: t.Namespace, Group: group, Resource: resource, Subresource: subresource, Verb: verb,
		}}}
		if err := t.API.Create(ctx, review); err != nil {
			return nil, err
		}
		if !review.Status.Allowed {
			denied = append(denied, permission)
		}
	}
	return denied, nil
}

// permissions checks the permissions of the user in the namespace.
func (t Target) permissions(ctx context.Context) Finding {
	lacking, err := t.denied(ctx, required)
	if err != nil {
		return finding("access", Unknown, "cannot read your permissions: %v", err)
	}
	unneeded, err := t.denied(ctx, optional)
	if err != nil {
		return finding("access", Unknown, "cannot read your permissions: %v", err)
	}
	advice := fmt.Sprintf("Ask the administrator of the namespace %s for these permissions, or use another namespace with -n.", t.Namespace)
	switch {
	case len(lacking) > 0:
		return finding("access", Failed, "in the namespace %s you are not allowed to: %s", t.Namespace, strings.Join(append(lacking, unneeded...), ", ")).advise("%s", advice)
	case len(unneeded) > 0:
		return finding("access", Warning, "chats work, but in the namespace %s you are not allowed to: %s", t.Namespace, strings.Join(unneeded, ", ")).advise("%s", advice)
	}
	return finding("access", OK, "you may do everything that chats and standalone tasks need in the namespace %s", t.Namespace)
}
