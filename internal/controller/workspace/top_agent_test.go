// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
)

// The ledger finds the namespace and the end of kept changes by this agent.
func TestTopAgent(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("fix", "task-uid")}
	task.Status.SubAgent = "fix-x7k2p"
	tool := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("tool", "tool-uid")}
	other := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("other", "other-uid")}
	other.Status.SubAgent = "fix-x7k2p"
	gone := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("gone", "gone-uid")}
	gone.Status.SubAgent = "gone"
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("fix-x7k2p", "sub-uid")})
	p := &pods{options: Options{Client: clustertest.NewCluster(t, task, tool, other, gone, sub)}}
	for owner, want := range map[client.Object]string{
		task: "sub-uid", tool: "", other: "", gone: "", &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}: "",
	} {
		if got, err := p.topAgent(t.Context(), owner); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", owner.GetName(), got, err, want)
		}
	}
}
