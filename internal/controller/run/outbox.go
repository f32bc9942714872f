// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/tree"
	"github.com/nestor-dev/nestor/internal/controller/watch"
)

// sendItem sends an item of an orchestrator's outbox and records that it was sent.
func (r *Runner) sendItem(ctx context.Context, owner Owner, item agent.Item) error {
	switch item.Kind {
	case agent.ItemPost:
		if posted, err := r.post(ctx, owner, item); err != nil || !posted {
			return err
		}
	case agent.ItemReply, agent.ItemDecision:
		return nil // the engine delivers it to the agent that asked
	case agent.ItemHandled:
		if handled, err := r.isHandled(ctx, owner, item.Message); err != nil || !handled {
			return err
		}
	}
	return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ItemSent{ID: item.ID})
}

// post creates a message of the main chat. Its name derives from its position in the chat, so it is created once. If another message has
// the name, the orchestrator chooses another one.
func (r *Runner) post(ctx context.Context, owner Owner, item agent.Item) (posted bool, err error) {
	// The ledger may not have recorded the post yet. Creating it again would count against quotas although it exists.
	if there, _ := hasPost(ctx, owner, item.PostName(owner.Chat), r.Cached); there {
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
	if item.Stopped {
		message.Annotations = map[string]string{v1alpha1.AnnotationStopped: "true"}
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
		return r.isPosted(ctx, owner, item)
	case IsRefused(err):
		// The API server checks quotas before names: the post may already exist and be the object that filled the quota.
		if there, _ := hasPost(ctx, owner, message.Name, r.Live); there {
			return true, nil
		}
		return false, &PostRefusedError{Name: message.Name, Err: err}
	case err != nil:
		return false, fmt.Errorf("post message %s: %w", message.Name, err)
	}
	return true, nil
}

// isPosted reports whether the message with the name of a post is that post.
func (r *Runner) isPosted(ctx context.Context, owner Owner, item agent.Item) (bool, error) {
	name, uid := item.PostName(owner.Chat), owner.Object.GetUID()
	if there, err := hasPost(ctx, owner, name, r.Live); err != nil || there {
		return there, err
	}
	return false, r.Engine.Deliver(string(uid), agent.NameTaken{Name: name, Item: item.ID, Suffix: tree.Suffix(uid, name)})
}

// hasPost reports whether a message is a post of the chat. A missing message is an error: it may have just been deleted.
func hasPost(ctx context.Context, owner Owner, name string, read tree.Read) (bool, error) {
	var found v1alpha1.AgentMessage
	if err := read(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}, &found); err != nil {
		return false, fmt.Errorf("get message %s: %w", name, err)
	}
	return metav1.IsControlledBy(&found, owner.Object) && found.Spec.Role != v1alpha1.RoleUser, nil
}

// PostRefusedError reports that the API server rejected a message of the chat.
type PostRefusedError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *PostRefusedError) Error() string { return fmt.Sprintf("post message %s: %s", e.Name, e.Err) }

// Unwrap returns the API server's error.
func (e *PostRefusedError) Unwrap() error { return e.Err }

// isHandled reports whether the status of a message that a turn has taken shows that it was handled. A message that was deleted, or belongs
// to another chat, needs no status. The message controller writes the status; the chat is reconciled again after that.
func (r *Runner) isHandled(ctx context.Context, owner Owner, name string) (bool, error) {
	key := types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}
	var message v1alpha1.AgentMessage
	if err := r.Find(ctx, key, &message); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if tree.OwnedByOther(&message, owner.Object) || watch.HasFinalPhase(&message) {
		return true, nil
	}
	r.MessageTaken(key)
	return false, nil
}
