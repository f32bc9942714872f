// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/crd"
	"github.com/nestor-dev/nestor/internal/agent"
)

// play applies facts to an agent, a second apart.
func play(config agent.Config, facts ...agent.Fact) agent.State {
	config.MaxDepth = 2
	config.Role.Allow = []string{"*"}
	config.Tools = []agent.Tool{{Name: "read", ReadOnly: true}, {Name: "bash"}}
	config.Delegates = []agent.Delegate{{Name: "tester"}}
	state := agent.Replay(agent.State{}, []agent.Event{{At: 1000, Fact: agent.Started{Config: config}}})
	for i, f := range facts {
		state = agent.Replay(state, []agent.Event{{At: agent.Time(2000 + 1000*i), Fact: f}})
	}
	return state
}

func subAgent() agent.Config {
	return agent.Config{Kind: agent.SubAgent, Name: "chat-1", Depth: 1, Task: agent.Task{Instruction: "work"}}
}

// shown returns a sub-agent and a task of generation 3 that show a state, after they have shown others.
func shown(w Work, states ...agent.State) (*v1beta1.SubAgent, *v1beta1.AgentTask) {
	sub, task := &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Generation: 3}}, &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	for _, s := range states {
		SubAgentRun(sub).Show(s, w)
		TaskRun(task).Show(s, w)
	}
	return sub, task
}

func replies(text string, calls ...agent.ToolCall) func(call string) agent.Fact {
	return func(call string) agent.Fact { return agent.ModelReplied{Call: call, Text: text, Calls: calls} }
}

