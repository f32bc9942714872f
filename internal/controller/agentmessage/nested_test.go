// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// treeWith returns the objects of a standalone task NAME whose agent has delegated to NAME-1.
func treeWith(name string) []client.Object {
	owned := func(kind, by string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: v1beta1.GroupVersion.String(), Kind: kind, Name: by, UID: types.UID(kind + "/" + by), Controller: &yes}}
	}
	meta := func(kind, name string, owners []metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(kind + "/" + name), OwnerReferences: owners}
	}
	return []client.Object{
		&v1beta1.AgentTask{ObjectMeta: meta("AgentTask", name, nil), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}},
		&v1beta1.SubAgent{ObjectMeta: meta("SubAgent", name, owned("AgentTask", name)), Spec: v1beta1.SubAgentSpec{Task: name}},
		&v1beta1.AgentTask{ObjectMeta: meta("AgentTask", name+"-1", owned("SubAgent", name)), Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}},
		&v1beta1.SubAgent{ObjectMeta: meta("SubAgent", name+"-1", owned("AgentTask", name+"-1")), Spec: v1beta1.SubAgentSpec{Task: name + "-1"}},
	}
}

// runTree adds the agents of a tree to the ledger: the top agent waits for the others, each of which has made a call,
// the last one first.
func runTree(t *testing.T, r *Reconciler, store ledger.Ledger, name string, calls ...agent.ToolCall) {
	t.Helper()
	top := "SubAgent/" + name
	put := func(uid, parent, name string, at agent.Time, calls ...agent.ToolCall) {
		t.Helper()
		config := agent.Config{Kind: agent.SubAgent, Name: name, Depth: 1, MaxDepth: 2, Limits: agent.Limits{MaxIterations: 10},
			Role: agent.Role{Name: "general", Allow: []string{"*"}}, Tools: []agent.Tool{{Name: "write"}}, Delegates: []agent.Delegate{{Name: "general"}}}
		if parent != "" {
			config.Depth = 2
		}
		started := agent.Event{At: 1000, Fact: agent.Started{Config: config}}
		state := agent.Replay(agent.State{}, []agent.Event{started})
		replied := agent.Event{At: at, Fact: agent.ModelReplied{Call: state.ModelCall.ID, Calls: calls}}
		batch := ledger.Batch{Agent: uid, Create: &ledger.Agent{UID: uid, Kind: "SubAgent", Namespace: "a", Name: name, Parent: parent, Root: top, CreatedAt: time.Now()}}
		for _, e := range []agent.Event{started, replied} {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			batch.Events = append(batch.Events, ledger.Event{Type: agent.FactType(e.Fact), At: time.UnixMilli(int64(e.At)), Data: data})
		}
		if err := store.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if _, started, err := r.Runner.State(t.Context(), uid); err != nil || !started {
			t.Fatalf("agent %s: started %t (%v)", uid, started, err)
		}
	}
	put(top, "", name, 2000, agent.ToolCall{ID: "d", Tool: "delegate_to_agent", Arguments: `{"role":"general","task":"Write."}`})
	for i, call := range calls {
		below := fmt.Sprintf("%s-%d", name, i+1)
		put("SubAgent/"+below, top, below, agent.Time(2000-i), call)
	}
}

func message(name string, spec v1beta1.AgentMessageSpec) *v1beta1.AgentMessage {
	spec.Role = v1beta1.RoleUser
	return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name), ResourceVersion: "5", CreationTimestamp: metav1.Now()}, Spec: spec}
}

