// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/push"
)

// sendItem sends an item of an orchestrator's outbox and records that it was sent. It reports whether it was.
func (r *Runner) sendItem(ctx context.Context, owner Owner, item agent.Item) (bool, error) {
	sent := agent.ItemSent{ID: item.ID}
	switch item.Kind {
	case agent.ItemPost:
		if posted, err := r.post(ctx, owner, item); err != nil || !posted {
			return false, err
		}
		sent.Name = item.PostName(owner.Chat)
	case agent.ItemReply, agent.ItemDecision:
		return false, nil // the engine delivers it to the agent that asked
	case agent.ItemHandled:
		if handled, err := r.isHandled(ctx, owner, item.Message); err != nil || !handled {
			return false, err
		}
	}
	return true, r.Engine.Deliver(string(owner.Object.GetUID()), sent)
}

// post creates a message of the main chat. Its name derives from its position in the chat, so it is created once. If
// another message has the name, the orchestrator chooses another one.
func (r *Runner) post(ctx context.Context, owner Owner, item agent.Item) (posted bool, err error) {
	message := messageOf(owner, item)
	// The ledger may not have recorded the post yet. Creating it again would count against quotas although it exists.
	if there, _ := hasPost(ctx, owner, message, r.Cached); there {
		return true, nil
	}
	cluster.SetRoot(message, owner.Object)
	if err := controllerutil.SetControllerReference(owner.Object, message, r.Client.Scheme()); err != nil {
		return false, fmt.Errorf("own message %s: %w", message.Name, err)
	}
	err = r.Client.Create(ctx, message)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.isPosted(ctx, owner, message, item)
	case IsRefused(err):
		// The API server checks quotas before names: the post may already exist and be the object that filled the quota.
		if there, _ := hasPost(ctx, owner, message, r.Live); there {
			return true, nil
		}
		return false, &PostRefusedError{Name: message.Name, Err: err}
	case err != nil:
		return false, fmt.Errorf("post message %s: %w", message.Name, err)
	}
	return true, nil
}

func messageOf(owner Owner, item agent.Item) *v1beta1.AgentMessage {
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{
		Namespace: owner.Object.GetNamespace(), Name: item.PostName(owner.Chat), Labels: map[string]string{v1beta1.LabelChat: owner.Chat},
	}}
	message.Spec = v1beta1.AgentMessageSpec{Chat: owner.Chat, Role: v1beta1.RoleAssistant, Content: item.Text, Task: item.Task, InReplyTo: item.InReplyTo}
	for name, value := range map[string]string{
		v1beta1.AnnotationCall: item.Call, v1beta1.AnnotationArgumentsDigest: item.Digest, v1beta1.AnnotationNotice: noticeOf(item),
		v1beta1.AnnotationStopped: marked(item.Stopped), v1beta1.AnnotationTruncated: marked(item.Truncated),
	} {
		if value != "" {
			metav1.SetMetaDataAnnotation(&message.ObjectMeta, name, value)
		}
	}
	if item.System {
		message.Spec.Role = v1beta1.RoleSystem
	}
	return message
}

func marked(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// noticeOf returns what receivers of notifications are notified of, or "". Its number is that of the post.
func noticeOf(item agent.Item) string {
	number, err := strconv.ParseInt(strings.TrimPrefix(item.ID, "post/"), 10, 64)
	if item.Notice == "" || err != nil {
		return ""
	}
	notice := push.Notice{Sequence: number, State: v1beta1.NotifyState(item.Notice)}
	if item.Notice == agent.NoticeWaiting {
		notice.Waiting = &push.Waiting{Kind: v1beta1.WaitingQuestion, Task: item.Task, Tool: push.ToolName(item.Tool), DenyRequesters: item.DenyRequesters}
		if item.Digest != "" {
			notice.Waiting.Kind = v1beta1.WaitingApproval
		}
		if item.Call != item.Task { // the call of a task of type Tool has the task's name; it has no agent
			notice.Waiting.SubAgent = item.Agent
		}
	}
	text, err := json.Marshal(notice)
	if err != nil {
		return "" // impossible: it has only text and numbers
	}
	return string(text)
}

func (r *Runner) isPosted(ctx context.Context, owner Owner, message *v1beta1.AgentMessage, item agent.Item) (bool, error) {
	if there, err := hasPost(ctx, owner, message, r.Live); err != nil || there {
		return there, err
	}
	uid := owner.Object.GetUID()
	return false, r.Engine.Deliver(string(uid), agent.NameTaken{Name: message.Name, Item: item.ID, Suffix: cluster.Suffix(uid, message.Name)})
}

// hasPost reports whether the message of a post exists. A message of the chat with its name and another content is not
// that post: after a loss of events the orchestrator uses the name again. A missing message is an error: it may have
// just been deleted.
func hasPost(ctx context.Context, owner Owner, post *v1beta1.AgentMessage, read cluster.Read) (bool, error) {
	var message v1beta1.AgentMessage
	if err := read(ctx, client.ObjectKeyFromObject(post), &message); err != nil {
		return false, fmt.Errorf("get message %s: %w", post.Name, err)
	}
	valid := func(text string) string { return string([]rune(text)) } // as JSON encodes it
	same := valid(message.Spec.Content) == valid(post.Spec.Content) && message.Spec.Role == post.Spec.Role &&
		message.Spec.Task == post.Spec.Task && message.Spec.InReplyTo == post.Spec.InReplyTo &&
		message.Annotations[v1beta1.AnnotationCall] == post.Annotations[v1beta1.AnnotationCall]
	return same && metav1.IsControlledBy(&message, owner.Object), nil
}

// PostRefusedError reports that the API server rejected a message of the chat.
type PostRefusedError struct {
	Name string
	Err  error
}

func (e *PostRefusedError) Error() string { return fmt.Sprintf("post message %s: %s", e.Name, e.Err) }

// Unwrap returns the API server's error.
func (e *PostRefusedError) Unwrap() error { return e.Err }

// isHandled reports whether the status of a message that a turn has taken shows that it was handled. A message that was
// deleted, or belongs to another chat, needs no status. The message controller writes the status; the chat is
// reconciled again after that.
func (r *Runner) isHandled(ctx context.Context, owner Owner, name string) (bool, error) {
	key := types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}
	var message v1beta1.AgentMessage
	if err := r.Find(ctx, key, &message); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if cluster.OwnedByOther(&message, owner.Object) || cluster.HasFinalPhase(&message) {
		return true, nil
	}
	r.MessageTaken(key)
	return false, nil
}
