// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

func said(second int, role v1beta1.MessageRole, name string, change ...func(*v1beta1.AgentMessage)) v1beta1.AgentMessage {
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(second)}}
	m.Spec.Chat, m.Spec.Role, m.Status.Phase = "chat", role, v1beta1.MessageHandled
	for _, c := range change {
		c(&m)
	}
	return m
}

func at(second int) metav1.Time { return metav1.NewTime(time.Unix(int64(second), 0)) }

func replyTo(name string) func(*v1beta1.AgentMessage) {
	return func(m *v1beta1.AgentMessage) { m.Spec.InReplyTo = name }
}

func about(task, call string) func(*v1beta1.AgentMessage) {
	return func(m *v1beta1.AgentMessage) {
		m.Spec.Task, m.Annotations = task, map[string]string{v1beta1.AnnotationCall: call}
	}
}

func approves(task string) func(*v1beta1.AgentMessage) {
	return func(m *v1beta1.AgentMessage) { m.Spec.Approval = &v1beta1.Approval{Task: task} }
}

// task returns a task; children name their parent.
func task(name, parent string, change ...func(*v1beta1.AgentTask)) v1beta1.AgentTask {
	t := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, CreationTimestamp: at(1)}}
	t.Spec.Chat, t.Spec.Type, t.Spec.Role = "chat", v1beta1.TaskAgent, "coder"
	if parent != "" {
		t.Labels[v1beta1.LabelParent] = parent
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func TestMessagesAreInConversationOrder(t *testing.T) {
	tasks := []v1beta1.AgentTask{task("chat-1", "", func(t *v1beta1.AgentTask) { t.Spec.TriggerMessage = "u1" })}
	for name, c := range map[string]struct {
		messages []v1beta1.AgentMessage
		want     string
	}{
		"by time": {[]v1beta1.AgentMessage{said(3, v1beta1.RoleAssistant, "chat-post-1"), said(1, v1beta1.RoleUser, "zz")}, "zz chat-post-1"},
		"posts of one second by number": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleAssistant, "chat-post-10"), said(1, v1beta1.RoleSystem, "chat-post-9"),
		}, "chat-post-9 chat-post-10"},
		"an answer after its question, in one second": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleAssistant, "chat-post-1", replyTo("u9")), said(1, v1beta1.RoleUser, "u9"), said(1, v1beta1.RoleAssistant, "chat-post-0"),
		}, "chat-post-0 u9 chat-post-1"},
		"a reply to a posted question": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleUser, "a", replyTo("chat-post-1")), said(1, v1beta1.RoleAssistant, "chat-post-1"), said(1, v1beta1.RoleAssistant, "chat-post-2"),
		}, "chat-post-1 a chat-post-2"},
		"a question after the message that led to the task": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleAssistant, "chat-post-1", about("chat-1", "c")), said(1, v1beta1.RoleUser, "u1"),
		}, "u1 chat-post-1"},
		"a message that nothing answers yet comes last": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleUser, "a"), said(1, v1beta1.RoleAssistant, "chat-post-1"),
		}, "chat-post-1 a"},
		"a decision between the request and its effect": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleUser, "a", approves("chat-1")), said(1, v1beta1.RoleAssistant, "chat-post-1", about("chat-1", "c")), said(1, v1beta1.RoleAssistant, "chat-post-2"),
		}, "chat-post-1 a chat-post-2"},
		"a decision whose request is older": {[]v1beta1.AgentMessage{
			said(1, v1beta1.RoleAssistant, "chat-post-2"), said(1, v1beta1.RoleUser, "a", approves("chat-1")),
		}, "a chat-post-2"},
	} {
		t.Run(name, func(t *testing.T) {
			sortMessages(c.messages, tasks)
			var got []string
			for _, m := range c.messages {
				got = append(got, m.Name)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The sub-agent of a deleted task may have the name that the sub-agent of the re-created task would have.
func TestSubAgentIsMatchedByOwner(t *testing.T) {
	controls := true
	owned := func(name, uid string) v1beta1.SubAgent {
		return v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "AgentTask", UID: types.UID(uid), Controller: &controls}}}}
	}
	again := task("job", "", func(t *v1beta1.AgentTask) { t.UID, t.Status.SubAgent = "new", "job-x7k2p" })
	s := Snapshot{Tasks: []v1beta1.AgentTask{again, task("job-x7k2p-1", "job-x7k2p")}, Agents: []v1beta1.SubAgent{owned("job", "old"), owned("job-x7k2p", "new")}}
	roots := s.Tree("chat")
	if len(roots) != 1 || roots[0].Agent == nil || roots[0].Agent.Name != "job-x7k2p" || len(roots[0].Children) != 1 {
		t.Errorf("roots are %+v", roots)
	}
}

