// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

func shownTask(name, parent string, change func(*v1beta1.AgentTask)) v1beta1.AgentTask {
	task := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1beta1.LabelParent: parent}}, Spec: v1beta1.AgentTaskSpec{Chat: "chat", Type: v1beta1.TaskAgent}}
	if change != nil {
		change(&task)
	}
	return task
}

func TestDisplayOfTasks(t *testing.T) {
	agentOf := func(name, uid string) v1beta1.SubAgent {
		owner := metav1.OwnerReference{Kind: "AgentTask", UID: types.UID(uid), Controller: ptr.To(true)}
		return v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("agent-" + uid), OwnerReferences: []metav1.OwnerReference{owner}}}
	}
	usage := func(tokens int64, cost *int64) v1beta1.Usage {
		return v1beta1.Usage{PromptTokens: tokens, TotalTokens: tokens, ModelCalls: 1, CostMicros: cost}
	}
	d := NewSnapshot(nil, []v1beta1.AgentMessage{{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "m"}}}, []v1beta1.AgentTask{
		shownTask("chat-1-x-10", "chat-1-x", nil), shownTask("chat-1-x-2", "chat-1-x", func(task *v1beta1.AgentTask) { task.Status.Usage = usage(60, nil) }),
		shownTask("chat-1", "", func(task *v1beta1.AgentTask) {
			task.Spec.TriggerMessage, task.Status.SubAgent, task.Status.Phase, task.Status.Usage = "m", "chat-1-x", v1beta1.TaskRunning, usage(100, ptr.To(int64(50)))
		}),
		shownTask("chat-2", "", func(task *v1beta1.AgentTask) { task.Spec.TriggerMessage = "gone" }),
	}, []v1beta1.SubAgent{agentOf("chat-1", "deleted"), agentOf("chat-1-x", "chat-1")}).Display("chat")
	own := usage(40, nil)
	own.ModelCalls = 0
	want := map[types.UID]TaskDisplay{
		"chat-1":      {Badge: BadgeRunning, Agent: "agent-chat-1", Trigger: "m", After: "m", Own: own},
		"chat-2":      {Badge: BadgePending, Place: 1},
		"chat-1-x-2":  {Badge: BadgePending, Parent: "chat-1", Own: usage(60, nil)},
		"chat-1-x-10": {Badge: BadgePending, Parent: "chat-1", Place: 1},
	}
	if diff := cmp.Diff(want, d.Tasks); diff != "" {
		t.Error(diff)
	}
}

func TestTasksFollowWhatWasSaidBefore(t *testing.T) {
	delegated := func(name, posts string) v1beta1.AgentTask {
		return shownTask(name, "", func(task *v1beta1.AgentTask) {
			task.Spec.TriggerMessage, task.Annotations = "u2", map[string]string{v1beta1.AnnotationPostsBefore: posts}
		})
	}
	messages := []v1beta1.AgentMessage{
		said(1, v1beta1.RoleUser, "u1"), said(1, v1beta1.RoleAssistant, "chat-post-1", replyTo("u1")),
		said(2, v1beta1.RoleUser, "u2"), said(2, v1beta1.RoleAssistant, "chat-post-2", replyTo("u2")), said(2, v1beta1.RoleAssistant, "chat-post-3", replyTo("u2")),
	}
	tasks := []v1beta1.AgentTask{delegated("silent", "1"), delegated("announced", "2"), delegated("later", "3"), delegated("unknown", "")}
	d := NewSnapshot(nil, messages, tasks, nil).Display("chat")
	for task, want := range map[types.UID]string{"silent": "u2", "announced": "chat-post-2", "later": "chat-post-3", "unknown": "u2"} {
		if got := d.Tasks[task].After; got != want {
			t.Errorf("the task %s is below %s, want %s", task, got, want)
		}
	}
}

func TestReportedByTools(t *testing.T) {
	n := Node{Task: v1beta1.AgentTask{Status: v1beta1.AgentTaskStatus{Phase: v1beta1.TaskRunning}}, Agent: &v1beta1.SubAgent{}}
	n.Agent.Status.ToolCalls = []v1beta1.ToolCallStatus{
		{ID: "a", Tool: "box__copy", Phase: v1beta1.ToolCallSuccess, Progress: "10/10"}, {ID: "b", Tool: "box__copy", Phase: v1beta1.ToolCallRunning, Progress: "3/10 files"},
	}
	if diff := cmp.Diff([]ReportedByTool{{"b", "box__copy", "3/10 files"}}, n.ReportedByTools()); diff != "" {
		t.Error(diff)
	}
	n.Task.Status.Phase = v1beta1.TaskSuccess
	if got := n.ReportedByTools(); got != nil {
		t.Errorf("an ended task reports %v", got)
	}
}

