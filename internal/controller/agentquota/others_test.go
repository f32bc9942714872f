// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentquota

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/quota"
)

// TestRunsOfAllOperatorsAreCounted has runs in statuses only, as another operator writes them, and two quotas with
// similar names.
func TestRunsOfAllOperatorsAreCounted(t *testing.T) {
	small, smaller := quota.Quota{Name: "small", MaxActiveAgents: 1}, quota.Quota{Name: "small-er"}
	sub := func(name string, phase v1beta1.SubAgentPhase, conditions ...metav1.Condition) *v1beta1.SubAgent {
		return &v1beta1.SubAgent{ObjectMeta: clustertest.Named(name, name), Status: v1beta1.SubAgentStatus{Phase: phase, Conditions: conditions}}
	}
	wait := func(reason, message string) metav1.Condition {
		return metav1.Condition{Reason: reason, Message: message}
	}
	elsewhere := sub("elsewhere", v1beta1.SubAgentActive)
	elsewhere.Namespace = "b"
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat")}
	chat.Status.Conditions = []metav1.Condition{wait(admission.PriceUnknown, quota.PriceUnknown(smaller, "model", "provider"))}
	r := &Reconciler{Client: clustertest.NewCluster(t, chat, elsewhere,
		sub("active", v1beta1.SubAgentActive), sub("ended", v1beta1.SubAgentCompleted),
		sub("waits", v1beta1.SubAgentPending, wait(admission.QuotaExhausted, quota.TooManyActive(small))),
		sub("missing", v1beta1.SubAgentPending, wait("RoleNotFound", "AgentQuota small is not the reason.")))}
	usage := []engine.QuotaUsage{{Quota: small, Active: 7, Waiting: 7}, {Quota: smaller}}
	if err := r.countAll(t.Context(), "a", usage); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 1} {
		if usage[i].Active != 1 || usage[i].Waiting != want {
			t.Errorf("quota %s: %d active and %d waiting runs, want 1 and %d", usage[i].Quota.Name, usage[i].Active, usage[i].Waiting, want)
		}
	}
}
