// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
)

// post creates a message. Everything that a user sends is one.
func (s *session) post(ctx context.Context, spec v1beta1.AgentMessageSpec) (*v1beta1.AgentMessage, error) {
	user, err := s.user(ctx)
	if err != nil {
		return nil, err
	}
	spec.User = user // approvals depend on who requested the work
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: spec.Chat + spec.StandaloneTask() + "-"}, Spec: spec}
	if spec.Chat != "" {
		// The operator would add the label later. With it, watches of the chat receive the message at once.
		message.Labels = map[string]string{v1beta1.LabelChat: spec.Chat}
	}
	if err := s.api.Create(ctx, message); err != nil {
		return nil, fmt.Errorf("send the message: %w", err)
	}
	return message, nil
}

// operatorWait is what a command waited for when it timed out.
const operatorWait = "waiting for the operator; `kubectl nestor doctor` checks whether it is running"

// postAndWait creates a message, and waits until the operator has handled it.
func (s *session) postAndWait(ctx context.Context, spec v1beta1.AgentMessageSpec) (*v1beta1.AgentMessage, error) {
	message, err := s.post(ctx, spec)
	if err != nil {
		return nil, err
	}
	return message, s.waitHandled(ctx, message)
}

// printSent prints a message if a format was chosen, and otherwise the object that it was about.
func (s *session) printSent(flags *printFlags, message *v1beta1.AgentMessage, about client.Object) error {
	if flags.format != "" {
		return s.print(flags, message)
	}
	return s.print(flags, about)
}

// user returns the caller's user name, as authenticated by the API server.
func (s *session) user(ctx context.Context) (string, error) {
	var me authenticationv1.SelfSubjectReview
	if err := s.api.Create(ctx, &me); err != nil {
		return "", fmt.Errorf("read your user name: %w", err)
	}
	return me.Status.UserInfo.Username, nil
}

// waitHandled waits until the operator has handled a message, and returns an error if it was rejected.
func (s *session) waitHandled(ctx context.Context, message *v1beta1.AgentMessage) error {
	now, err := kubewatch.Until(ctx, s.api, message, &v1beta1.AgentMessageList{}, func(m *v1beta1.AgentMessage) bool {
		return m.Status.Phase == v1beta1.MessageHandled || m.Status.Phase == v1beta1.MessageRejected
	})
	if err != nil {
		return err
	}
	if now.Status.Phase == v1beta1.MessageRejected {
		return rejectionError(now)
	}
	return nil
}

// rejectionError returns the reason of a rejected message as an error.
func rejectionError(m *v1beta1.AgentMessage) error {
	phrase := m.Status.Reason
	if c := meta.FindStatusCondition(m.Status.Conditions, v1beta1.ConditionSucceeded); c != nil {
		phrase += ": " + c.Message
	}
	return fmt.Errorf("the operator rejected %s: %s", m.Name, phrase)
}
