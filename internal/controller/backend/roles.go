// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Roles checks whether agents may still use their roles.
type Roles struct{ Finder resolve.Finder }

// MayAct implements engine.Options.MayAct. An agent keeps the role that it started with until a role of another
// namespace is deleted or no longer shared with the agent's namespace.
func (r Roles) MayAct(ctx context.Context, a ledger.Agent, c agent.Config) error {
	if c.Role.SharedBy == "" {
		return nil
	}
	return r.Finder.MayUseRole(ctx, a.Namespace, c.Role.SharedBy, c.Role.Name)
}
