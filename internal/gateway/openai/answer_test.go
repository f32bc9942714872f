// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// The answers to two questions may be the same request. The second one is not delivered, because it may be a
// repetition of the first one, and its response shows the second question instead of waiting for its answer.
func TestAnswer_EqualToEarlierOne(t *testing.T) {
	task := &v1beta1.AgentTask{}
	task.Namespace, task.Name = "a", "work"
	caller := &run.Caller{User: "alice", API: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(task).Build()}
	q := request{model: "a/coder", turns: []turn{user("yes")}, metadata: map[string]string{"task": "a/work"}}
	ask := func(call string) exchange {
		t.Helper()
		task.Status.Phase = v1beta1.TaskWaiting
		task.Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, ToolCall: call, Text: "Continue?"}
		if err := caller.API.Update(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		e, err := q.resume(t.Context(), caller, "a", "work", nil, user("yes"))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := ask("q1"); e.answered != "q1@work" || e.notice != "" {
		t.Errorf("the first answer: %+v", e)
	}
	if e := ask("q1"); e.answered != "q1@work" || e.notice != "" {
		t.Errorf("the first answer, repeated before it was handled: %+v", e)
	}
	if e := ask("q2"); e.answered != "" || e.notice != noticeStale || !strings.Contains(e.noticeText(), "a new Idempotency-Key") {
		t.Errorf("an equal request after the second question: %+v", e)
	}
	q.key = "second"
	if e := ask("q2"); e.answered != "q2@work" || e.notice != "" {
		t.Errorf("the second answer, with a key of its own: %+v", e)
	}
}

func TestApprovalText_PolicyReasons(t *testing.T) {
	ask := run.Ask{Ask: view.NewAsk("", "work", v1beta1.Waiting{
		Kind: v1beta1.WaitingApproval, Tool: "github__push", ToolCall: "c1", Arguments: &runtime.RawExtension{Raw: []byte(`{"branch":"main"}`)},
		PolicyReasons: v1beta1.PolicyReasons{
			PolicyRules:   []v1beta1.WaitingRule{{Policy: "team/writes", Rule: "people", Message: "Ask first."}},
			ContentLabels: []v1beta1.ReceivedLabel{{Name: "untrusted", Source: "github__get_issue", ToolCall: "call_4"}},
		},
	})}
	text := new(reply).add(run.Event{Kind: run.Waiting, Ask: &ask})
	const want = "Required by policy team/writes, rule people: Ask first.\nThe agent's context is untrusted (since call call_4 of github__get_issue)\n"
	if !strings.Contains(text, want) {
		t.Errorf("the text is %q, want %q in it", text, want)
	}
	if shown := run.ShownIn(text, ask); shown != ask.Ref() {
		t.Errorf("it shows %q", shown)
	}
}
