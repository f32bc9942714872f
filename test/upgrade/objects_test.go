// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

const namespace = "live"

// initialObjects has the objects for the older operator. MODEL and DESK are the addresses of the model and the tools.
const initialObjects = `
kind: ModelProvider
metadata: {name: default}
spec: {baseURL: MODEL/v1, defaultModel: scripted, requestTimeoutSeconds: 600}
---
kind: ToolServer
metadata: {name: desk}
spec: {url: DESK, timeoutSeconds: 600}
---
kind: AgentRole
metadata: {name: orchestrator}
spec: {delegation: {roles: [clerk]}}
---
kind: AgentRole
metadata: {name: clerk}
spec:
  systemPrompt: You are a clerk.
  tools: {allow: ["desk__*"]}
  delegation: {roles: [clerk]}
  limits: {maxDurationSeconds: 86400}
---
kind: AgentRole
metadata: {name: signer}
spec:
  systemPrompt: You sign.
  tools: {allow: ["desk__*"]}
  approval: {mode: Never}
  limits: {maxDurationSeconds: 86400}
---
kind: AgentChat
metadata: {name: asking}
---
kind: AgentMessage
metadata: {name: asking-please}
spec: {chat: asking, content: Please ask}
---
kind: AgentChat
metadata: {name: approving}
---
kind: AgentMessage
metadata: {name: approving-please}
spec: {chat: approving, content: Please approve}
---
kind: AgentChat
metadata: {name: talking}
---
kind: AgentMessage
metadata: {name: talking-remember}
spec: {chat: talking, content: Remember blue}
---
kind: AgentTask
metadata: {name: thinking}
spec: {type: Agent, role: clerk, instruction: Job think}
---
kind: AgentTask
metadata: {name: signing}
spec: {type: Agent, role: signer, instruction: Job sign}
---
kind: AgentTask
metadata: {name: parent}
spec: {type: Agent, role: clerk, instruction: Job parent}
---
kind: AgentTask
metadata: {name: done}
spec: {type: Agent, role: clerk, instruction: Job done}
---
kind: AgentTask
metadata: {name: pending}
spec: {type: Agent, role: newcomer, instruction: Job pending}
`

// finalObjects has the objects that a person creates once the newer operator runs.
const finalObjects = `
kind: AgentMessage
metadata: {name: asking-answer}
spec: {chat: asking, content: It is green, inReplyTo: "QUESTION"}
---
kind: AgentMessage
metadata: {name: approving-yes}
spec: {chat: approving, user: admin, approval: {task: approving-1, toolCall: "CALL", decision: Approve}}
---
kind: AgentMessage
metadata: {name: talking-question}
spec: {chat: talking, content: "What did I say?"}
---
kind: AgentRole
metadata: {name: newcomer}
spec: {systemPrompt: "You are new.", limits: {maxDurationSeconds: 86400}}
`

// middle is the state when the older operator is stopped; end is the expected final state.
var (
	expectedAtStop = []string{
		"chat approving Waiting", "chat asking Waiting", "chat talking Idle",
		"task approving-1 Waiting", "task asking-1 Waiting", "task done Success: done is done.", "task parent Running", "task parent-1 Success: first is done.",
		"task parent-2 Running", "task pending Pending", "task signing Running", "task thinking Running",
	}
	expectedAtEnd = []string{
		"chat approving Idle", "chat asking Idle", "chat talking Idle",
		"task approving-1 Success: It is signed.", "task asking-1 Success: The colour is green.", "task done Success: done is done.", "task parent Success: Both are done.",
		"task parent-1 Success: first is done.", "task parent-2 Success: second is done.", "task pending Success: pending is done.",
		"task signing Success: Nobody knows whether it was signed.", "task thinking Success: It was thought about.",
	}
)

type environment struct {
	*stack.Stack
	model *model
	desk  *recordingServer
}

