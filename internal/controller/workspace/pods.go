// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// pods runs workspaces in pods beside their files.
type pods struct {
	options Options
	uses    *uses
	pool    *mcp.Pool
}

func newPods(o Options) *pods {
	p := &pods{options: o, uses: newUses(o.Now)}
	p.pool = newPool(o.HTTP, func(key mcp.Key) { p.uses.changed(types.NamespacedName{Namespace: key.Namespace, Name: key.Server}) })
	return p
}

// spec returns the spec of the pod of a place.
func (p *pods) spec(place Place) (pod.Spec, error) {
	kind := "AgentTask"
	if place.Chat != "" {
		kind = "AgentChat"
	}
	spec := pod.Spec{
		Owner: pod.Owner{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: place.Owner.GetName(),
			UID: string(place.Owner.GetUID()), Chat: place.Chat},
		Namespace: place.Owner.GetNamespace(), Image: p.options.Image, Operator: p.options.Operator,
		Egress: p.options.Egress, MaxSize: p.options.MaxSize,
	}
	switch w := place.Workspace; {
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

// enter implements host. It waits until the pod is ready and responds.
func (p *pods) enter(ctx context.Context, place Place, agent string) (*visit, error) {
	spec, err := p.spec(place)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be run: %w", err)
	}
	name := types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}
	p.uses.enter(name)
	session, seen, err := p.await(ctx, spec, name)
	if err != nil {
		p.uses.leave(name)
		return nil, err
	}
	v := &visit{
		session: session, leave: func() { p.uses.leave(name) },
		accompany: func(ctx context.Context) (context.Context, context.CancelFunc) { return p.accompany(ctx, name, seen) },
		lost:      func(ctx context.Context) string { return p.lost(ctx, spec, name, seen) },
	}
	if p.uses.tell(name, agent) {
		v.note = "The workspace was started anew: files are as at its beginning, and what was changed before is gone."
	}
	return v, nil
}

// await advances a workspace at each of its changes until it is usable.
func (p *pods) await(ctx context.Context, spec pod.Spec, name types.NamespacedName) (*mcp.Session, glimpse, error) {
	waiting, cancel := context.WithTimeout(ctx, p.options.StartTimeout)
	defer cancel()
	waitedFor := "its pod is being read"
	for {
		turn := p.uses.turn(name)
		var found corev1.Pod
		session, words, err := p.advance(waiting, spec, name, &found)
		if words != "" {
			waitedFor = words
		}
		switch {
		case session != nil:
			return session, glimpseOf(&found), nil
		case ctx.Err() != nil:
			return nil, glimpse{}, ctx.Err()
		case err != nil && !errors.Is(err, waiting.Err()):
			return nil, glimpse{}, fmt.Errorf("the workspace cannot be started, and nothing was run: %w", err)
		case waiting.Err() != nil:
			return nil, glimpse{}, fmt.Errorf("the workspace is not ready after %s, and nothing was run: %s. Try again later", p.options.StartTimeout, waitedFor)
		}
		select {
		case <-turn:
		case <-waiting.Done():
		}
	}
}

// advance reads the pod of a workspace and does the next step. It returns a session once there is one, else what it
// waits for.
func (p *pods) advance(ctx context.Context, spec pod.Spec, name types.NamespacedName, found *corev1.Pod) (*mcp.Session, string, error) {
	err := p.options.Client.Get(ctx, name, found)
	if apierrors.IsNotFound(err) {
		return nil, "its pod is being created", p.make(ctx, spec, name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("get pod %s: %w", name, err)
	}
	switch {
	case !owns(spec, found):
		return nil, "", notOurs(found, name)
	case stuck(found, p.options.Now()) && onClaim(found):
		return nil, "", fmt.Errorf("the pod that ran before hangs on the node %s, which does not answer, and holds the volume. A person must bring the node back, or make sure that it is off and delete the pod %s by force", found.Spec.NodeName, name)
	case found.DeletionTimestamp != nil || p.isLeaving(name, found.UID):
		return nil, "the pod that ran before is still ending", nil
	case over(found):
		return nil, ended(found), nil // the reconciler deletes it
	case !ready(found):
		words, hope := waitsFor(found)
		if !hope {
			return nil, "", errors.New(words)
		}
		return nil, words, nil
	}
	return p.connect(ctx, spec, name, found)
}

func (p *pods) isLeaving(name types.NamespacedName, uid types.UID) (leaving bool) {
	p.uses.with(name, func(one *use) { leaving = one.leaving == uid })
	return leaving
}

// connect opens a session with a ready pod.
func (p *pods) connect(ctx context.Context, spec pod.Spec, name types.NamespacedName, found *corev1.Pod) (*mcp.Session, string, error) {
	token, err := p.token(ctx, spec, name)
	if apierrors.IsNotFound(err) {
		// The pod is useless without its token.
		return nil, "its token is gone, and it is started anew", p.remove(ctx, found, false)
	}
	if err != nil {
		return nil, "", err
	}
	session := p.pool.Ensure(mcp.Server{
		Key: mcp.Key{Namespace: name.Namespace, Server: name.Name}, Revision: string(found.UID), Transport: mcp.StreamableHTTP, URL: spec.URL(),
		Headers: func(context.Context) (http.Header, error) {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		},
	})
	if status := session.Status(); !status.Ready {
		// Its Service or policy may have been deleted.
		return nil, "its pod is ready but does not answer yet: " + status.Message, p.refurnish(ctx, spec)
	}
	return session, "", nil
}