func TestTree(t *testing.T) {
	s := Snapshot{
		Tasks:  []v1beta1.AgentTask{task("chat-10", ""), task("chat-2-1", "chat-2"), task("chat-2", ""), task("other", "", func(t *v1beta1.AgentTask) { t.Spec.Chat = "" })},
		Agents: []v1beta1.SubAgent{{ObjectMeta: metav1.ObjectMeta{Name: "chat-2"}}},
	}
	s.Agents[0].Status.Phase, s.Tasks[2].Status.Phase = v1beta1.SubAgentWaitingForSubAgents, v1beta1.TaskRunning
	roots := s.Tree("chat")
	if len(roots) != 2 || roots[0].Task.Name != "chat-2" || roots[1].Task.Name != "chat-10" {
		t.Fatalf("roots are %v", roots)
	}
	if roots[0].Phase() != "WaitingForSubAgents" || roots[1].Phase() != "Pending" {
		t.Errorf("phases are %s and %s", roots[0].Phase(), roots[1].Phase())
	}
	if Find(roots, "chat-2-1") == nil || Find(roots, "other") != nil || len(s.Tree("")) != 1 {
		t.Error("the tree is not limited to the chat")
	}
}

func TestTreeFollowsCallOrder(t *testing.T) {
	created := func(second int) func(*v1beta1.AgentTask) {
		return func(t *v1beta1.AgentTask) { t.CreationTimestamp = at(second) }
	}
	s := Snapshot{Tasks: []v1beta1.AgentTask{
		task("chat-10-x7k2p", "", created(1)), task("by-hand", "", created(0)), task("chat-3", "", created(2)), task("chat-2", "", created(3)),
	}}
	var names []string
	for _, node := range s.Tree("chat") {
		names = append(names, node.Task.Name)
	}
	if diff := cmp.Diff([]string{"chat-2", "chat-3", "chat-10-x7k2p", "by-hand"}, names); diff != "" {
		t.Error(diff)
	}
}

func waiting(items ...v1beta1.ChatWaitingItem) v1beta1.AgentChat {
	c := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	c.Status.Phase, c.Status.Waiting = v1beta1.ChatWaiting, items
	return c
}

func TestAsks(t *testing.T) {
	question := v1beta1.ChatWaitingItem{Task: "chat-1", Waiting: v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, Text: "Which?", ToolCall: "q"}}
	approval := v1beta1.ChatWaitingItem{Task: "chat-2", Waiting: v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Text: `write {"content":"lon…`, Tool: "write", ArgumentsOmitted: true, ToolCall: "w"}}
	request := said(1, v1beta1.RoleAssistant, "chat-post-2", about("chat-2", "w"), func(m *v1beta1.AgentMessage) {
		m.Spec.Content = "Agent Coder asks for approval of `write` (task chat-2, call w):\n" + `{"content":"long"}`
	})
	s := Snapshot{Chats: []v1beta1.AgentChat{waiting(question, approval)}, Messages: []v1beta1.AgentMessage{request}, Tasks: []v1beta1.AgentTask{task("chat-2", "")}}
	want := []Ask{{Kind: v1beta1.WaitingApproval, Chat: "chat", Task: "chat-2", Role: "coder", Call: "w", Tool: "write", Arguments: `{"content":"long"}`, Message: "chat-post-2"}}
	if diff := cmp.Diff(want, s.Asks("chat")); diff != "" {
		t.Errorf("a question that is not posted must be omitted, and a request must be complete: %s", diff)
	}
	s.Messages = append(s.Messages, said(1, v1beta1.RoleAssistant, "chat-post-1", about("chat-1", "q")))
	if asks := s.Asks("chat"); len(asks) != 2 || asks[0].Question != "Which?" || asks[0].Message != "chat-post-1" {
		t.Errorf("asks are %+v", asks)
	}
}

