// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
)

type Message struct {
	Namespace, Chat, Content string
	// InReplyTo is the posted question that the message answers.
	InReplyTo   string
	Attachments []v1beta1.Attachment
	// Key is an idempotency key; see [Request].
	Key, Door string
}

// Send sends a message to a chat. It reports false if an earlier request with the same key did.
func (c *Caller) Send(ctx context.Context, m Message) (_ *v1beta1.AgentMessage, created bool, err error) {
	return c.post(ctx, posting{namespace: m.Namespace, about: m.Chat, key: m.Key, door: m.Door, spec: m.spec()})
}

func (m Message) spec() v1beta1.AgentMessageSpec {
	return v1beta1.AgentMessageSpec{Chat: m.Chat, Content: m.Content, InReplyTo: m.InReplyTo, Attachments: m.Attachments}
}

func (c *Caller) authored(spec v1beta1.AgentMessageSpec) v1beta1.AgentMessageSpec {
	spec.Role, spec.User = v1beta1.RoleUser, c.User
	return spec
}

func (c *Caller) Answer(ctx context.Context, ask Ask, text, key string) error {
	_, _, err := c.post(ctx, answerTo(ask, key, v1beta1.AgentMessageSpec{Content: text, InReplyTo: ask.Message}))
	return err
}

// Decide approves or denies the tool call that the client was shown. It returns the name of the message with the
// decision.
func (c *Caller) Decide(ctx context.Context, ask Ask, d Decision, key string) (message string, err error) {
	if err := ask.checkShown(d); err != nil {
		return "", err
	}
	resource := v1beta1.GroupVersion.WithResource("agentmessages").GroupResource()
	if err := ask.CheckMayDecide(c.User); err != nil {
		return "", apierrors.NewForbidden(resource, ask.Task, err)
	}
	decision := &v1beta1.Approval{Task: ask.Task, ToolCall: ask.Call, ArgumentsDigest: ask.Digest, Decision: v1beta1.DecisionDeny, Comment: d.Comment}
	if d.Approve {
		decision.Decision = v1beta1.DecisionApprove
	}
	if ask.edits(d) {
		decision.Arguments = d.Arguments
	}
	posted, _, err := c.post(ctx, answerTo(ask, key, v1beta1.AgentMessageSpec{Approval: decision}))
	if err != nil {
		return "", err
	}
	if !ask.DenyRequesters && decision.Arguments == "" {
		return posted.Name, nil
	}
	// Only the operator has the data to check separation and edits, such as the schema of a tool. If it rejects the
	// decision, the run waits for another one, and a response that follows the run would not end.
	limited, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	if rejected := c.WaitForRejection(limited, ask.Namespace, posted.Name); rejected != nil {
		return "", apierrors.NewForbidden(resource, posted.Name, rejected)
	}
	return posted.Name, nil
}

// decisionTimeout limits how long a decision that only the operator can check waits for it.
const decisionTimeout = 10 * time.Second

// Cancel cancels a standalone task with everything below it.
func (c *Caller) Cancel(ctx context.Context, namespace, task, key string) error {
	_, _, err := c.post(ctx, posting{namespace: namespace, about: task, key: key, spec: v1beta1.AgentMessageSpec{Task: task, Cancel: &v1beta1.Cancel{}}})
	return err
}

// CancelChat cancels all the work of a chat. It returns the name of the message.
func (c *Caller) CancelChat(ctx context.Context, namespace, chat, key string) (message string, err error) {
	posted, _, err := c.post(ctx, posting{namespace: namespace, about: chat, key: key, spec: v1beta1.AgentMessageSpec{Chat: chat, Cancel: &v1beta1.Cancel{}}})
	if err != nil {
		return "", err
	}
	return posted.Name, nil
}

// MessageName returns the name of the message that a request with an idempotency key creates about a standalone task
// or in a chat.
func (c *Caller) MessageName(namespace, about, key string) string {
	return c.name(about, namespace, "message/"+about, key)
}

type RejectedError struct{ Reason, Message string }

func (e *RejectedError) Error() string {
	return "the message was rejected (" + e.Reason + "): " + e.Message
}

// Rejection returns why a message was rejected, or nil if it was not.
func Rejection(m *v1beta1.AgentMessage) *RejectedError {
	if m.Status.Phase != v1beta1.MessageRejected {
		return nil
	}
	rejected := &RejectedError{Reason: m.Status.Reason}
	if c := meta.FindStatusCondition(m.Status.Conditions, v1beta1.ConditionSucceeded); c != nil {
		rejected.Message = c.Message
	}
	return rejected
}

