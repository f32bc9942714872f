// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentchat

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestNewestMessageWithinSecond(t *testing.T) {
	second := time.Unix(1_800_000_000, 0)
	message := func(name string, role v1beta1.MessageRole, at time.Time) *v1beta1.AgentMessage {
		return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at)}, Spec: v1beta1.AgentMessageSpec{Role: role}}
	}
	inOrder := []*v1beta1.AgentMessage{
		message("zulu", v1beta1.RoleUser, second.Add(-time.Second)), message("request", v1beta1.RoleUser, second),
		message("chat-post-9", v1beta1.RoleAssistant, second), message("chat-post-10", v1beta1.RoleSystem, second),
		message("again", v1beta1.RoleUser, second.Add(time.Second)),
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if isLater(a, b) != (i > j) {
				t.Errorf("isLater(%s, %s) = %v", a.Name, b.Name, i <= j)
			}
		}
	}
}
