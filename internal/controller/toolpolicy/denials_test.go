// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// events are the Events that were emitted.
type events struct {
	recorder.EventRecorder // only Eventf is called
	list                   []string
}

func (e *events) Eventf(regarding, related runtime.Object, kind, reason, _, note string, args ...any) {
	object, about := regarding.(client.Object), related.(client.Object)
	e.list = append(e.list, fmt.Sprintf("%s %s %s %s: "+note, append([]any{object.GetName(), kind, reason, about.GetName()}, args...)...))
}

func TestDeniedCallsHaveEvents(t *testing.T) {
	const secret = "secret argument"
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "job"}}
	store := newStore(t, task)
	recorded := &events{}
	denials := Denials{Reader: store.finder.Reader, Events: recorded}
	judge := func(kind agent.Kind, name string, verdicts ...agent.Verdict) {
		state := agent.State{Policed: true, Phase: agent.PhaseActing, Config: agent.Config{Kind: kind, Name: name}, Batch: []agent.BatchCall{
			{ToolCall: agent.ToolCall{ID: "c1", Tool: "write", Arguments: secret}, State: agent.CallQueued},
		}}
		denials.Recorded(engine.Change{
			Agent: ledger.Agent{Namespace: "team", Name: name, Kind: "SubAgent"}, Before: state,
			Events: []agent.Event{{Fact: agent.Woke{}}, {Fact: agent.Judged{Policed: true, Calls: []agent.JudgedCall{{Call: "c1", Verdicts: verdicts}}}}},
		})
	}
	says := func(action agent.PolicyAction, audit bool) agent.Verdict {
		return agent.Verdict{Policy: "team/writes", UID: "u", Rule: "people", Message: secret, Action: action, Audit: audit}
	}
	judge(agent.SubAgent, "job", says(agent.PolicyAllow, false))
	judge(agent.SubAgent, "job", says(agent.PolicyDeny, true))
	judge(agent.SubAgent, "job", says(agent.PolicyRequireApproval, false))
	judge(agent.SubAgent, "deleted", says(agent.PolicyDeny, false))
	if len(recorded.list) > 0 {
		t.Errorf("there are Events without a denial: %q", recorded.list)
	}
	judge(agent.SubAgent, "job", says(agent.PolicyRequireApproval, false), says(agent.PolicyDeny, false))
	judge(agent.Orchestrator, "job", says(agent.PolicyRequireApproval, false))
	want := "job Warning CallDenied writes: A call of write was denied by the policy team/writes, rule people: kubectl nestor policy explain job"
	if !slices.Equal(recorded.list, []string{want, want}) {
		t.Errorf("the Events are %q", recorded.list)
	}
	recorded.list = nil
	fails := says(agent.PolicyDeny, false)
	fails.Failed = true
	judge(agent.SubAgent, "job", fails)
	fails.Audit = true
	judge(agent.SubAgent, "job", fails)
	failed := []string{
		"job Warning PolicyFailed writes: A call of write was denied, because it could not be judged by the policy team/writes, rule people: kubectl nestor policy explain job",
		"job Warning PolicyFailed writes: A call of write could not be judged by the policy team/writes, rule people: kubectl nestor policy explain job",
	}
	if !slices.Equal(recorded.list, failed) {
		t.Errorf("the Events of expressions that fail are %q", recorded.list)
	}
}
