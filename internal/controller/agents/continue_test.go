// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// A follow-up that the cache would refuse for ever is compared with what the API server has.
func TestFollowUpIsConfirmedLive(t *testing.T) {
	named := func(uid, role string) *v1beta1.SubAgent {
		return &v1beta1.SubAgent{ObjectMeta: clustertest.Named("before", uid), Spec: v1beta1.SubAgentSpec{Role: role}}
	}
	next := &v1beta1.SubAgent{ObjectMeta: clustertest.Named("next", "next"), Spec: v1beta1.SubAgentSpec{Role: "writer", ContinueFrom: "before"}}
	for name, test := range map[string]struct {
		cached, live *v1beta1.SubAgent
		refused      bool
	}{
		"the cache has an earlier one of another role": {cached: named("1", "reader"), live: named("2", "writer")},
		"the role is wrong":                            {cached: named("1", "reader"), live: named("1", "reader"), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			runner, _, _ := newPostingRunner(t, clustertest.NewCluster(t, test.cached))
			runner.API = cluster.NewLive(clustertest.NewCluster(t, test.live))
			r := &Reconciler{Runner: runner}
			_, err := r.continueFrom(t.Context(), next, "", agent.Started{})
			var refused *startError
			var waits *resolve.Missing
			if errors.As(err, &refused) != test.refused || errors.As(err, &waits) == test.refused {
				t.Errorf("the error is %v, want a refusal: %t", err, test.refused)
			}
		})
	}
}
