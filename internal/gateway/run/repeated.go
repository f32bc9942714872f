// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// repeatWindow is how long a client may take to repeat a request without an idempotency key.
const repeatWindow = time.Hour

// StartOnce is Start for a request without an idempotency key. Clients repeat requests after some errors
// automatically, and not all of them mark a repetition. It returns the newest run of the same caller for exactly the same request if
// that run cannot start yet, or if the client marks the request as repeated and the run is recent.
func (c *Caller) StartOnce(ctx context.Context, r Request) (*v1beta1.AgentTask, bool, error) {
	wanted, err := c.task(r)
	if err != nil {
		return nil, false, err
	}
	tasks, err := c.Tasks(ctx, r.Namespace, labels.SelectorFromSet(wanted.Labels))
	if !r.Repeated {
		err = ignoreForbidden(err) // a caller that cannot list tasks can start them
	}
	if err != nil {
		return nil, false, err
	}
	var existing *v1beta1.AgentTask
	for i := range tasks {
		task := &tasks[i]
		same := BlockedBy(task) != "" && c.sameRequest(task, task.Spec.User, wanted.Annotations) ||
			r.Repeated && c.isRepeated(task, task.Spec.User, wanted.Annotations)
		if same && (existing == nil || existing.CreationTimestamp.Before(&task.CreationTimestamp)) {
			existing = task
		}
	}
	if existing != nil {
		return existing, false, nil
	}
	return c.Start(ctx, r)
}

// SendOnce is Send for a message that the client marks as repeated; see StartOnce.
func (c *Caller) SendOnce(ctx context.Context, m Message) (*v1beta1.AgentMessage, bool, error) {
	digest, err := digestOf(c.authored(m.spec()))
	if err != nil {
		return nil, false, err
	}
	var list v1beta1.AgentMessageList
	if err := c.API.List(ctx, &list, client.InNamespace(m.Namespace), client.MatchingLabels{v1beta1.LabelDoor: m.Door}); err != nil {
		return nil, false, err
	}
	var existing *v1beta1.AgentMessage
	for i := range list.Items {
		message := &list.Items[i]
		if c.isRepeated(message, message.Spec.User, map[string]string{v1beta1.AnnotationRequest: digest}) && (existing == nil || existing.CreationTimestamp.Before(&message.CreationTimestamp)) {
			existing = message
		}
	}
	if existing != nil {
		return existing, false, nil
	}
	return c.Send(ctx, m)
}

// isRepeated reports whether an object was created recently by the same caller for the same request.
func (c *Caller) isRepeated(object metav1.Object, user string, wanted map[string]string) bool {
	return c.sameRequest(object, user, wanted) && c.connector.now().Sub(object.GetCreationTimestamp().Time) < repeatWindow
}

// sameRequest reports whether an object was created by the same caller for the same request.
func (c *Caller) sameRequest(object metav1.Object, user string, wanted map[string]string) bool {
	return user == c.User && object.GetAnnotations()[v1beta1.AnnotationRequest] == wanted[v1beta1.AnnotationRequest]
}
