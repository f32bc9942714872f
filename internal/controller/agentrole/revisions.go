// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentrole

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// historyLimit is the number of revisions of a role that are kept besides those in use.
	historyLimit = 10
	// maxRevisionBytes is the size of the largest revision that is kept. An object of the API server has at most 1.5 MiB.
	maxRevisionBytes = 1 << 20
	// maxRequest and maxUser are the bounds of the API for what the status has of the annotations.
	maxRequest = 128
	maxUser    = 253
)

// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=nestor.dev,resources=agentroles/finalizers,verbs=update

// Cache restricts the cache to the ControllerRevisions of roles, whose metadata is cached.
func Cache(options cache.Options) cache.Options {
	selector := labels.NewSelector()
	if exists, err := labels.NewRequirement(v1beta1.LabelRevision, selection.Exists, nil); err == nil { // the arguments are constant
		selector = selector.Add(*exists)
	}
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[&appsv1.ControllerRevision{}] = cache.ByObject{Label: selector}
	return options
}

// revise keeps the current revision of a role, and returns what decides about its promotion. read is invalid if readErr
// is not nil.
func (r *Reconciler) revise(ctx context.Context, object *v1beta1.AgentRole, read role.Role, readErr error) (promotion, error) {
	p := promotion{Name: object.Name, Gated: r.Finder.Gated(object), User: shorten.Head(object.Annotations[v1beta1.AnnotationPromoteUser], maxUser),
		Request: shorten.Head(object.Annotations[v1beta1.AnnotationPromote], maxRequest)}
	if r.Finder.BuiltIn(object) {
		return p, nil
	}
	var err error
	if p.EvaluationName, p.Evaluation, err = r.evaluationOf(ctx, object); err != nil {
		return p, err
	}
	if p.Kept, err = r.keptRevisions(ctx, object); err != nil || readErr != nil {
		return p, err
	}
	data, current, err := read.Snapshot()
	if err != nil {
		return p, err
	}
	p.Current = current
	if slices.Contains(p.Kept, current) {
		return p, nil
	}
	if len(data) > maxRevisionBytes {
		p.Unkept = fmt.Sprintf("The role has %d bytes with its includes and skills, and a gated role may have at most %d: shorten them, or remove spec.promotion.", len(data), maxRevisionBytes)
		return p, nil
	}
	kept, err := r.keepRevision(ctx, object, current, data)
	if apierrors.IsAlreadyExists(err) { // its deletion enqueues the role
		p.Unkept = fmt.Sprintf("The ControllerRevision %s belongs to another object, for example to a role of the same name that is being deleted: delete it.", resolve.RevisionName(object.Name, current))
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Kept = kept
	return p, nil
}

// keptRevisions returns the revisions of a role in the cache, newest first.
func (r *Reconciler) keptRevisions(ctx context.Context, object *v1beta1.AgentRole) ([]string, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := r.Client.List(ctx, &list, client.InNamespace(object.Namespace), client.MatchingLabels{v1beta1.LabelRole: object.Name}); err != nil {
		return nil, fmt.Errorf("list the revisions of role %s/%s: %w", object.Namespace, object.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var kept []string
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], object) {
			kept = append(kept, list.Items[i].Labels[v1beta1.LabelRevision])
		}
	}
	return kept, nil
}

// keepRevision creates the ControllerRevision of a revision that the cache does not have, deletes the oldest ones that
// nothing needs, and returns those that are left, newest first.
func (r *Reconciler) keepRevision(ctx context.Context, object *v1beta1.AgentRole, revision string, data []byte) ([]string, error) {
	all, err := r.liveRevisions(ctx, object)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(c appsv1.ControllerRevision) bool { return c.Labels[v1beta1.LabelRevision] == revision }) {
		created, err := r.createRevision(ctx, object, revision, data, all)
		if err != nil {
			return nil, err
		}
		all = slices.Insert(all, 0, *created)
	}
	var kept []string
	for i := range all {
		kept = append(kept, all[i].Labels[v1beta1.LabelRevision])
	}
	if len(kept) <= historyLimit {
		return kept, nil
	}
	used, err := r.usedRevisions(ctx, object)
	if err != nil {
		return nil, err
	}
	for _, old := range slices.Clone(kept[historyLimit:]) {
		if old == revision || used[old] {
			continue
		}
		i := slices.Index(kept, old)
		err := r.Client.Delete(ctx, &all[i], client.Preconditions{UID: &all[i].UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("delete the revision %s of role %s/%s: %w", old, object.Namespace, object.Name, err)
		}
		kept, all = slices.Delete(kept, i, i+1), slices.Delete(all, i, i+1)
	}
	return kept, nil
}

// liveRevisions reads the ControllerRevisions of a role from the API server, newest first.
func (r *Reconciler) liveRevisions(ctx context.Context, object *v1beta1.AgentRole) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := r.Finder.Live.List(ctx, &list, client.InNamespace(object.Namespace), client.MatchingLabels{v1beta1.LabelRole: object.Name}); err != nil {
		return nil, fmt.Errorf("list the revisions of role %s/%s: %w", object.Namespace, object.Name, err)
	}
	all := slices.DeleteFunc(list.Items, func(c appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&c, object) })
	slices.SortFunc(all, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
	return all, nil
}

func (r *Reconciler) createRevision(ctx context.Context, object *v1beta1.AgentRole, revision string, data []byte, before []appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	created := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: resolve.RevisionName(object.Name, revision),
			Labels: map[string]string{v1beta1.LabelRole: object.Name, v1beta1.LabelRevision: revision}},
		Data:     runtime.RawExtension{Raw: data},
		Revision: 1,
	}
	if len(before) > 0 {
		created.Revision = before[0].Revision + 1
	}
	if err := controllerutil.SetControllerReference(object, created, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own the revision %s: %w", created.Name, err)
	}
	if err := r.Client.Create(ctx, created); err != nil {
		return nil, fmt.Errorf("create the revision %s of role %s/%s: %w", revision, object.Namespace, object.Name, err)
	}
	r.Reached(AfterRevision)
	return created, nil
}

// usedRevisions returns the revisions of a role that a user may go back to, or that a live tree has pinned.
func (r *Reconciler) usedRevisions(ctx context.Context, object *v1beta1.AgentRole) (map[string]bool, error) {
	wanted, _, _ := strings.Cut(object.Annotations[v1beta1.AnnotationPromote], "/")
	used := map[string]bool{object.Status.PromotedRevision: true, object.Status.PreviousRevision: true, wanted: true}
	in := client.InNamespace(r.Finder.ReferringNamespace(object.Namespace))
	add := func(pins []v1beta1.RoleRevision) {
		for _, pin := range pins {
			if pin.Role == object.Name {
				used[pin.Revision] = true
			}
		}
	}
	var tasks v1beta1.AgentTaskList
	if err := r.Client.List(ctx, &tasks, in, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the tasks that use role %s/%s: %w", object.Namespace, object.Name, err)
	}
	for i := range tasks.Items {
		if tasks.Items[i].Status.CompletionTime == nil {
			add(tasks.Items[i].Status.PinnedRevisions)
		}
	}
	var chats v1beta1.AgentChatList
	if err := r.Client.List(ctx, &chats, in, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the chats that use role %s/%s: %w", object.Namespace, object.Name, err)
	}
	for i := range chats.Items {
		add(chats.Items[i].Status.PinnedRevisions)
	}
	return used, nil
}