func (w *environment) apply(ctx context.Context, t *testing.T, text string, replace ...string) {
	t.Helper()
	text = strings.NewReplacer(replace...).Replace(text)
	for _, part := range strings.Split(text, "\n---\n") {
		object := newObject()
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetAPIVersion(v1beta1.GroupVersion.String())
		object.SetNamespace(namespace)
		if err := w.API.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (w *environment) state(ctx context.Context) ([]string, error) {
	var lines []string
	var chats v1beta1.AgentChatList
	if err := w.API.List(ctx, &chats, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	for _, chat := range chats.Items {
		lines = append(lines, fmt.Sprintf("chat %s %s", chat.Name, chat.Status.Phase))
	}
	var tasks v1beta1.AgentTaskList
	if err := w.API.List(ctx, &tasks, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	for _, task := range tasks.Items {
		line := fmt.Sprintf("task %s %s", task.Name, task.Status.Phase)
		if task.Status.Result != nil {
			line += ": " + task.Status.Result.Summary
		}
		if task.Status.Error != nil {
			line += ": " + string(task.Status.Error.Kind) + " " + task.Status.Error.Message
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

func (w *environment) await(ctx context.Context, t *testing.T, want []string, also func() bool) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		var err error
		got, err = w.state(ctx)
		return slices.Equal(got, want) && also(), err
	})
	if err != nil {
		t.Fatalf("%v: (-want +got)\n%s\nmodel: %q\ndesk: %q\n%s", err, cmp.Diff(want, got), w.model.calls(), w.desk.done(), w.OperatorLog())
	}
}

// waiting returns the message with a chat's question, and the tool call that waits for a decision.
func (w *environment) waiting(ctx context.Context, t *testing.T) (question, call string) {
	t.Helper()
	var messages v1beta1.AgentMessageList
	if err := w.API.List(ctx, &messages, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, message := range messages.Items {
		if message.Spec.Chat == "asking" && strings.Contains(message.Spec.Content, "needs input: Which colour?") {
			question = message.Name
		}
	}
	var chat v1beta1.AgentChat
	if err := w.API.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "approving"}, &chat); err != nil {
		t.Fatal(err)
	}
	if len(chat.Status.Waiting) == 1 {
		call = chat.Status.Waiting[0].ToolCall
	}
	if question == "" || call == "" {
		t.Fatalf("the question is %q, the call %q", question, call)
	}
	return question, call
}

// finish lets the newer operator complete the scene, and checks that nothing was repeated.
func (w *environment) finish(ctx context.Context, t *testing.T, before []string) {
	t.Helper()
	question, call := w.waiting(ctx, t)
	w.model.open()
	w.apply(ctx, t, finalObjects, "QUESTION", question, "CALL", call)
	w.await(ctx, t, expectedAtEnd, func() bool { return true })
	w.expectPosts(ctx, t)
	for _, again := range w.model.calls() {
		if slices.Contains(before, again) {
			t.Errorf("the model call %q had been answered before the upgrade, and was made again", again)
		}
	}
	for kind, list := range map[string]client.ObjectList{"chat": &v1beta1.AgentChatList{}, "task": &v1beta1.AgentTaskList{}, "sub-agent": &v1beta1.SubAgentList{}} {
		if err := w.API.List(ctx, list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n == 0 {
			t.Errorf("there is no %s", kind)
		}
	}
}

// expectPosts checks that the chats received the results, and have their earlier history.
func (w *environment) expectPosts(ctx context.Context, t *testing.T) {
	t.Helper()
	want := []string{"approving: All is signed.", "asking: It is settled.", "talking: I will.", "talking: You said blue."}
	var missing []string
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		var messages v1beta1.AgentMessageList
		if err := w.API.List(ctx, &messages, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		missing = nil
		for _, line := range want {
			n := 0
			for _, message := range messages.Items {
				if message.Spec.Role == v1beta1.RoleAssistant && message.Spec.Chat+": "+message.Spec.Content == line {
					n++
				}
			}
			if n != 1 {
				missing = append(missing, fmt.Sprintf("%q, %d times", line, n))
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Errorf("posted, where once is right: %v", missing)
	}
}

func (w *environment) makeNamespace(ctx context.Context, t *testing.T) {
	t.Helper()
	object := newObject()
	object.SetAPIVersion("v1")
	object.SetKind("Namespace")
	object.SetName(namespace)
	if err := w.API.Create(ctx, object); err != nil {
		t.Fatal(err)
	}
}

// newEnvironment returns a control plane without an operator, a model whose gate is shut or open, and a desk.
func newEnvironment(ctx context.Context, t *testing.T, ledger, programs string, shut bool) *environment {
	t.Helper()
	options := stack.Options{Ledger: ledger, Programs: programs, NoOperator: true}
	if overlaps() {
		options.OperatorFlags = []string{"--leader-elect"} // as in the charts of earlier releases
	}
	w := &environment{Stack: world.Start(t, options).Stack, model: openModel(t, shut), desk: startRecordingServer(t)}
	w.makeNamespace(ctx, t)
	return w
}
