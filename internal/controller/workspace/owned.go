// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// Anyone who can read a chat or task can compute the names of its workspace's objects. So an object that is found by name
// is used only if the chat or task owns it, by UID. Users who may create such an object can forge the owner;
// therefore the security-relevant parts, the selector of a Service and the rules of a policy, are compared too.

// checkNames returns an error if a foreign object has the name of one of the workspace's, so that a run does not start.
// While the workspace is in use, this was checked before.
func (p *pods) checkNames(ctx context.Context, spec pod.Spec) error {
	name := types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}
	if _, inUse := p.pool.Lookup(mcp.Key{Namespace: name.Namespace, Server: name.Name}); inUse {
		return nil
	}
	for _, object := range []client.Object{&networkingv1.NetworkPolicy{}, &corev1.Secret{}, &corev1.Pod{}} {
		if err := p.checkOwner(ctx, spec, name, object); err != nil {
			return err
		}
	}
	return p.checkService(ctx, spec, name)
}

// checkOwner checks the owner of an object that has the name of one of ours. It returns nil if there is none.
func (p *pods) checkOwner(ctx context.Context, spec pod.Spec, name types.NamespacedName, object client.Object) error {
	err := p.options.Live.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s %s: %w", kindOf(object), name, err)
	}
	if !owns(spec, object) {
		return foreignObject(object, name)
	}
	return nil
}

// checkService checks that a Service leads to our pod, because the operator sends the token there.
func (p *pods) checkService(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	var service corev1.Service
	if err := p.checkOwner(ctx, spec, name, &service); err != nil || service.Name == "" {
		return err
	}
	want := pod.Service(spec).Spec
	same := service.Spec.Type == want.Type && len(service.Spec.ExternalIPs) == 0 && equality.Semantic.DeepEqual(service.Spec.Selector, want.Selector) &&
		len(service.Spec.Ports) == len(want.Ports) && service.Spec.Ports[0].Port == want.Ports[0].Port && service.Spec.Ports[0].TargetPort == want.Ports[0].TargetPort
	if !same {
		return foreignObject(&service, name)
	}
	return nil
}

// ensureServiceAndPolicy creates the missing objects around the pod, and updates the policy.
func (p *pods) ensureServiceAndPolicy(ctx context.Context, spec pod.Spec) error {
	if err := p.ensureService(ctx, spec); err != nil {
		return err
	}
	err := p.options.Client.Create(ctx, pod.NetworkPolicy(spec))
	if apierrors.IsAlreadyExists(err) {
		err = p.restorePolicy(ctx, spec, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()})
	}
	if err != nil {
		return fmt.Errorf("create the NetworkPolicy: %w", err)
	}
	return nil
}

// restoreServiceAndPolicy restores deleted objects around a running pod. An existing policy already has the addresses
// of that pod.
func (p *pods) restoreServiceAndPolicy(ctx context.Context, spec pod.Spec, running *corev1.Pod) error {
	var policy networkingv1.NetworkPolicy
	if err := p.checkOwner(ctx, spec, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}, &policy); err != nil {
		return err
	}
	if policy.Name != "" {
		return p.ensureService(ctx, spec)
	}
	spec, err := p.withGitEgress(ctx, spec, running)
	if err != nil {
		return err
	}
	return p.ensureServiceAndPolicy(ctx, spec)
}

func (p *pods) ensureService(ctx context.Context, spec pod.Spec) error {
	err := p.options.Client.Create(ctx, pod.Service(spec))
	if apierrors.IsAlreadyExists(err) {
		err = p.checkService(ctx, spec, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()})
	}
	if err != nil {
		return fmt.Errorf("create the Service: %w", err)
	}
	return nil
}

// restorePolicy updates an existing policy: addresses change, and it may have been edited.
func (p *pods) restorePolicy(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	var policy networkingv1.NetworkPolicy
	if err := p.checkOwner(ctx, spec, name, &policy); err != nil || policy.Name == "" {
		return err
	}
	want := pod.NetworkPolicy(spec)
	if equality.Semantic.DeepEqual(policy.Spec, want.Spec) {
		return nil
	}
	policy.Spec = want.Spec
	return p.options.Client.Update(ctx, &policy)
}

func owns(spec pod.Spec, object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && string(owner.UID) == spec.Owner.UID
}

// foreignObject returns an error for people, who must decide what to do with the object.
func foreignObject(object client.Object, name types.NamespacedName) error {
	return unavailable("The %s %s has the name of a workspace object but was not created by the operator: delete it.", kindOf(object), name)
}

func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }
