// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// A recorded firing becomes work in four steps, each of which can be repeated:
//
//  1. create the task or message, with a name that follows from the firing, and with a finalizer. Its work does not start yet.
//  2. claim it: write its UID to the record.
//  3. release it: remove the finalizer of the object with that UID. Its work starts.
//  4. confirm: drop the record, with the next write of the status.
//
// A process that was paused before step 1 may create the object again after it ran and was deleted. That object is
// never claimed, because the record has another UID or is gone; it never starts, and is discarded.

// act brings the recorded firings of a trigger to work.
func (r *Reconciler) act(ctx context.Context, t *v1beta1.AgentTrigger) error {
	next := *t.Status.DeepCopy()
	changed := false
	for i := range next.Pending {
		p := &next.Pending[i]
		if p.UID != "" {
			continue
		}
		object, err := r.create(ctx, t, *p)
		var refused *refusal
		switch {
		case errors.As(err, &refused):
			next = unfire(next, i, refused, metav1.NewTime(r.Recorder.now()))
			if err := r.Recorder.write(ctx, t, r.Recorder.complete(t, next, r.Recorder.now())); err != nil {
				return err
			}
			r.Recorder.warn(t, string(refused.reason), "Firing was dropped: "+refused.Error())
			return r.act(ctx, t)
		case err != nil:
			return err
		}
		r.Recorder.reached(AfterCreate)
		p.UID, p.Target = string(object.GetUID()), nil
		changed = true
	}
	if changed {
		if err := r.Recorder.write(ctx, t, next); err != nil {
			return err
		}
		r.Recorder.reached(AfterClaim)
	}
	for _, p := range t.Status.Pending {
		if err := r.release(ctx, t, p); err != nil {
			return err
		}
	}
	return nil
}

// refusal is why a recorded firing can never become work.
type refusal struct {
	reason v1beta1.DropReason
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }

// unfire turns a recorded firing that cannot become work into a dropped one.
func unfire(next v1beta1.AgentTriggerStatus, i int, why *refusal, now metav1.Time) v1beta1.AgentTriggerStatus {
	p := next.Pending[i]
	next.Pending = slices.Delete(slices.Clone(next.Pending), i, i+1)
	next.Active = slices.DeleteFunc(slices.Clone(next.Active), func(name string) bool { return name == p.Name })
	next.Firings = max(0, next.Firings-1)
	if next.Dropped < math.MaxInt64 {
		next.Dropped++
	}
	next.LastDrop = &v1beta1.DroppedFiring{ID: p.ID, Time: now.Rfc3339Copy(), Reason: why.reason, Message: shorten.Head(why.Error(), 512)}
	return next
}

// create creates the object of a recorded firing, or returns the one that exists. Before it is claimed, it is held.
func (r *Reconciler) create(ctx context.Context, t *v1beta1.AgentTrigger, p v1beta1.PendingFiring) (client.Object, error) {
	if existing, err := r.Recorder.find(ctx, t, p.Kind, p.Name); err != nil || existing != nil && cluster.IsHeld(existing) {
		return existing, err
	}
	object, err := r.build(t, p)
	if err != nil {
		return nil, &refusal{v1beta1.DropRefused, err}
	}
	err = r.Client.Create(ctx, object)
	switch {
	case err == nil:
		return object, nil
	case apierrors.IsAlreadyExists(err):
		existing := newObject(p.Kind)
		if err := r.Recorder.API.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
			return nil, fmt.Errorf("get %s %s: %w", p.Kind, p.Name, err)
		}
		if !belongsTo(existing, t.UID) || !cluster.IsHeld(existing) {
			return nil, &refusal{v1beta1.DropNameTaken, fmt.Errorf("the %s %s belongs to another owner", p.Kind, p.Name)}
		}
		return existing, nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return nil, &refusal{v1beta1.DropRefused, fmt.Errorf("the API server refuses the %s: %w", p.Kind, err)}
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return nil, errors.Join(err, r.writeCondition(ctx, t, status.NotReady(t.Generation, v1beta1.ReasonCreationRefused, err.Error())))
	}
	return nil, fmt.Errorf("create %s %s/%s: %w", p.Kind, t.Namespace, p.Name, err)
}

// writeCondition writes the Ready condition of a trigger, for a problem that is not in its spec, or the end of one.
func (r *Reconciler) writeCondition(ctx context.Context, t *v1beta1.AgentTrigger, c metav1.Condition) error {
	next := *t.Status.DeepCopy()
	setCondition(&next, c)
	return r.Recorder.write(ctx, t, next)
}

