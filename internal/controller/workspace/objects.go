// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create

// make creates the objects of a workspace, the pod last: it must not run without its policy. One call does it for all.
func (p *pods) make(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	if !p.uses.claim(name) {
		return nil
	}
	err := p.create(ctx, spec, name)
	if err != nil {
		p.uses.seen(name) // the next call tries again
	}
	return err
}

func (p *pods) create(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	// It was there when the agent began. A pod without it would wait until the call gives up, and say less.
	if err := p.lacks(ctx, spec); err != nil {
		return err
	}
	if err := p.furnish(ctx, spec); err != nil {
		return err
	}
	before, err := p.ensureToken(ctx, spec, name)
	if err != nil {
		return err
	}
	// A token that was there before belonged to a pod that was there before.
	p.uses.with(name, func(one *use) {
		one.anew, one.told, one.leaving = before && spec.Source.PersistentVolumeClaim == nil, map[string]bool{}, ""
	})
	err = p.options.Client.Create(ctx, pod.Pod(spec))
	if apierrors.IsAlreadyExists(err) {
		return p.checkOwner(ctx, spec, name)
	}
	if err != nil {
		return fmt.Errorf("create the pod: %w", err)
	}
	return nil
}

// furnish creates what stands around the pod, if it is not there.
func (p *pods) furnish(ctx context.Context, spec pod.Spec) error {
	for _, object := range []client.Object{pod.NetworkPolicy(spec), pod.Service(spec)} {
		kind := object.GetObjectKind().GroupVersionKind().Kind // a client that has created it may have cleared that
		if err := p.options.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", kind, err)
		}
	}
	return nil
}

// checkOwner looks at a pod that is there but was not seen. If it is ours, it will be.
func (p *pods) checkOwner(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	var found corev1.Pod
	if err := p.options.Live.Get(ctx, name, &found); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !owns(spec, &found) {
		return fmt.Errorf("the Pod %s is not the operator's: delete it", name)
	}
	return nil
}

func owns(spec pod.Spec, object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && string(owner.UID) == spec.Owner.UID
}

// ensureToken makes the token of a workspace. It reports whether there was one.
func (p *pods) ensureToken(ctx context.Context, spec pod.Spec, name types.NamespacedName) (before bool, err error) {
	_, err = p.token(ctx, spec, name)
	if err == nil || !apierrors.IsNotFound(err) {
		return err == nil, err
	}
	if err := p.options.Client.Create(ctx, pod.Secret(spec, rand.Text()+rand.Text())); err != nil {
		return false, fmt.Errorf("create the token: %w", err)
	}
	return false, nil
}

// token reads the token of a workspace. It is kept in memory while the workspace is in use.
func (p *pods) token(ctx context.Context, spec pod.Spec, name types.NamespacedName) (string, error) {
	var known string
	p.uses.with(name, func(one *use) { known = one.token })
	if known != "" {
		return known, nil
	}
	var secret corev1.Secret
	if err := p.options.Live.Get(ctx, name, &secret); err != nil {
		return "", fmt.Errorf("get the token: %w", err)
	}
	// Somebody else's Secret would let him in.
	if !owns(spec, &secret) {
		return "", fmt.Errorf("the Secret %s is not the operator's: delete it", name)
	}
	token := string(secret.Data[pod.TokenKey])
	p.uses.with(name, func(one *use) { one.token = token })
	return token, nil
}

// remove deletes a pod, this one and no later one of its name, and ends the session with it.
func (p *pods) remove(ctx context.Context, found *corev1.Pod, force bool) error {
	name := client.ObjectKeyFromObject(found)
	options := []client.DeleteOption{client.Preconditions{UID: &found.UID}}
	if force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	p.uses.with(name, func(one *use) { one.token = "" })
	p.endSession(name)
	err := p.options.Client.Delete(ctx, found, options...)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", name, err)
	}
	return nil
}

func (p *pods) endSession(name types.NamespacedName) {
	p.pool.Retain(func(key mcp.Key) bool { return key.Namespace != name.Namespace || key.Server != name.Name })
}
