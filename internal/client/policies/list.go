// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package policies lists the ToolPolicies of a namespace and tries policies on its recorded calls, with the permissions
// of the reader.
package policies

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// Entry is a policy that applies to the agents of a namespace.
type Entry struct {
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Mode      v1beta1.PolicyMode `json:"mode"`
	// Tools and Roles are what the policy matches; without them, every call.
	Tools []string `json:"tools,omitempty"`
	Roles []string `json:"roles,omitempty"`
	// Rules are the names of the rules.
	Rules []string `json:"rules"`
	// Ready is the status of the condition, Reason its reason, and Message explains it.
	Ready   metav1.ConditionStatus `json:"ready"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
}

// List is the policies of a namespace.
type List struct {
	Items []Entry `json:"items"`
	// Unreadable is why policies of the operator's namespace that may apply, too, are not listed.
	Unreadable string `json:"unreadable,omitempty"`
}

// Read lists the policies that apply to the agents of a namespace: its own, and those of the operator's namespace as far
// as the reader may read them.
func Read(ctx context.Context, api client.Reader, namespace, operatorNamespace string) (List, error) {
	list := List{Items: []Entry{}}
	var own, shared v1beta1.ToolPolicyList
	if err := api.List(ctx, &own, client.InNamespace(namespace)); err != nil {
		return list, err
	}
	for i := range own.Items {
		list.Items = append(list.Items, entryOf(&own.Items[i]))
	}
	if namespace != operatorNamespace {
		err := api.List(ctx, &shared, client.InNamespace(operatorNamespace))
		if apierrors.IsForbidden(err) {
			const hint = "you may not read the ToolPolicies of %s, which may apply here, too"
			list.Unreadable = fmt.Sprintf(hint, operatorNamespace)
		} else if err != nil {
			return list, err
		}
	}
	finder := resolve.Finder{Reader: api, Live: api, OperatorNamespace: operatorNamespace}
	for i := range shared.Items {
		p := &shared.Items[i]
		applies, err := finder.Allows(ctx, p.Spec.Namespaces, namespace)
		switch {
		case apierrors.IsForbidden(err):
			const hint = "you may not read the namespace %s, whose labels decide whether %s/%s applies here"
			list.Unreadable = fmt.Sprintf(hint, namespace, p.Namespace, p.Name)
		case err != nil:
			return list, err
		case applies:
			list.Items = append(list.Items, entryOf(p))
		}
	}
	slices.SortFunc(list.Items, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

func entryOf(p *v1beta1.ToolPolicy) Entry {
	e := Entry{Namespace: p.Namespace, Name: p.Name, Mode: cmp.Or(p.Spec.Mode, v1beta1.PolicyEnforce)}
	e.Ready = metav1.ConditionUnknown
	if m := p.Spec.Match; m != nil {
		e.Tools, e.Roles = m.Tools, m.Roles
	}
	for _, r := range p.Spec.Rules {
		e.Rules = append(e.Rules, r.Name)
	}
	c := meta.FindStatusCondition(p.Status.Conditions, v1beta1.ConditionReady)
	if c != nil && c.ObservedGeneration == p.Generation {
		e.Ready, e.Reason, e.Message = c.Status, c.Reason, c.Message
	}
	return e
}

// NamesMissing reports that the operator found tools or roles in match that do not exist.
func (e Entry) NamesMissing() bool { return e.Reason == v1beta1.ReasonNamesNotFound }
