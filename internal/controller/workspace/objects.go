// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;update

// createOnce creates the objects of a workspace, the pod last, because it must not run without its policy. Concurrent
// calls create them only once.
func (p *pods) createOnce(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	if !p.uses.beginCreate(name) {
		return nil
	}
	err := p.create(ctx, spec, name)
	if err != nil {
		p.uses.recordExists(name) // the next call retries
	}
	return err
}

func (p *pods) create(ctx context.Context, spec pod.Spec, name types.NamespacedName) error {
	// The references existed when the agent started. A pod without them would wait until the call times out, with a
	// worse message.
	if err := p.checkReferences(ctx, spec); err != nil {
		return err
	}
	spec, err := p.withGitEgress(ctx, spec, nil)
	if err != nil {
		return err
	}
	note := ""
	if spec.Publish == nil { // otherwise the request has the changes
		if spec, note, err = p.withKept(ctx, spec); err != nil {
			return err
		}
	}
	if err := p.ensureServiceAndPolicy(ctx, spec); err != nil {
		return err
	}
	before, err := p.ensureToken(ctx, spec, name)
	if err != nil {
		return err
	}
	// An existing token belonged to an earlier pod.
	p.uses.update(name, func(one *podUse) {
		one.recreated, one.notified, one.removing = "", map[string]bool{}, ""
		if before && keeps(spec) {
			one.recreated = note
		}
	})
	err = p.options.Client.Create(ctx, pod.Pod(spec))
	if apierrors.IsAlreadyExists(err) {
		return p.checkOwner(ctx, spec, name, &corev1.Pod{}) // if it is ours, its event will follow
	}
	if err != nil {
		return fmt.Errorf("create the pod: %w", err)
	}
	return nil
}

// ensureToken creates the token of a workspace. It reports whether there was one.
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

// token reads the token of a workspace. It is cached while the workspace is in use.
func (p *pods) token(ctx context.Context, spec pod.Spec, name types.NamespacedName) (string, error) {
	var cached string
	p.uses.update(name, func(one *podUse) { cached = one.token })
	if cached != "" {
		return cached, nil
	}
	var secret corev1.Secret
	if err := p.options.Live.Get(ctx, name, &secret); err != nil {
		return "", fmt.Errorf("get the token: %w", err)
	}
	// Don't trust a Secret that is not ours: its creator knows the token.
	if !owns(spec, &secret) {
		return "", foreignObject(&secret, name)
	}
	if err := p.checkService(ctx, spec, name); err != nil {
		return "", err
	}
	token := string(secret.Data[pod.TokenKey])
	p.uses.update(name, func(one *podUse) { one.token = token })
	return token, nil
}

// remove deletes a pod, by UID, and ends the session with it.
func (p *pods) remove(ctx context.Context, current *corev1.Pod, force bool) error {
	name := client.ObjectKeyFromObject(current)
	options := []client.DeleteOption{client.Preconditions{UID: &current.UID}}
	if force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	p.uses.update(name, func(one *podUse) { one.token = "" })
	p.endSession(name)
	err := p.options.Client.Delete(ctx, current, options...)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", name, err)
	}
	return nil
}

func (p *pods) endSession(name types.NamespacedName) {
	p.pool.Retain(func(key mcp.Key) bool { return key.Namespace != name.Namespace || key.Server != name.Name })
}
