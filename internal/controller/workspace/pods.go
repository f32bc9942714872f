// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// pods runs workspaces in pods beside their files.
type pods struct {
	options Options
	uses    *podUses
	pool    *mcp.Pool
}

func newPods(o Options) *pods {
	p := &pods{options: o, uses: newPodUses(o.Now)}
	p.pool = newPool(o.HTTP, func(key mcp.Key) { p.uses.notify(types.NamespacedName{Namespace: key.Namespace, Name: key.Server}) })
	return p
}

func (p *pods) spec(location Location) (pod.Spec, error) {
	kind := "AgentTask"
	if location.Chat != "" {
		kind = "AgentChat"
	}
	spec := pod.Spec{
		Owner: pod.Owner{APIVersion: v1beta1.GroupVersion.String(), Kind: kind, Name: location.Owner.GetName(),
			UID: string(location.Owner.GetUID()), Chat: location.Chat},
		Namespace: location.Owner.GetNamespace(), Image: p.options.Image, Operator: p.options.Operator,
		Egress: p.options.Egress, MaxSize: p.options.MaxSize, Placement: placementOf(location.Workspace),
	}
	switch w := location.Workspace; {
	case w.Git != nil:
		spec.Source.Git = &pod.Git{URL: w.Git.URL, Ref: w.Git.Ref, SecretName: w.Git.SecretName}
	case w.PersistentVolumeClaim != nil:
		spec.Source.PersistentVolumeClaim = &pod.PersistentVolumeClaim{ClaimName: w.PersistentVolumeClaim.ClaimName, ReadOnly: w.PersistentVolumeClaim.ReadOnly}
	case w.EmptyDir != nil:
		spec.Source.EmptyDir = &pod.EmptyDir{}
		if w.EmptyDir.SizeLimit != "" {
			limit, err := resource.ParseQuantity(w.EmptyDir.SizeLimit)
			if err != nil {
				return pod.Spec{}, fmt.Errorf("sizeLimit %q is not a size", w.EmptyDir.SizeLimit)
			}
			spec.Source.EmptyDir.SizeLimit = &limit
		}
	}
	return spec, spec.Validate()
}

// attach implements backend. It waits until the pod is ready and responds.
func (p *pods) attach(ctx context.Context, location Location, agent string) (*connection, error) {
	spec, err := p.spec(location)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be run: %w", err)
	}
	name := types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}
	p.uses.start(name)
	var session *mcp.Session
	current, err := p.waitForPod(ctx, spec, name, func(ctx context.Context, ready *corev1.Pod) (done bool, text string, err error) {
		session, text, err = p.connect(ctx, spec, name, ready)
		return session != nil, text, err
	})
	if err != nil {
		p.uses.end(name)
		return nil, err
	}
	used := podRefOf(current)
	v := &connection{
		session: session, release: func() { p.uses.end(name) },
		cancelOnPodLoss: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return p.cancelOnPodLoss(ctx, name, used)
		},
		lossMessage: func(ctx context.Context) string { return p.lossMessage(ctx, spec, name, used) },
	}
	v.note = p.uses.recreationNote(name, agent)
	return v, nil
}

// onReady uses a pod that is ready. It reports whether that is done, or else what it waits for.
type onReady func(ctx context.Context, ready *corev1.Pod) (done bool, text string, err error)

// waitForPod advances a workspace at each of its changes until it is usable.
func (p *pods) waitForPod(ctx context.Context, spec pod.Spec, name types.NamespacedName, use onReady) (*corev1.Pod, error) {
	waiting, cancel := context.WithTimeout(ctx, p.options.StartTimeout)
	defer cancel()
	waitedFor := "its pod is being read"
	for {
		changed := p.uses.watch(name)
		var current corev1.Pod
		done, text, err := p.advance(waiting, spec, name, &current, use)
		if text != "" {
			waitedFor = text
		}
		switch {
		case done:
			return &current, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, waiting.Err()):
			return nil, fmt.Errorf("the workspace cannot be started, and nothing was run: %w", err)
		case waiting.Err() != nil:
			if p.options.Live.Get(ctx, name, &current) == nil { // the cache may not have the reason yet
				if _, text, err = p.pending(spec, name, &current); err != nil {
					return nil, fmt.Errorf("the workspace cannot be started, and nothing was run: %w", err)
				}
				waitedFor = cmp.Or(text, waitedFor)
			}
			return nil, fmt.Errorf("the workspace is not ready after %s, and nothing was run: %s. Try again later", p.options.StartTimeout, waitedFor)
		}
		select {
		case <-changed:
		case <-waiting.Done():
		}
	}
}

// advance reads the pod of a workspace and does the next step. It reports whether the pod was used, else what it waits
// for.
func (p *pods) advance(ctx context.Context, spec pod.Spec, name types.NamespacedName, current *corev1.Pod, use onReady) (bool, string, error) {
	err := p.options.Client.Get(ctx, name, current)
	if apierrors.IsNotFound(err) {
		return false, "its pod is being created", p.createOnce(ctx, spec, name)
	}
	if err != nil {
		return false, "", fmt.Errorf("get pod %s: %w", name, err)
	}
	if ready, text, err := p.pending(spec, name, current); err != nil || !ready {
		return false, text, err
	}
	return use(ctx, current)
}

// pending reports whether a pod can be used, else what it waits for, or why it never can.
func (p *pods) pending(spec pod.Spec, name types.NamespacedName, current *corev1.Pod) (ready bool, text string, err error) {
	switch {
	case !owns(spec, current):
		return false, "", foreignObject(current, name)
	case isStuck(current, p.options.Now()) && onClaim(current):
		return false, "", fmt.Errorf("the pod that ran before hangs on the node %s, which does not answer, and holds the volume. A person must bring the node back, or make sure that it is off and delete the pod %s by force", current.Spec.NodeName, name)
	case current.DeletionTimestamp != nil || p.isRemoving(name, current.UID):
		return false, "the pod that ran before is still ending", nil
	case hasEnded(current):
		return false, endText(current), nil // the reconciler deletes it
	case !isReady(current):
		text, transient := pendingReason(current)
		if !transient {
			return false, "", errors.New(text)
		}
		return false, text, nil
	}
	return true, "", nil
}

func (p *pods) isRemoving(name types.NamespacedName, uid types.UID) (removing bool) {
	p.uses.update(name, func(one *podUse) { removing = one.removing == uid })
	return removing
}

// connect opens a session with a ready pod.
func (p *pods) connect(ctx context.Context, spec pod.Spec, name types.NamespacedName, current *corev1.Pod) (*mcp.Session, string, error) {
	token, err := p.token(ctx, spec, name)
	if apierrors.IsNotFound(err) {
		// The pod is useless without its token.
		return nil, "its token is gone, and it is restarted", p.remove(ctx, current, false)
	}
	if err != nil {
		return nil, "", err
	}
	if err := p.restore(ctx, spec, name, current); err != nil {
		return nil, "", err
	}
	session := p.pool.Ensure(mcp.Server{
		Key: mcp.Key{Namespace: name.Namespace, Server: name.Name}, Revision: string(current.UID), Transport: mcp.StreamableHTTP, URL: spec.URL(),
		Headers: func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		},
	})
	if status := session.Status(); !status.Ready {
		// Its Service or policy may have been deleted.
		return nil, "its pod is ready but does not answer yet: " + status.Message, p.restoreServiceAndPolicy(ctx, spec, current)
	}
	return session, "", nil
}
