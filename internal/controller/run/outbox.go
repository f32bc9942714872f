// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// deliver takes something out of an orchestrator's outbox to where it belongs, and says so.
func (r *Runner) deliver(ctx context.Context, owner Owner, item agent.Item) error {
	var err error
	switch item.Kind {
	case agent.ItemPost:
		err = r.post(ctx, owner, item)
	case agent.ItemReply:
		err = r.reply(ctx, owner, item)
	case agent.ItemHandled:
		err = r.Settle(ctx, owner.Object.GetNamespace(), item.Message, v1alpha1.MessageHandled, v1alpha1.ReasonHandled, "The message was taken into a turn.")
	case agent.ItemRejected:
		err = r.Settle(ctx, owner.Object.GetNamespace(), item.Message, v1alpha1.MessageRejected, item.Reason, rejections[item.Reason])
	}
	if err != nil {
		return err
	}
	return r.Engine.Deliver(string(owner.Object.GetUID()), agent.Delivered{ID: item.ID})
}

var rejections = map[string]string{
	v1alpha1.ReasonTaskNotFound: "The chat has no task of that name.",
	v1alpha1.ReasonTaskFinished: "The task has ended already.",
}

// post creates a message of the main chat. Its name derives from its place in the chat, so it is created once.
func (r *Runner) post(ctx context.Context, owner Owner, item agent.Item) error {
	message := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{
		Namespace: owner.Object.GetNamespace(), Name: owner.Chat + "-" + strings.ReplaceAll(item.ID, "/", "-"),
		Labels: map[string]string{v1alpha1.LabelChat: owner.Chat},
	}}
	message.Spec = v1alpha1.AgentMessageSpec{Chat: owner.Chat, Role: v1alpha1.RoleAssistant, Content: item.Text, About: item.About, InReplyTo: item.InReplyTo}
	if item.Call != "" {
		message.Annotations = map[string]string{v1alpha1.AnnotationCall: item.Call}
	}
	if item.System {
		message.Spec.Role = v1alpha1.RoleSystem
	}
	if err := controllerutil.SetControllerReference(owner.Object, message, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own message %s: %w", message.Name, err)
	}
	if err := r.Client.Create(ctx, message); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("post message %s: %w", message.Name, err)
	}
	return nil
}

// reply gives an agent the answer to its question. An agent that is gone needs none.
func (r *Runner) reply(ctx context.Context, owner Owner, item agent.Item) error {
	uid, err := r.TaskUID(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: item.Agent})
	if err != nil || uid == "" {
		return err
	}
	return r.Engine.Record(ctx, uid, agent.Answered{Call: item.Call, Text: item.Text})
}

// Settle says what became of a message. One that is gone needs no answer.
func (r *Runner) Settle(ctx context.Context, namespace, name string, phase v1alpha1.MessagePhase, reason, words string) error {
	var message v1alpha1.AgentMessage
	if err := r.Find(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &message); err != nil {
		return client.IgnoreNotFound(err)
	}
	return r.SettleMessage(ctx, &message, phase, reason, words)
}

// SettleMessage says what became of a message that has been read.
func (r *Runner) SettleMessage(ctx context.Context, message *v1alpha1.AgentMessage, phase v1alpha1.MessagePhase, reason, words string) error {
	condition := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason, Message: words, ObservedGeneration: message.Generation}
	switch phase {
	case v1alpha1.MessageHandled:
		condition.Status = metav1.ConditionTrue
	case v1alpha1.MessageRejected:
		condition.Status = metav1.ConditionFalse
	}
	changed := meta.SetStatusCondition(&message.Status.Conditions, condition)
	if !changed && message.Status.Phase == phase && message.Status.Reason == reason {
		return nil
	}
	message.Status.Phase, message.Status.Reason = phase, reason
	if err := client.IgnoreNotFound(r.Client.Status().Update(ctx, message)); err != nil {
		return fmt.Errorf("settle message %s/%s: %w", message.Namespace, message.Name, err)
	}
	return nil
}