// post returns a message of the operator about a call of the task chat-1.
func post(name, call, digest, content string) v1beta1.AgentMessage {
	return v1beta1.AgentMessage{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{v1beta1.AnnotationCall: call, v1beta1.AnnotationArgumentsDigest: digest}},
		Spec:       v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleAssistant, Task: "chat-1", Content: content},
	}
}

func decision(name, call string, decision v1beta1.Decision, phase v1beta1.MessagePhase) v1beta1.AgentMessage {
	approval := &v1beta1.Approval{Task: "chat-1", ToolCall: call, Decision: decision, Comment: "no"}
	return v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1beta1.AgentMessageSpec{Chat: "chat", User: "alice", Approval: approval}, Status: v1beta1.AgentMessageStatus{Phase: phase}}
}

const requested = "Agent Scribe asks for approval of `notes__add` (task chat-1, call call_1):\n"

func TestDisplayOfRequests(t *testing.T) {
	const arguments = `{"title": "a\nb"}`
	digest := agent.CallDigest("notes__add", arguments)
	request := post("chat-post-1", "call_1", "", requested+arguments)
	task := func(phase v1beta1.TaskPhase) v1beta1.AgentTask {
		return shownTask("chat-1", "", func(task *v1beta1.AgentTask) { task.Status.Phase = phase })
	}
	call := func(phase v1beta1.ToolCallPhase) []v1beta1.SubAgent {
		return []v1beta1.SubAgent{{ObjectMeta: metav1.ObjectMeta{Name: "chat-1"}, Status: v1beta1.SubAgentStatus{ToolCalls: []v1beta1.ToolCallStatus{{ID: "call_1", Tool: "notes__add", Phase: phase}}}}}
	}
	waits, tool := call(v1beta1.ToolCallWaitingForApproval), task(v1beta1.TaskWaiting)
	tool.Spec.Type = v1beta1.TaskTool
	want := func(state RequestState, change func(*Request)) *Request {
		r := &Request{Task: "chat-1", Call: "call_1", Who: "Scribe", Tool: "notes__add", Arguments: arguments, Whole: true, State: state}
		if change != nil {
			change(r)
		}
		return r
	}
	decided := func(r *Request) { r.User, r.Comment = "alice", "no" }
	hasDigest := func(r *Request) { r.Digest = digest }
	forged, fromUser := post("chat-post-1", "", "", requested+arguments), request
	fromUser.Spec.Role = v1beta1.RoleUser
	edited := decision("d", "call_1", v1beta1.DecisionApprove, v1beta1.MessageHandled)
	edited.Spec.Approval.Arguments = "{}"
	for name, c := range map[string]struct {
		task     v1beta1.AgentTask
		agents   []v1beta1.SubAgent
		messages []v1beta1.AgentMessage
		want     *Request
		hidden   bool // the second message
	}{
		"open":                           {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{request}, want(RequestOpen, nil), false},
		"the status of the call lags":    {task(v1beta1.TaskRunning), nil, []v1beta1.AgentMessage{request}, want(RequestOpen, nil), false},
		"a decision is in flight":        {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{request, decision("d", "call_1", v1beta1.DecisionDeny, v1beta1.MessagePending)}, want(RequestDeciding, decided), true},
		"a rejected decision":            {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{request, decision("d", "call_1", v1beta1.DecisionDeny, v1beta1.MessageRejected)}, want(RequestOpen, nil), false},
		"denied":                         {task(v1beta1.TaskRunning), call(v1beta1.ToolCallDenied), []v1beta1.AgentMessage{request, decision("d", "call_1", v1beta1.DecisionDeny, v1beta1.MessageHandled)}, want(RequestDenied, decided), true},
		"approved":                       {task(v1beta1.TaskRunning), call(v1beta1.ToolCallSuccess), []v1beta1.AgentMessage{request, decision("d", "call_1", v1beta1.DecisionApprove, v1beta1.MessageHandled)}, want(RequestApproved, decided), true},
		"approved with other arguments":  {task(v1beta1.TaskRunning), call(v1beta1.ToolCallSuccess), []v1beta1.AgentMessage{request, edited}, want(RequestApproved, func(r *Request) { decided(r); r.Edited = "{}" }), true},
		"a decision about another call":  {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{request, decision("d", "call_2", v1beta1.DecisionDeny, v1beta1.MessageHandled)}, want(RequestOpen, nil), false},
		"no decision":                    {task(v1beta1.TaskCancelled), call(v1beta1.ToolCallUnknown), []v1beta1.AgentMessage{request}, want(RequestOver, nil), false},
		"of a tool, without a call":      {tool, nil, []v1beta1.AgentMessage{request, decision("d", "", v1beta1.DecisionApprove, v1beta1.MessagePending)}, want(RequestDeciding, func(r *Request) { decided(r); r.Call = "" }), true},
		"in two parts":                   {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{post("chat-post-1", "call_1", digest, requested+arguments[:5]), post("chat-post-2", "call_1", digest, arguments[5:])}, want(RequestOpen, hasDigest), true},
		"without its second part":        {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{post("chat-post-1", "call_1", digest, requested+arguments[:5])}, want(RequestOpen, func(r *Request) { r.Digest, r.Arguments, r.Whole = digest, arguments[:5], false }), false},
		"another call with the same ID":  {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{post("chat-post-1", "call_1", digest, requested+arguments), post("chat-post-2", "call_1", "other", requested+"{}")}, want(RequestOpen, hasDigest), false},
		"a text of a model is not one":   {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{forged}, nil, false},
		"a message of a user is not one": {task(v1beta1.TaskWaiting), waits, []v1beta1.AgentMessage{fromUser}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewSnapshot(nil, c.messages, []v1beta1.AgentTask{c.task}, c.agents).Display("chat")
			if diff := cmp.Diff(c.want, d.Messages["chat-post-1"].Request); diff != "" {
				t.Error(diff)
			}
			if len(c.messages) > 1 && d.Messages[c.messages[1].UID].Hidden != c.hidden {
				t.Errorf("hidden: %t", !c.hidden)
			}
		})
	}
}

