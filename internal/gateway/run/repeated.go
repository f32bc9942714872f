// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// repeatWindow is how long a client may take to repeat a request without an idempotency key.
const repeatWindow = time.Hour

// StartOnce is Start for a request without an idempotency key. Clients repeat requests after some errors
// automatically, and not all of them mark a repetition. StartOnce returns the caller's newest run for exactly the same
// request that cannot start yet, or that is recent if the client marks the request as repeated.
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
	digest := wanted.Annotations[v1beta1.AnnotationRequest]
	tasks = slices.DeleteFunc(tasks, func(t v1beta1.AgentTask) bool {
		cannotStart := BlockedBy(&t) != "" && c.sameRequest(&t, t.Spec.User, digest)
		return !cannotStart && (!r.Repeated || !c.isRepeated(&t, t.Spec.User, digest))
	})
	if len(tasks) == 0 {
		return c.Start(ctx, r)
	}
	newest := slices.MaxFunc(tasks, func(a, b v1beta1.AgentTask) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &newest, false, nil
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
	messages := slices.DeleteFunc(list.Items, func(m v1beta1.AgentMessage) bool { return !c.isRepeated(&m, m.Spec.User, digest) })
	if len(messages) == 0 {
		return c.Send(ctx, m)
	}
	newest := slices.MaxFunc(messages, func(a, b v1beta1.AgentMessage) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &newest, false, nil
}

// isRepeated reports whether an object was created recently by the same caller for the same request.
func (c *Caller) isRepeated(object metav1.Object, user, digest string) bool {
	return c.sameRequest(object, user, digest) && c.connector.now().Sub(object.GetCreationTimestamp().Time) < repeatWindow
}

func (c *Caller) sameRequest(object metav1.Object, user, digest string) bool {
	return user == c.User && object.GetAnnotations()[v1beta1.AnnotationRequest] == digest
}