func TestMessageReachesNestedAgent(t *testing.T) {
	question := agent.ToolCall{ID: "q", Tool: "ask_user", Arguments: `{"question":"Which colour?"}`}
	write := agent.ToolCall{ID: "w", Tool: "write", Arguments: `{"path":"a"}`}
	approve := func(task, call string) v1beta1.AgentMessageSpec {
		return v1beta1.AgentMessageSpec{Task: "mine", Approval: &v1beta1.Approval{Task: task, ToolCall: call, Decision: v1beta1.DecisionApprove}}
	}
	for name, test := range map[string]struct {
		call   agent.ToolCall
		spec   v1beta1.AgentMessageSpec
		phase  v1beta1.MessagePhase
		reason string
	}{
		"an answer":                           {question, v1beta1.AgentMessageSpec{Task: "mine", Content: "Green"}, v1beta1.MessageHandled, v1beta1.ReasonHandled},
		"an answer to the agent itself":       {question, v1beta1.AgentMessageSpec{Task: "mine-1", Content: "Green"}, v1beta1.MessageHandled, v1beta1.ReasonHandled},
		"an answer without a question":        {write, v1beta1.AgentMessageSpec{Task: "mine", Content: "Green"}, v1beta1.MessageRejected, v1beta1.ReasonNotWaiting},
		"an approval that names the task":     {write, approve("mine-1", "w"), v1beta1.MessageHandled, v1beta1.ReasonHandled},
		"an approval that names the top":      {write, approve("mine", "w"), v1beta1.MessageHandled, v1beta1.ReasonHandled},
		"an approval of another call":         {write, approve("mine", "v"), v1beta1.MessageRejected, v1beta1.ReasonNotWaiting},
		"an approval in another tree":         {write, approve("yours-1", "w"), v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound},
		"an approval at the top of another":   {write, approve("yours", "w"), v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound},
		"a cancel in another tree":            {write, v1beta1.AgentMessageSpec{Task: "mine", Cancel: &v1beta1.Cancel{Task: "yours-1"}}, v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound},
		"a cancel of the agent below":         {write, v1beta1.AgentMessageSpec{Task: "mine", Cancel: &v1beta1.Cancel{Task: "mine-1"}}, v1beta1.MessageHandled, v1beta1.ReasonHandled},
		"a decision that names nothing above": {write, v1beta1.AgentMessageSpec{Task: "mine-1", Approval: &v1beta1.Approval{Task: "mine", ToolCall: "w", Decision: v1beta1.DecisionApprove}}, v1beta1.MessageRejected, v1beta1.ReasonTaskNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(append(treeWith("mine"), treeWith("yours")...), message("said", test.spec))
			r, store := reconcilerWith(t, objects...)
			runTree(t, r, store, "mine", test.call)
			runTree(t, r, store, "yours", test.call)
			asks := r.Runner.Engine.AsksBelow("SubAgent/mine")
			if len(asks) != 1 || asks[0].Agent.Name != "mine-1" || asks[0].Call != test.call.ID || asks[0].Since != 2000 {
				t.Fatalf("the asks below are %+v", asks)
			}

			request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "said"}}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			var said v1beta1.AgentMessage
			if err := r.Client.Get(t.Context(), request.NamespacedName, &said); err != nil {
				t.Fatal(err)
			}
			if said.Status.Phase != test.phase || said.Status.Reason != test.reason {
				t.Errorf("the message is %s (%s), want %s (%s)", said.Status.Phase, said.Status.Reason, test.phase, test.reason)
			}
			recorded := test.phase == v1beta1.MessageHandled
			if left := len(r.Runner.Engine.AsksBelow("SubAgent/mine")); (left == 0) != recorded {
				t.Errorf("%d asks are left", left)
			}
			if left := len(r.Runner.Engine.AsksBelow("SubAgent/yours")); left != 1 {
				t.Errorf("%d asks are left in the other tree", left)
			}

			// The operator may crash after handling a message and before writing its status: the next attempt must not answer
			// another ask.
			result, err := r.handle(t.Context(), objects[0], &said)
			if recorded && (err != nil || result.phase != v1beta1.MessageHandled) {
				t.Errorf("the second attempt returned %+v (%v)", result, err)
			}
		})
	}
}

// Two agents ask, and the older question appears last. A person answers the question that the task shows, and then the
// other one.
func TestAnswerGoesToShownQuestion(t *testing.T) {
	objects := append(treeWith("mine"),
		message("first", v1beta1.AgentMessageSpec{Task: "mine", Content: "Green"}), message("second", v1beta1.AgentMessageSpec{Task: "mine", Content: "Large"}))
	objects[0].(*v1beta1.AgentTask).Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, SubAgent: "mine-1", ToolCall: "q"}
	r, store := reconcilerWith(t, objects...)
	ask := func(question string) agent.ToolCall {
		return agent.ToolCall{ID: "q", Tool: "ask_user", Arguments: fmt.Sprintf(`{"question":%q}`, question)}
	}
	runTree(t, r, store, "mine", ask("Which colour?"), ask("Which size?"))
	for _, said := range []struct{ message, leaves string }{{"first", "mine-2"}, {"second", ""}} {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: said.message}}); err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, ask := range r.Runner.Engine.AsksBelow("SubAgent/mine") {
			left += ask.Agent.Name
		}
		if left != said.leaves {
			t.Errorf("after the %s answer %q waits, want %q", said.message, left, said.leaves)
		}
	}
}
