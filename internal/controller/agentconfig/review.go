// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"cmp"
	"context"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
)

// defaultMaxRounds is the number of reviews of a role that was created before the API server set the default.
const defaultMaxRounds = 2

// review returns the review of the results of agents with a role. Its reviewer must exist when they start.
func (r *Resolver) review(ctx context.Context, s Subject, definition role.Role) (*agent.Review, error) {
	reviewer, err := r.Finder.RoleAt(ctx, s.Namespace, definition.Review.Role, s.Revisions[definition.Review.Role])
	if err != nil {
		return nil, err
	}
	if problem := role.CannotReview(reviewer); problem != "" {
		return nil, &resolve.Missing{Reason: v1beta1.ReasonInvalidSpec, Message: problem}
	}
	return &agent.Review{
		Role: definition.Review.Role, MaxRounds: int(cmp.Or(definition.Review.MaxRounds, defaultMaxRounds)), Required: definition.Review.OnReject == v1beta1.RejectFail,
	}, nil
}