func TestAgentWaitsForSeveralApprovals(t *testing.T) {
	s := Snapshot{
		Tasks:  []v1beta1.AgentTask{task("job", "", func(t *v1beta1.AgentTask) { t.Spec.Chat = "" })},
		Agents: []v1beta1.SubAgent{{ObjectMeta: metav1.ObjectMeta{Name: "job"}}},
	}
	rule := func(name string) v1beta1.PolicyReasons {
		return v1beta1.PolicyReasons{PolicyRules: []v1beta1.WaitingRule{{Policy: "team/writes", Rule: name}}}
	}
	s.Tasks[0].Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Text: `write {}`, Tool: "write", ToolCall: "a", PolicyReasons: rule("first")}
	s.Agents[0].Status.ToolCalls = []v1beta1.ToolCallStatus{
		{ID: "a", Tool: "write", Phase: v1beta1.ToolCallWaitingForApproval}, {ID: "b", Tool: "bash", ArgumentsOmitted: true, Phase: v1beta1.ToolCallWaitingForApproval, PolicyReasons: rule("second")},
		{ID: "c", Tool: "read", Phase: v1beta1.ToolCallSuccess},
	}
	asks := s.Asks("")
	if len(asks) != 2 || asks[0].Call != "a" || asks[1].Call != "b" || asks[1].Tool != "bash" || !asks[1].Truncated {
		t.Errorf("asks are %+v", asks)
	}
	if diff := cmp.Diff([]string{"Required by policy team/writes, rule second"}, asks[1].Reasons); diff != "" {
		t.Errorf("the second call has the reasons of another: %s", diff)
	}
}

func TestProgress(t *testing.T) {
	mine, pending := said(1, v1beta1.RoleUser, "m"), said(1, v1beta1.RoleUser, "m", func(m *v1beta1.AgentMessage) { m.Status.Phase = v1beta1.MessagePending })
	rejected := said(1, v1beta1.RoleUser, "m", func(m *v1beta1.AgentMessage) { m.Status.Phase = v1beta1.MessageRejected })
	answer := said(2, v1beta1.RoleAssistant, "chat-post-1")
	asked := said(2, v1beta1.RoleAssistant, "chat-post-1", about("chat-1", "q"))
	question := v1beta1.ChatWaitingItem{Task: "chat-1", Waiting: v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, ToolCall: "q"}}
	chat := func(phase v1beta1.ChatPhase, counted int32, broken bool, waits ...v1beta1.ChatWaitingItem) v1beta1.AgentChat {
		c := waiting(waits...)
		c.Status.Phase, c.Status.Messages = phase, counted
		if broken {
			c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonModelError}}
		}
		return c
	}
	for name, c := range map[string]struct {
		chat     v1beta1.AgentChat
		messages []v1beta1.AgentMessage
		want     Progress
	}{
		"not handled":                  {chat(v1beta1.ChatIdle, 1, false), []v1beta1.AgentMessage{pending}, Working},
		"handled, running":             {chat(v1beta1.ChatRunning, 1, false), []v1beta1.AgentMessage{mine}, Working},
		"handled, nothing visible yet": {chat(v1beta1.ChatIdle, 1, false), []v1beta1.AgentMessage{mine}, Quiet},
		"answered, status not written": {chat(v1beta1.ChatIdle, 1, false), []v1beta1.AgentMessage{mine, answer}, Working},
		"answered":                     {chat(v1beta1.ChatIdle, 2, false), []v1beta1.AgentMessage{mine, answer}, Answered},
		"asked, not posted yet":        {chat(v1beta1.ChatWaiting, 2, false, question), []v1beta1.AgentMessage{mine, answer}, Working},
		"asked":                        {chat(v1beta1.ChatWaiting, 2, false, question), []v1beta1.AgentMessage{mine, asked}, NeedsPerson},
		"rejected":                     {chat(v1beta1.ChatIdle, 1, false), []v1beta1.AgentMessage{rejected}, Rejected},
		"the model fails":              {chat(v1beta1.ChatIdle, 2, true), []v1beta1.AgentMessage{mine, answer}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Chats: []v1beta1.AgentChat{c.chat}, Messages: c.messages}
			if got := s.ProgressOf("chat", "m", 1); got != c.want {
				t.Errorf("progress %d, want %d", got, c.want)
			}
			s.Tasks = []v1beta1.AgentTask{task("chat-1", "")}
			if got := s.ProgressOf("chat", "m", 1); got == Answered {
				t.Errorf("progress %d while a task is running", got)
			}
		})
	}
	if got := (Snapshot{}).ProgressOf("chat", "m", 1); got != Deleted {
		t.Errorf("progress of a deleted chat is %d", got)
	}
}