func TestQuestionsKeepTheirAnswers(t *testing.T) {
	asks := post("chat-post-1", "call_1", "", "Agent Researcher needs input: Which year?")
	answer := said(1, v1beta1.RoleUser, "a", replyTo("chat-post-1"), func(m *v1beta1.AgentMessage) { m.UID, m.Spec.User, m.Spec.Content = "a", "alice", "2026" })
	attached, rejected := *answer.DeepCopy(), *answer.DeepCopy()
	attached.Spec.Attachments = []v1beta1.Attachment{{Name: "calendar.png"}}
	rejected.Status.Phase = v1beta1.MessageRejected
	call := v1beta1.ToolCallStatus{ID: "call_1", Tool: "ask_user", Phase: v1beta1.ToolCallSuccess, Result: "2025"}
	agents := []v1beta1.SubAgent{{ObjectMeta: metav1.ObjectMeta{Name: "chat-1"}, Status: v1beta1.SubAgentStatus{ToolCalls: []v1beta1.ToolCallStatus{call}}}}
	task := shownTask("chat-1", "", func(task *v1beta1.AgentTask) { task.Status.Phase = v1beta1.TaskRunning })
	for name, c := range map[string]struct {
		messages []v1beta1.AgentMessage
		agents   []v1beta1.SubAgent
		answer   string
		user     string
		hidden   bool
	}{
		"of a person":                  {[]v1beta1.AgentMessage{asks, answer}, agents, "2026", "alice", true},
		"with an attachment":           {[]v1beta1.AgentMessage{asks, attached}, nil, "2026", "alice", false},
		"a rejected one is not one":    {[]v1beta1.AgentMessage{asks, rejected}, nil, "", "", false},
		"that the orchestrator passed": {[]v1beta1.AgentMessage{asks}, agents, "2025", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewSnapshot(nil, c.messages, []v1beta1.AgentTask{task}, c.agents).Display("chat")
			want := &PostedQuestion{Task: "chat-1", Who: "Researcher", Text: "Which year?", Answer: c.answer, User: c.user}
			if diff := cmp.Diff(want, d.Messages["chat-post-1"].Question); diff != "" || d.Messages["a"].Hidden != c.hidden {
				t.Errorf("the answer is hidden: %t\n%s", d.Messages["a"].Hidden, diff)
			}
		})
	}
}

func TestDisplayOfQuestions(t *testing.T) {
	asks := post("p", "call_1", "", "Agent Researcher needs input: Which year?")
	for name, c := range map[string]struct {
		status v1beta1.AgentTaskStatus
		open   bool
	}{
		"open":             {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskWaiting, Waiting: &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, ToolCall: "call_1"}}, true},
		"another waits":    {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskWaiting, Waiting: &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, ToolCall: "call_2"}}, false},
		"the task is over": {v1beta1.AgentTaskStatus{Phase: v1beta1.TaskSuccess}, false},
	} {
		t.Run(name, func(t *testing.T) {
			task := shownTask("chat-1", "", func(task *v1beta1.AgentTask) { task.Status = c.status })
			d := NewSnapshot(nil, []v1beta1.AgentMessage{asks}, []v1beta1.AgentTask{task}, nil).Display("chat")
			if diff := cmp.Diff(&PostedQuestion{Task: "chat-1", Who: "Researcher", Text: "Which year?", Open: c.open}, d.Messages["p"].Question); diff != "" {
				t.Error(diff)
			}
			if posted := d.Tasks["chat-1"].Question; posted != "" != c.open {
				t.Errorf("the question of the task is %q", posted)
			}
		})
	}
}
