// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

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
		if posted, err := r.post(ctx, owner, item); err != nil || !posted {
			return err
		}
	case agent.ItemReply:
		return nil // the engine takes it to the agent that asked
	case agent.ItemHandled:
		err = r.settle(ctx, owner, item.Message, v1alpha1.MessageHandled, v1alpha1.ReasonHandled, "The message was taken into a turn.")
	}
	if err != nil {
		return err
	}
	return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ItemSent{ID: item.ID})
}

// post creates a message of the main chat. Its name derives from its place in the chat, so it is created once. If somebody else's
// message has the name, the orchestrator chooses another one.
func (r *Runner) post(ctx context.Context, owner Owner, item agent.Item) (posted bool, err error) {
	// The ledger may be slow to note that it was posted. To create it once more would be counted by quotas, although it is there.
	if there, _ := hasPost(ctx, owner, item.PostName(owner.Chat), r.cached); there {
		return true, nil
	}
	message := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{
		Namespace: owner.Object.GetNamespace(), Name: item.PostName(owner.Chat), Labels: map[string]string{v1alpha1.LabelChat: owner.Chat},
	}}
	message.Spec = v1alpha1.AgentMessageSpec{Chat: owner.Chat, Role: v1alpha1.RoleAssistant, Content: item.Text, About: item.About, InReplyTo: item.InReplyTo}
	if item.Call != "" {
		message.Annotations = map[string]string{v1alpha1.AnnotationCall: item.Call}
	}
	if item.Digest != "" {
		message.Annotations[v1alpha1.AnnotationArgumentsDigest] = item.Digest
	}
	if item.System {
		message.Spec.Role = v1alpha1.RoleSystem
	}
	if err := controllerutil.SetControllerReference(owner.Object, message, r.Client.Scheme()); err != nil {
		return false, fmt.Errorf("own message %s: %w", message.Name, err)
	}
	err = r.Client.Create(ctx, message)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.posted(ctx, owner, item)
	case Refused(err):
		// A quota is looked at before the name: the post may be there already, and be what filled the quota.
		if there, _ := hasPost(ctx, owner, message.Name, r.live); there {
			return true, nil
		}
		return false, &PostRefusedError{Name: message.Name, Err: err}
	case err != nil:
		return false, fmt.Errorf("post message %s: %w", message.Name, err)
	}
	return true, nil
}

// posted says whether the message that has the name of a post is the post.
func (r *Runner) posted(ctx context.Context, owner Owner, item agent.Item) (bool, error) {
	name, uid := item.PostName(owner.Chat), owner.Object.GetUID()
	if there, err := hasPost(ctx, owner, name, r.live); err != nil || there {
		return there, err
	}
	return false, r.Engine.Deliver(string(uid), agent.NameTaken{Name: name, Item: item.ID, Suffix: Suffix(uid, name)})
}

// hasPost says whether a message is a post of the chat. One that is not there is an error: it may have gone this moment.
func hasPost(ctx context.Context, owner Owner, name string, read reader) (bool, error) {
	var found v1alpha1.AgentMessage
	if err := read(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}, &found); err != nil {
		return false, fmt.Errorf("get message %s: %w", name, err)
	}
	return metav1.IsControlledBy(&found, owner.Object) && found.Spec.Role != v1alpha1.RoleUser, nil
}

// PostRefusedError says that the API server does not take a message of the chat.
type PostRefusedError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *PostRefusedError) Error() string { return fmt.Sprintf("post message %s: %s", e.Name, e.Err) }

// Unwrap returns the API server's words.
func (e *PostRefusedError) Unwrap() error { return e.Err }

// settle says what became of a message. One that is gone needs no answer, and neither does one of another chat.
func (r *Runner) settle(ctx context.Context, owner Owner, name string, phase v1alpha1.MessagePhase, reason, words string) error {
	var message v1alpha1.AgentMessage
	if err := r.Find(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}, &message); err != nil {
		return client.IgnoreNotFound(err)
	}
	if Foreign(&message, owner.Object) {
		return nil
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
