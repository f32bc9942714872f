// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/quota"
)

// remoteRetries is the number of retries of a call of a remote agent. Providers have a field for it.
const remoteRetries = 5

// resolveRemote configures an agent whose work is done by a remote agent. It has no tools and no ModelProvider.
func (r *Resolver) resolveRemote(ctx context.Context, s Subject, out *Resolved) error {
	if err := r.Clients.CheckRemote(ctx, out.Role); err != nil {
		return err
	}
	out.Config.Remote = true
	out.Config.RemoteContent = agent.Content{Trusted: out.Role.Remote.Trusted, Labels: v1beta1.ContentNames(out.Role.Remote.ContentLabels)}
	out.Config.Role.Allow = []string{}
	out.Provider, out.Model = endpoint.RemoteProvider(out.Role), out.Role.Remote.A2A.URL
	out.Config.Provider, out.Config.Model = out.Provider, out.Model
	out.Config.Limits.MaxRetries = remoteRetries
	if out.Config.Limits.MaxCostMicros > 0 {
		return &resolve.Missing{Reason: v1beta1.ReasonPriceUnknown,
			Message: fmt.Sprintf("maxCostMicros is set, and the cost of the remote agent of the role %s is not known: remove the limit, or use another role.", s.Role)}
	}
	quotas, err := r.Quotas.Quotas(ctx, s.Namespace)
	if err != nil {
		return err
	}
	if q, ok := quota.NeedsPrice(quotas); ok {
		return &resolve.Missing{Reason: v1beta1.ReasonPriceUnknown,
			Message: fmt.Sprintf("The AgentQuota %s limits the cost of the namespace, and the cost of the remote agent of the role %s is not known: use another role.", q.Name, s.Role)}
	}
	return nil
}