// WaitForRejection waits until a message is handled or rejected. It returns nil if the message is handled or cannot be
// read: the run itself shows whether it continues.
func (c *Caller) WaitForRejection(ctx context.Context, namespace, name string) *RejectedError {
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if handled, err := kubewatch.Until(ctx, c.API, message, &v1beta1.AgentMessageList{}, func(m *v1beta1.AgentMessage) bool {
		return m.Status.Phase != "" && m.Status.Phase != v1beta1.MessagePending
	}); err == nil {
		return Rejection(handled)
	}
	return nil
}

// HasAnswered reports whether the caller has sent a message about a run with this idempotency key. ask is the ID of
// the ask that the message answers.
func (c *Caller) HasAnswered(ctx context.Context, namespace, about, key string) (ask string, answered bool, err error) {
	var message v1beta1.AgentMessage
	err = c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.MessageName(namespace, about, key)}, &message)
	if err != nil || message.Spec.User != c.User { // anyone can create a message with this name
		return "", false, client.IgnoreNotFound(err)
	}
	return message.Annotations[v1beta1.AnnotationAnswers], true, nil
}

// posting is a message to be created about a chat or task.
type posting struct {
	namespace, about, key, door string
	// answers is the ID of the ask that the message answers.
	answers string
	spec    v1beta1.AgentMessageSpec
}

func answerTo(ask Ask, key string, spec v1beta1.AgentMessageSpec) posting {
	if spec.Chat = ask.Chat; ask.Chat == "" {
		spec.Task = ask.Task
	}
	return posting{namespace: ask.Namespace, about: cmp.Or(ask.Root, ask.Task), key: key, door: ask.Door, answers: ask.ID(), spec: spec}
}

// post creates a message. It reports false if an earlier request with the same key did.
func (c *Caller) post(ctx context.Context, p posting) (_ *v1beta1.AgentMessage, created bool, err error) {
	if err := checkKey(p.key); err != nil {
		return nil, false, err
	}
	p.spec = c.authored(p.spec)
	digest, err := digestOf(p.spec)
	if err != nil {
		return nil, false, err
	}
	message := &v1beta1.AgentMessage{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: c.MessageName(p.namespace, p.about, p.key), Annotations: map[string]string{v1beta1.AnnotationRequest: digest},
		},
		Spec: p.spec,
	}
	if p.answers != "" {
		message.Annotations[v1beta1.AnnotationAnswers] = p.answers
	}
	if p.door != "" {
		message.Labels = map[string]string{v1beta1.LabelDoor: p.door}
	}
	err = c.API.Create(ctx, message)
	if err == nil || !apierrors.IsAlreadyExists(err) || p.key == "" {
		return message, err == nil, err
	}
	existing := &v1beta1.AgentMessage{}
	if err := c.API.Get(ctx, client.ObjectKeyFromObject(message), existing); err != nil {
		return nil, false, err
	}
	if same, err := c.isSame(ctx, existing, message); err != nil || !same {
		return nil, false, cmp.Or(err, ErrKeyReused)
	}
	return existing, false, nil
}

// isSame reports whether an existing message is the wanted one: it has the same spec and belongs to the same chat or
// task. Its name and its digest prove nothing, because anyone with permission to create messages can choose both.
func (c *Caller) isSame(ctx context.Context, existing, wanted *v1beta1.AgentMessage) (bool, error) {
	if !equality.Semantic.DeepEqual(existing.Spec, wanted.Spec) || !existing.DeletionTimestamp.IsZero() {
		return false, nil
	}
	ref := metav1.GetControllerOf(existing)
	if ref == nil {
		return true, nil // the operator has not processed it yet
	}
	var owner client.Object = &v1beta1.AgentChat{}
	if existing.Spec.StandaloneTask() != "" {
		owner = &v1beta1.AgentTask{}
	}
	err := c.API.Get(ctx, client.ObjectKey{Namespace: existing.Namespace, Name: cmp.Or(existing.Spec.Chat, existing.Spec.StandaloneTask())}, owner)
	if apierrors.IsForbidden(err) {
		return true, nil // the name of the owner, which is in the spec, has to suffice
	}
	return err == nil && owner.GetUID() == ref.UID, client.IgnoreNotFound(err)
}
