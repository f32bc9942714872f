// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentquota

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/engine/admission"
)

// countAll sets the numbers of active and waiting runs from the statuses of all runs of a namespace: the engine has
// only those of this operator. Statuses are up to a second old.
func (r *Reconciler) countAll(ctx context.Context, namespace string, usage []engine.QuotaUsage) error {
	var agents v1beta1.SubAgentList
	var chats v1beta1.AgentChatList
	for _, list := range []client.ObjectList{&agents, &chats} {
		if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list the runs of namespace %s: %w", namespace, err)
		}
	}
	active := 0
	var waiting []string
	for i := range agents.Items {
		if agents.Items[i].Status.Phase == v1beta1.SubAgentActive {
			active++
		}
		waiting = append(waiting, quotaWaits(agents.Items[i].Status.Conditions)...)
	}
	for i := range chats.Items {
		waiting = append(waiting, quotaWaits(chats.Items[i].Status.Conditions)...)
	}
	for i := range usage {
		usage[i].Active, usage[i].Waiting = active, 0
		for _, message := range waiting {
			if strings.HasPrefix(message, "AgentQuota "+usage[i].Quota.Name+" ") || strings.HasPrefix(message, "AgentQuota "+usage[i].Quota.Name+":") {
				usage[i].Waiting++
			}
		}
	}
	return nil
}

// quotaWaits returns the messages of the conditions that show a wait for a quota.
func quotaWaits(conditions []metav1.Condition) []string {
	var messages []string
	for _, c := range conditions {
		if c.Reason == admission.QuotaExhausted || c.Reason == admission.PriceUnknown {
			messages = append(messages, c.Message)
		}
	}
	return messages
}
