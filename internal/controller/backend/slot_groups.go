// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// SlotGroups finds the slot groups of sub-agents.
type SlotGroups struct{ Reader client.Reader }

// Of implements engine.Options.SlotGroups. The groups are all sub-agents of the namespace, limited by AgentQuotas, and
// all sub-agents of the chat at any depth. A chat that cannot be read is being deleted with its agents, so it adds no
// limit.
func (c SlotGroups) Of(ctx context.Context, a ledger.Agent) []slots.Group {
	quotas, _ := Quotas(c).Quotas(ctx, a.Namespace) // a read from the cache fails only at shutdown
	least, _ := quota.ActiveLimit(quotas)
	groups := []slots.Group{{Key: slots.OfNamespace(a.Namespace), Limit: least.MaxActiveAgents}}
	if a.Chat == "" {
		return groups
	}
	var chat v1beta1.AgentChat
	if err := c.Reader.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Chat}, &chat); err != nil {
		return groups
	}
	return append(groups, slots.Group{Key: slots.OfChat(a.Root), Limit: int(chat.Spec.Limits.MaxParallelTasks)})
}