func TestUsagesCountNothingTwice(t *testing.T) {
	cost := func(n int64) *int64 { return &n }
	s := Snapshot{Chats: []v1beta1.AgentChat{waiting()}, Tasks: []v1beta1.AgentTask{task("chat-1", ""), task("chat-1-1", "chat-1", func(t *v1beta1.AgentTask) { t.Spec.Role = "tester" })}}
	s.Chats[0].Status.Usage = v1beta1.Usage{TotalTokens: 100, ModelCalls: 6, CostMicros: cost(10)}
	s.Tasks[0].Status.Usage = v1beta1.Usage{TotalTokens: 60, ModelCalls: 3, CostMicros: cost(7)}
	s.Tasks[1].Status.Usage = v1beta1.Usage{TotalTokens: 20, ModelCalls: 1, CostMicros: cost(2)}
	got := map[string]int64{}
	for _, u := range s.Usages() {
		got[string(u.By)+"/"+u.Value] = u.ModelCalls.TotalTokens*1000 + u.ModelCalls.Costs[0].CostMicros
	}
	want := map[string]int64{"Total/": 100010, "Chat/chat": 100010, "Model/": 100010, "Role/orchestrator": 40003, "Role/coder": 40005, "Role/tester": 20002}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsMustMatchDigest(t *testing.T) {
	const arguments = `{"command":"make everything"}`
	w := v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Tool: "bash", Arguments: &runtime.RawExtension{Raw: []byte(arguments)}, ToolCall: "c1", ArgumentsDigest: agent.CallDigest("bash", arguments)}
	if ask := NewAsk("chat", "chat-1", w); ask.Truncated || ask.Arguments != arguments {
		t.Errorf("whole arguments: %+v", ask)
	}
	w.Text, w.Arguments, w.ArgumentsOmitted = `bash {"command":"make every…`, nil, true
	ask := NewAsk("chat", "chat-1", w)
	if !ask.Truncated || ask.Arguments != `{"command":"make every…` {
		t.Errorf("cut arguments: %+v", ask)
	}
	part := func(name, text string) v1beta1.AgentMessage {
		m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1beta1.AnnotationCall: "c1"}}}
		m.Spec.Task, m.Spec.Content = "chat-1", text
		return m
	}
	posted := Snapshot{Messages: []v1beta1.AgentMessage{
		part("p1", "Agent Coder asks for approval of `bash` (task chat-1, call c1):\n"+arguments[:10]), part("p2", arguments[10:]),
	}}
	if got := posted.withPostedText(ask); got.Truncated || got.Arguments != arguments || got.Message != "p1" {
		t.Errorf("a request in two parts: %+v", got)
	}
	posted.Messages = posted.Messages[:1]
	if got := posted.withPostedText(ask); !got.Truncated || got.Message != "p1" {
		t.Errorf("the first part of a request: %+v", got)
	}
	if _, ok := ask.WithArguments(`{"command":"make something else"}`); ok {
		t.Error("arguments with another digest were accepted")
	}
}

// A call that is asked about again has another id, and only its digest identifies it.
func TestAskIsAboutCall(t *testing.T) {
	again := Ask{Call: "w/2", Tool: "write", Digest: "d"}
	unknown := Ask{Call: "w/2", Tool: "write"}
	if !again.IsAbout("w", "write") || !again.IsAbout("w/2", "write") || again.IsAbout("w", "read") || unknown.IsAbout("w", "write") {
		t.Error("the wrong calls of a history are compared")
	}
}

func condition(kind string, status metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: "The message"}}
}

func TestProgressEndsForPausedChat(t *testing.T) {
	chat := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	chat.Status.Phase, chat.Status.Messages = v1beta1.ChatIdle, 2
	asked, answer := said(1, v1beta1.RoleUser, "m"), said(2, v1beta1.RoleSystem, "p")
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		before     int
		want       Progress
	}{
		"paused":                     {condition("Ready", "True", "PausedTaskLimit"), 1, Paused},
		"paused before it was asked": {condition("Ready", "True", "PausedTaskLimit"), 2, Quiet},
		"waits for a quota":          {condition("Ready", "False", "QuotaExhausted"), 1, Working},
		"waits for the ledger":       {condition("Ready", "False", "LedgerUnavailable"), 1, Working},
		"retries":                    {condition("Reconciling", "True", "Retrying"), 1, Working},
		"broken":                     {condition("Ready", "False", "ModelError"), 1, Failed},
		"answered":                   {condition("Ready", "True", "Ready"), 1, Answered},
	} {
		chat.Status.Conditions = c.conditions
		s := Snapshot{Chats: []v1beta1.AgentChat{chat}, Messages: []v1beta1.AgentMessage{asked, answer}}
		if got := s.ProgressOf("chat", "m", c.before); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
