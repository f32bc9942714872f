// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Roles knows which roles agents may still use.
type Roles struct{ Finder resolve.Finder }

// MayAct is engine.Options.MayAct. An agent keeps the role that it started with, but not beyond the moment that a role of another
// namespace is deleted or no longer shared with its own.
func (r Roles) MayAct(ctx context.Context, a ledger.Agent, c agent.Config) error {
	if c.Role.SharedBy == "" {
		return nil
	}
	return r.Finder.MayUseRole(ctx, a.Namespace, c.Role.SharedBy, c.Role.Name)
}