func (r *Reconciler) build(t *v1beta1.AgentTrigger, p v1beta1.PendingFiring) (client.Object, error) {
	spec, err := trigger.Unpack(p.Target)
	if err != nil {
		return nil, err
	}
	about := metav1.ObjectMeta{
		Namespace: t.Namespace, Name: p.Name, Finalizers: []string{v1beta1.FinalizerFiring},
		Labels:      map[string]string{v1beta1.LabelTrigger: t.Name},
		Annotations: map[string]string{v1beta1.AnnotationFiring: string(t.UID) + "/" + p.ID},
	}
	if p.Kind == v1beta1.TargetMessage {
		message := &v1beta1.AgentMessage{ObjectMeta: about}
		if err := json.Unmarshal(spec, &message.Spec); err != nil {
			return nil, fmt.Errorf("read the recorded message: %w", err)
		}
		// The trigger owns the message while it is held. Then it belongs to its chat, and stays there when the trigger is
		// deleted.
		if err := controllerutil.SetOwnerReference(t, message, r.Client.Scheme()); err != nil {
			return nil, fmt.Errorf("own the message: %w", err)
		}
		return message, nil
	}
	task := &v1beta1.AgentTask{ObjectMeta: about}
	if err := json.Unmarshal(spec, &task.Spec); err != nil {
		return nil, fmt.Errorf("read the recorded task: %w", err)
	}
	task.Labels[v1beta1.LabelRole] = task.Spec.Role
	if p.Object != nil {
		to, err := json.Marshal(p.Object)
		if err != nil {
			return nil, fmt.Errorf("record the watched object: %w", err)
		}
		task.Annotations[v1beta1.AnnotationReportTo] = string(to)
	}
	if err := controllerutil.SetControllerReference(t, task, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("own the task: %w", err)
	}
	return task, nil
}

// release lets the work of a claimed object start.
func (r *Reconciler) release(ctx context.Context, t *v1beta1.AgentTrigger, p v1beta1.PendingFiring) error {
	if p.UID == "" {
		return nil
	}
	object, err := r.Recorder.find(ctx, t, p.Kind, p.Name)
	if err != nil || object == nil || string(object.GetUID()) != p.UID || !cluster.IsHeld(object) {
		return err
	}
	if err := r.removeFinalizer(ctx, object); err != nil {
		return err
	}
	r.Recorder.reached(AfterRelease)
	return nil
}

// removeFinalizer removes the finalizer of a task or message. A message then no longer belongs to the trigger.
func (r *Reconciler) removeFinalizer(ctx context.Context, object client.Object) error {
	controllerutil.RemoveFinalizer(object, v1beta1.FinalizerFiring)
	if message, ok := object.(*v1beta1.AgentMessage); ok {
		message.OwnerReferences = slices.DeleteFunc(message.OwnerReferences, func(o metav1.OwnerReference) bool {
			return string(o.UID) == cluster.TriggerUID(message)
		})
	}
	if err := client.IgnoreNotFound(r.Client.Update(ctx, object)); err != nil {
		return fmt.Errorf("release %T %s/%s: %w", object, object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// discard deletes the objects that were created for firings of a trigger name and are not claimed: duplicates, and
// those whose trigger is gone. Every object is observed before the record is read: a firing is recorded before its
// object is created. A claimed object is released before its record is removed, which the cache may not show yet, so
// only the version that was observed is deleted. Objects that no trigger owns lose the finalizer and nothing else: it
// was planted, or their trigger was deleted with --cascade=orphan.
func (r *Reconciler) discard(ctx context.Context, name types.NamespacedName) error {
	objects, err := r.held(ctx, name)
	if err != nil || len(objects) == 0 {
		return err
	}
	var t v1beta1.AgentTrigger
	if err := client.IgnoreNotFound(r.Recorder.API.Get(ctx, name, &t)); err != nil {
		return fmt.Errorf("get the trigger %s: %w", name, err)
	}
	for _, object := range objects {
		if !cluster.IsHeld(object) {
			if err := r.removeFinalizer(ctx, object); err != nil {
				return err
			}
			continue
		}
		expected := slices.ContainsFunc(t.Status.Pending, func(p v1beta1.PendingFiring) bool {
			return p.Name == object.GetName() && (p.UID == "" || p.UID == string(object.GetUID()))
		})
		if expected && belongsTo(object, t.UID) && t.DeletionTimestamp.IsZero() {
			continue
		}
		uid, version := object.GetUID(), object.GetResourceVersion()
		err := r.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the duplicate %T %s/%s: %w", object, object.GetNamespace(), object.GetName(), err)
		}
		if err := r.finishDeletion(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// finishDeletion removes the finalizer of an object that was deleted.
func (r *Reconciler) finishDeletion(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	if err := r.Recorder.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if object.GetUID() != uid || object.GetDeletionTimestamp().IsZero() || !cluster.IsHeld(object) {
		return nil
	}
	return r.removeFinalizer(ctx, object)
}

// held returns the cached tasks and messages with the finalizer of a firing and the label of a trigger name.
func (r *Reconciler) held(ctx context.Context, name types.NamespacedName) ([]client.Object, error) {
	which := []client.ListOption{client.InNamespace(name.Namespace), client.MatchingFields{cluster.HeldField: name.Name}}
	var tasks v1beta1.AgentTaskList
	var messages v1beta1.AgentMessageList
	for _, list := range []client.ObjectList{&tasks, &messages} {
		if err := r.Client.List(ctx, list, which...); err != nil {
			return nil, fmt.Errorf("list %T of trigger %s: %w", list, name, err)
		}
	}
	var objects []client.Object
	for i := range tasks.Items {
		objects = append(objects, &tasks.Items[i])
	}
	for i := range messages.Items {
		objects = append(objects, &messages.Items[i])
	}
	return objects, nil
}