func TestPhasesOfARun(t *testing.T) {
	bash := agent.ToolCall{ID: "c1", Tool: "bash", Arguments: `{"command":"make"}`}
	asks := agent.ToolCall{ID: "c1", Tool: "ask_user", Arguments: `{"question":"Which year?"}`}
	delegates := agent.ToolCall{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"tester","task":"test"}`}
	failure := agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureFinal, Message: "bad key"}
	after := func(facts ...agent.Fact) agent.State { return play(subAgent(), facts...) }
	parked := Work{Parked: true}
	for name, tc := range map[string]struct {
		state  agent.State
		work   Work
		agent  v1beta1.SubAgentPhase
		task   v1beta1.TaskPhase
		reason string
		status metav1.ConditionStatus
	}{
		"unstarted":   {agent.State{}, Work{}, v1beta1.SubAgentPending, v1beta1.TaskPending, "Pending", metav1.ConditionUnknown},
		"active":      {after(), Work{}, v1beta1.SubAgentActive, v1beta1.TaskRunning, "Running", metav1.ConditionUnknown},
		"parked":      {after(), parked, v1beta1.SubAgentPending, v1beta1.TaskPending, "ParallelLimit", metav1.ConditionUnknown},
		"asks":        {after(replies("", asks)("m1")), Work{}, v1beta1.SubAgentWaitingForUser, v1beta1.TaskWaiting, "WaitingForUser", metav1.ConditionUnknown},
		"approval":    {after(replies("", bash)("m1")), Work{}, v1beta1.SubAgentWaitingForApproval, v1beta1.TaskWaiting, "WaitingForApproval", metav1.ConditionUnknown},
		"delegates":   {after(replies("", delegates)("m1")), Work{}, v1beta1.SubAgentWaitingForSubAgents, v1beta1.TaskRunning, "Running", metav1.ConditionUnknown},
		"cancelling":  {after(replies("", delegates)("m1"), agent.Cancelled{}), Work{}, v1beta1.SubAgentCancelling, v1beta1.TaskRunning, "Running", metav1.ConditionUnknown},
		"completed":   {after(replies("done")("m1")), Work{}, v1beta1.SubAgentCompleted, v1beta1.TaskSuccess, "Success", metav1.ConditionTrue},
		"parked last": {after(replies("done")("m1")), parked, v1beta1.SubAgentCompleted, v1beta1.TaskSuccess, "Success", metav1.ConditionTrue},
		"failed":      {after(failure), Work{}, v1beta1.SubAgentFailed, v1beta1.TaskFailed, "ModelError", metav1.ConditionFalse},
		"cancelled":   {after(agent.Cancelled{}), Work{}, v1beta1.SubAgentCancelled, v1beta1.TaskCancelled, "Cancelled", metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			sub, task := shown(tc.work, tc.state)
			if sub.Status.Phase != tc.agent || task.Status.Phase != tc.task {
				t.Errorf("phases %s and %s, want %s and %s", sub.Status.Phase, task.Status.Phase, tc.agent, tc.task)
			}
			for _, conditions := range [][]metav1.Condition{sub.Status.Conditions, task.Status.Conditions} {
				c := conditions[0]
				if c.Type != "Succeeded" || c.Status != tc.status || c.Reason != tc.reason || c.ObservedGeneration != 3 || c.Message == "" {
					t.Errorf("condition %+v, want %s with reason %s and a message", c, tc.status, tc.reason)
				}
			}
			if waits := task.Status.Waiting != nil; waits != (tc.task == v1beta1.TaskWaiting) {
				t.Errorf("waiting %+v in phase %s", task.Status.Waiting, task.Status.Phase)
			}
		})
	}
}

func TestTransitionTimeFollowsStatus(t *testing.T) {
	early, ends := play(subAgent()), play(subAgent(), replies("done")("m1"))
	asks := play(subAgent(), replies("", agent.ToolCall{Tool: "ask_user", Arguments: `{"question":"?"}`})("m1"))
	first, _ := shown(Work{}, early)
	asked, _ := shown(Work{}, early, asks)
	if !asked.Status.Conditions[0].LastTransitionTime.Equal(&first.Status.Conditions[0].LastTransitionTime) {
		t.Error("the transition time changed although the status did not")
	}
	done, _ := shown(Work{}, early, asks, ends)
	if done.Status.Conditions[0].LastTransitionTime.Equal(&first.Status.Conditions[0].LastTransitionTime) {
		t.Error("the transition time did not change with the status")
	}
}

// The status that the API returns must equal the one that was written, or every reconcile would write it again.
func TestStatusRoundTrip(t *testing.T) {
	s := agent.Replay(agent.State{}, []agent.Event{{At: 1_234_567, Fact: agent.Started{Config: subAgent()}}})
	sub, task := shown(Work{}, s)
	for name, status := range map[string]any{"task": task.Status, "sub-agent": sub.Status} {
		written, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		read := reflect.New(reflect.TypeOf(status))
		if err := json.Unmarshal(written, read.Interface()); err != nil {
			t.Fatal(err)
		}
		if got := read.Elem().Interface(); !equality.Semantic.DeepEqual(status, got) {
			t.Errorf("%s: written (-), read (+):\n%s", name, cmp.Diff(status, got))
		}
	}
}

func TestToolCallsShowOutcome(t *testing.T) {
	call := func(id, tool string) agent.ToolCall { return agent.ToolCall{ID: id, Tool: tool, Arguments: "{}"} }
	s := play(subAgent(),
		agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{call("a", "read"), call("b", "bash"), call("c", "nonsense")}},
		agent.ToolFinished{Call: "a", Outcome: agent.ToolSucceeded, Text: "text"},
		agent.Decided{Call: "b", Comment: "no"},
		agent.ModelReplied{Call: "m2", Calls: []agent.ToolCall{call("d", "read")}},
	)
	var got []string
	sub, _ := shown(Work{}, s)
	for _, c := range sub.Status.ToolCalls {
		got = append(got, fmt.Sprintf("%s %s %s", c.ID, c.Tool, c.Phase))
	}
	if diff := cmp.Diff([]string{"a read Success", "b bash Denied", "c nonsense Failed", "d read Running"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWordsBesideCallAreShown(t *testing.T) {
	s := play(subAgent(), agent.ModelReplied{Call: "m1", Text: "Let me look.", Calls: []agent.ToolCall{{ID: "a", Tool: "read", Arguments: "{}"}}})
	sub, _ := shown(Work{}, s)
	for _, m := range sub.Status.Messages {
		if m.Role == v1beta1.TranscriptAssistant && m.Content == "Let me look." {
			return
		}
	}
	t.Error("status.messages does not have the agent's text beside its tool call")
}

func TestChatShowsWaits(t *testing.T) {
	config := agent.Config{Kind: agent.Orchestrator, Name: "chat"}
	s := play(config,
		agent.Asked{Agent: "chat-1", Task: "chat-1", Call: "q", Kind: agent.AskQuestion, Text: "Which year?"},
		agent.Asked{Agent: "chat-2", Task: "chat-2", Call: "chat-2", Kind: agent.AskApproval, Tool: "bash", Arguments: "{}"},
	)
	status := Chat(s, ChatFacts{Messages: 2, LastMessage: "m"}, v1beta1.AgentChatStatus{}, 1)
	want := []v1beta1.ChatWaitingItem{
		{Task: "chat-1", Waiting: v1beta1.Waiting{SubAgent: "chat-1", Kind: "Question", Text: "Which year?", ToolCall: "q", StartTime: moment(2000)}},
		{Task: "chat-2", Waiting: v1beta1.Waiting{Kind: "Approval", Text: "bash {}", Tool: "bash", Arguments: &runtime.RawExtension{Raw: []byte("{}")}, ArgumentsDigest: agent.CallDigest("bash", "{}"), StartTime: moment(3000)}},
	}
	if diff := cmp.Diff(want, status.Waiting); diff != "" || status.Phase != v1beta1.ChatWaiting {
		t.Errorf("phase %s, waiting:\n%s", status.Phase, diff)
	}
	failed := play(config, agent.MessageArrived{Message: "m", Text: "hi"},
		agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureFinal, Message: "bad key"})
	ready := Chat(failed, ChatFacts{}, v1beta1.AgentChatStatus{}, 1).Conditions[0]
	if ready.Status != metav1.ConditionFalse || ready.Reason != v1beta1.ReasonModelError || ready.Message != "bad key" {
		t.Errorf("ready is %+v, want False with the provider's message", ready)
	}
	reported := Chat(failed, ChatFacts{}, v1beta1.AgentChatStatus{}, 1)
	seconds := func(n time.Duration) *metav1.Time {
		at := metav1.NewTime(ready.LastTransitionTime.Add(n * time.Second))
		return &at
	}
	repaired := Chat(failed, ChatFacts{ProviderReady: seconds(1)}, reported, 1)
	later := failed
	later.Turn.StartTime = agent.Time(seconds(2).UnixMilli())
	for name, c := range map[string]struct {
		state agent.State
		since *metav1.Time
		old   v1beta1.AgentChatStatus
		want  metav1.ConditionStatus
	}{
		"the provider was ready all the time":     {failed, seconds(-60), reported, metav1.ConditionFalse},
		"it became ready before the chat reports": {failed, seconds(1), v1beta1.AgentChatStatus{}, metav1.ConditionFalse},
		"it was repaired":                         {failed, seconds(1), reported, metav1.ConditionTrue},
		"it was repaired some time ago":           {failed, seconds(1), repaired, metav1.ConditionTrue},
		"a later turn fails, too":                 {later, seconds(1), repaired, metav1.ConditionFalse},
	} {
		if got := Chat(c.state, ChatFacts{ProviderReady: c.since}, c.old, 1).Conditions[0]; got.Status != c.want {
			t.Errorf("%s: ready is %+v, want %s", name, got, c.want)
		}
	}
}

// A model that exceeds every bound must not lead to a status that the API server rejects.
func TestStatusFitsTheAPI(t *testing.T) {
	long := strings.Repeat("🧭", 100_000)
	list := fmt.Sprintf(`["%s"%s]`, long[:4000], strings.Repeat(`,"x"`, 99))
	submit := agent.ToolCall{Tool: "submit_result", Arguments: fmt.Sprintf(
		`{"result":%q,"summary":%q,"details":%q,"files_modified":%s,"files_created":%s,"warnings":%s,"suggestions":%s,"tests_run":-5,"tests_passed":99999999999}`,
		long, long, long, list, list, list, list)}
	noise := make([]agent.ToolCall, 20)
	for i := range noise {
		noise[i] = agent.ToolCall{ID: strings.Repeat("i", 500), Tool: long, Arguments: `{"x":"` + long + `"}`}
	}
	question := agent.ToolCall{Tool: "ask_user", Arguments: fmt.Sprintf(`{"question":%q}`, long)}
	asks := make([]agent.Fact, 50)
	for i := range asks {
		asks[i] = agent.Asked{Agent: fmt.Sprintf("chat-%d", i), Task: fmt.Sprintf("chat-%d", i), Call: "q", Kind: agent.AskQuestion, Text: long}
	}
	runs := map[string]agent.State{
		"noise":    play(subAgent(), agent.ModelReplied{Call: "m1", Text: long, Calls: noise}),
		"question": play(subAgent(), agent.ModelReplied{Call: "m1", Text: long, Calls: noise}, agent.ModelReplied{Call: "m2", Calls: slices.Concat(noise, []agent.ToolCall{question})}),
		"result":   play(subAgent(), agent.ModelReplied{Call: "m1", Text: long, Calls: []agent.ToolCall{submit}}),
		"error":    play(subAgent(), agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureFinal, Message: long + "\xff"}),
		"lost":     play(subAgent(), agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "a", Tool: "read"}}}, agent.Quarantined{Kind: agent.SubAgent, Name: "chat-1"}),
		"budget":   play(subAgent(), agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureBudget, Message: long}),
	}
	for name, s := range runs {
		t.Run(name, func(t *testing.T) {
			sub, task := shown(Work{}, s)
			validate(t, "SubAgent", sub.Status)
			validate(t, "AgentTask", task.Status)
		})
	}
	chat := play(agent.Config{Kind: agent.Orchestrator, Name: "chat"}, asks...)
	validate(t, "AgentChat", Chat(chat, ChatFacts{}, v1beta1.AgentChatStatus{}, 1))
}

// validate checks a status against the schema of its kind in the generated CRD.
func validate(t *testing.T, kind string, status any) {
	t.Helper()
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crds {
		if c.Spec.Names.Kind != kind {
			continue
		}
		schema := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&schema, internal, nil); err != nil {
			t.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(internal)
		if err != nil {
			t.Fatal(err)
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range validation.ValidateCustomResource(nil, object, validator) {
			message := problem.Error()
			t.Errorf("%s: %s", kind, message[:min(len(message), 300)])
		}
		return
	}
	t.Fatalf("no CRD of kind %s", kind)
}

// Data that does not fit is left out as a whole: a part of it would not match its schema.
func TestDataOfResultIsBounded(t *testing.T) {
	largest := `{"a":"` + strings.Repeat("x", maxTaskData-len(`{"a":""}`)) + `"}`
	for name, test := range map[string]struct {
		data    string
		want    string
		omitted bool
	}{
		"none":           {"", "", false},
		"some":           {`{"verdict":"approve"}`, `{"verdict":"approve"}`, false},
		"the largest":    {largest, largest, false},
		"one byte above": {strings.Replace(largest, "x", "xx", 1), "", true},
	} {
		got := result(&agent.Result{Text: "done", Data: json.RawMessage(test.data)}, maxTaskData)
		raw := ""
		if got.Data != nil {
			raw = string(got.Data.Raw)
		}
		if raw != test.want || got.DataOmitted != test.omitted {
			t.Errorf("%s: data of %d bytes, omitted: %v", name, len(raw), got.DataOmitted)
		}
	}
}
