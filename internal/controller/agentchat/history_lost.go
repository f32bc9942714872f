// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentchat

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

const (
	lostMessage = "The chat had started, but the ledger has no events of it: a ledger was lost, or an older one was restored."
	lostAdvice  = " The messages of the chat still exist, but its agents no longer have them. The next message starts a new conversation."
)

// handleLostHistory shows that the history of a chat is lost, completely or because it was quarantined. It reports
// whether the chat must wait for the next message, which starts a new conversation. A message on which the operator
// failed does not count as the next one.
func (r *Reconciler) handleLostHistory(ctx context.Context, chat *v1beta1.AgentChat, why *agent.HistoryLoss) (ctrl.Result, bool, error) {
	message, at, after := lostMessage, agent.Time(0), time.Time{}
	if why != nil {
		message, at = why.Reason, why.At
		if why.Panicked {
			after = time.UnixMilli(int64(at))
		}
	}
	waits, err := r.isMessagePending(ctx, chat, after)
	reported, _ := r.lossReported.Load(chat.UID)
	if err != nil || (waits && reported == at) {
		return ctrl.Result{}, false, err
	}
	condition := status.NotReady(chat.Generation, v1beta1.ReasonHistoryLost, message+lostAdvice)
	next := chat.DeepCopy()
	next.Status = projection.ChatHistoryLost(chat.Status, condition, agents.Now())
	result, err := r.Runner.Status.Write(ctx, chat, next, false)
	if err == nil && result.IsZero() {
		r.lossReported.Store(chat.UID, at) // the condition may later show another reason, such as a missing role
		if waits {
			result.RequeueAfter = lostRetryDelay
		}
	}
	return result, true, err
}

// lostRetryDelay is the delay before a waiting message starts the new conversation, so that clients see the condition
// first.
const lostRetryDelay = time.Second

// isMessagePending reports whether the chat has a message from after the given time that no turn has taken.
func (r *Reconciler) isMessagePending(ctx context.Context, chat *v1beta1.AgentChat, after time.Time) (bool, error) {
	var messages v1beta1.AgentMessageList
	err := r.Client.List(ctx, &messages, client.InNamespace(chat.Namespace), client.MatchingFields{cluster.ChatField: chat.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list the messages of chat %s/%s: %w", chat.Namespace, chat.Name, err)
	}
	for i := range messages.Items {
		m := &messages.Items[i]
		if m.Spec.Role == v1beta1.RoleUser && m.Spec.Content != "" && !cluster.HasFinalPhase(m) && m.CreationTimestamp.After(after) {
			return true, nil
		}
	}
	return false, nil
}

// conversationID returns an id that separates the names of a new conversation from those of all earlier ones of the
// same chat.
func conversationID(uid types.UID, at time.Time) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", uid, at.UnixNano()))
	name := make([]byte, 5)
	for i := range name {
		name[i] = letters[int(sum[i])%len(letters)]
	}
	return string(name)
}
